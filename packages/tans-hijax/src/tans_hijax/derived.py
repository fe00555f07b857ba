"""Rules derived from others; a class body assigns them, the pairs unpacked.

The tangent map ``t -> jvp(x, t)`` is linear. Recording the part of it that touches tangents gives
`lin` and `linearized` (Radul et al., "You only linearize once", 2022); transposing it gives the
backward rule.
"""

from collections.abc import Iterator
from typing import Any, Final, NoReturn

from tans_autodiff.jvp import has_tangent
from tans_autodiff.split import SplitTrace, close_program
from tans_autodiff.transpose import backward_pass
from tans_core import tree
from tans_core.context import merge
from tans_core.dce import dce_jaxpr
from tans_core.errors import message
from tans_core.jaxpr import ClosedJaxpr, eval_closed
from tans_core.staging import trace_to_jaxpr
from tans_core.state import set_current_trace, state
from tans_core.tree_util import Partial
from tans_core.zeros import LinearInput, Zero, zero_tangent
from tans_hijax.errors import where
from tans_lax.rows import instantiate_zeros

type Tree = Any


class _Pair:
    """Two methods that belong together; a class body unpacks them."""

    def __init__(self, name: str, targets: str, *methods: Any) -> None:
        self._name = name
        self._targets = targets
        self._methods = methods

    def __iter__(self) -> Iterator[Any]:
        return iter(self._methods)

    def __call__(self, *_: Any, **__: Any) -> NoReturn:
        raise self._unpacked()

    def __set_name__(self, owner: type, name: str) -> None:
        raise self._unpacked()

    def _unpacked(self) -> TypeError:
        return TypeError(
            message(
                self._name,
                "one name for a pair of rules",
                "the pair to be unpacked in the class body",
                f"Write {self._targets} = {self._name}.",
            )
        )


class _LinearMap:
    """The static part of a recorded map ``(*residuals, *nonzero tangents) -> tangents``."""

    def __init__(self, linear: ClosedJaxpr, nz_out: tuple[bool, ...]) -> None:
        self.linear = linear
        self.nz_out = nz_out

    def __call__(self, *args: Any) -> list[Any]:
        return eval_closed(self.linear, *args)


def _lin_of_jvp(prim: Any, nzs_in: Tree, *primals: Tree) -> Any:
    if isinstance(_function(prim, "jvp"), _FromLin):
        name = type(prim).__name__
        raise TypeError(
            message(
                name,
                "jvp derived from lin, and lin derived from jvp",
                "one of the two to be written out",
                f"Define {name}.jvp, or {name}.lin and {name}.linearized.",
            )
        )
    nz = tree.leaves(nzs_in)
    leaves = tree.leaves(primals)
    trace = SplitTrace(state.trace)
    tangents = [
        trace.new_input(aval.to_tangent()) if flag else Zero(aval.to_tangent())
        for aval, flag in zip(prim.in_avals_flat, nz, strict=True)
    ]
    with set_current_trace(trace):
        out, out_tangent = prim.jvp(
            prim.in_tree.unflatten(leaves), prim.in_tree.unflatten(tangents)
        )
    found = prim.out_tree.flatten_up_to(out_tangent)
    nz_out = tuple(type(t) is not Zero for t in found)
    linear, residuals = close_program(
        trace, [t for t in found if type(t) is not Zero], concrete=True
    )
    # The program is static; it goes with the residuals as the structure of a tree.
    return out, Partial(_LinearMap(linear, nz_out), *residuals), prim.out_tree.unflatten(nz_out)


def _linearized_of_jvp(prim: Any, res: Any, *tangents: Tree) -> Tree:
    given = [t for t in tree.leaves(tangents) if type(t) is not Zero]
    static: _LinearMap = res.func
    zeros = [
        zero_tangent(a) for a, nz in zip(prim.out_avals_flat, static.nz_out, strict=True) if not nz
    ]
    return prim.out_tree.unflatten(merge(static.nz_out, zeros, res(*given)))


def _fwd_of_jvp(prim: Any, nzs_in: Tree, *primals: Tree) -> Any:
    return prim(*primals), primals


def _bwd_of_jvp(prim: Any, primals: Tree, ct: Tree) -> Any:
    def tangent_map(*tangents: Tree) -> Tree:
        return prim.jvp(tuple(primals), tangents)[1]

    return _pulled_back(prim, "jvp", tangent_map, ct)


def _fwd_of_lin(prim: Any, nzs_in: Tree, *primals: Tree) -> Any:
    found = prim.lin(nzs_in, *primals)
    out, res, *rest = found
    flags = (rest[0],) if rest and rest[0] is not None else ()
    # Structured residuals of `lin` go along with the others: the backward rule is derived.
    saved = (res, rest[1]) if len(rest) == 2 else (res,)
    return (out, saved, *flags)


def _bwd_of_lin(prim: Any, saved: Tree, ct: Tree) -> Any:
    return _pulled_back(prim, "linearized", lambda *ts: prim.linearized(*saved, *ts), ct)


def _pulled_back(prim: Any, rule: str, tangent_map: Any, ct: Tree) -> Any:
    """Transpose the tangent map that a rule describes; arguments without tangents get None.

    Raises:
      NotImplementedError: the map is not linear; names the rule.
    """
    avals = prim.in_avals_flat
    wanted = [has_tangent(a) for a in avals]

    def flat_map(*given: Any) -> list[Any]:
        rest = iter(given)
        tangents = [
            next(rest) if w else zero_tangent(a) for w, a in zip(wanted, avals, strict=True)
        ]
        out = tangent_map(*prim.in_tree.unflatten(tangents))
        found = prim.out_tree.flatten_up_to(out)
        return [
            instantiate_zeros(t)
            for t, a in zip(found, prim.out_avals_flat, strict=True)
            if has_tangent(a)
        ]

    tangents = [a.to_tangent() for a, w in zip(avals, wanted, strict=True) if w]
    cts = [
        instantiate_zeros(c)
        for c, a in zip(prim.out_tree.flatten_up_to(ct), prim.out_avals_flat, strict=True)
        if has_tangent(a)
    ]
    closed = trace_to_jaxpr(flat_map, tangents)
    closed, _ = dce_jaxpr(closed, [True] * len(closed.out_avals), instantiate=True)
    try:
        found = iter(backward_pass(closed, list(map(LinearInput, tangents)), cts))
    except NotImplementedError as error:
        raise NotImplementedError(f"{where(prim, rule)}: {error}") from error
    return prim.in_tree.unflatten([next(found) if w else None for w in wanted])


class _FromLin:
    """`jvp` by `lin` and `linearized`."""

    def __get__(self, prim: Any, owner: type) -> Any:
        return self if prim is None else _BoundFromLin(prim)


class _BoundFromLin:
    def __init__(self, prim: Any) -> None:
        self.prim = prim

    def __call__(self, primals: tuple[Tree, ...], tangents: tuple[Tree, ...]) -> Any:
        prim = self.prim
        flags = [type(t) is not Zero for t in tree.leaves(tangents)]
        found = prim.lin(prim.in_tree.unflatten(flags), *primals)
        saved = (found[1], found[3]) if len(found) == 4 else (found[1],)
        return found[0], prim.linearized(*saved, *tangents)


def _function(prim: Any, name: str) -> Any:
    return type(prim).__dict__.get(name, getattr(type(prim), name))


linearize_from_jvp: Final = _Pair(
    "linearize_from_jvp", "lin, linearized", _lin_of_jvp, _linearized_of_jvp
)
vjp_from_jvp: Final = _Pair("vjp_from_jvp", "vjp_fwd, vjp_bwd_retval", _fwd_of_jvp, _bwd_of_jvp)
vjp_from_lin: Final = _Pair("vjp_from_lin", "vjp_fwd, vjp_bwd_retval", _fwd_of_lin, _bwd_of_lin)
jvp_from_lin: Final = _FromLin()
