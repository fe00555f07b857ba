"""`jvp` and `linearize`: derivatives as maps from tangents to tangents."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from tans_autodiff.arguments import (
    check_pair,
    dtype_of,
    flatten_arguments,
    how_to_convert,
    type_of_leaf,
)
from tans_autodiff.jvp import JVPTrace, Value, has_tangent, split_pair
from tans_autodiff.linearize import open_linearization
from tans_autodiff.residuals import spread_flags
from tans_autodiff.results import as_array, tangent_result
from tans_autodiff.vjp import close
from tans_core import tree
from tans_core.context import Mask
from tans_core.dtypes import float0
from tans_core.errors import message
from tans_core.hi_types import is_hi_type
from tans_core.jaxpr import ClosedJaxpr, eval_closed
from tans_core.refs import is_ref_type
from tans_core.state import state, swap_trace, transformed_names
from tans_core.trace import is_evaluating
from tans_core.tracebacks import api_boundary
from tans_core.tree_util import Partial
from tans_core.types import AbstractValue, same_but_weak
from tans_core.values import typeof
from tans_core.zeros import Zero
from tans_xla.jit.signature import check_callable
from tans_xla.wide_arrays import fitting

type Function = Callable[..., Any]
type Pytree = Any


@api_boundary
def jvp(
    fun: Function, primals: Sequence[Pytree], tangents: Sequence[Pytree], has_aux: bool = False
) -> Any:
    """Compute a function and its directional derivative, in one forward pass.

    Args:
      fun: takes the primals and returns a pytree of arrays; with `has_aux`, a pair of that and
        any pytree.
      primals: tuple or list of arguments, pytrees of arrays of any shapes.
      tangents: the direction: same structure, shapes and dtypes; float0 for integers.
      has_aux: whether `fun` returns ``(output, aux)``.

    Returns:
      ``(output, tangent)`` or ``(output, tangent, aux)``. The tangent of an integer output is a
      float0 array.

    Raises:
      TypeError: structures or dtypes differ; `fun` is not callable.
      ValueError: shapes differ.

    Example:
      >>> import tans_lax as lax
      >>> y, y_dot = jvp(lax.sin, (0.0,), (2.0,))
      >>> float(y), float(y_dot)
      (0.0, 2.0)
    """
    check_callable("jvp", fun)
    leaves, leaf_tangents, in_tree = _check_jvp_arguments(primals, tangents)
    trace = JVPTrace(state.trace)
    trace.origin = "jvp", fun
    evaluating = is_evaluating()
    pairs = [
        x if _is_zero_tangent(t) else trace.pair(as_array(x), as_array(t) if evaluating else t)
        for x, t in zip(leaves, leaf_tangents, strict=True)
    ]
    old = swap_trace(trace)
    try:
        with transformed_names("jvp"):
            out = fun(*in_tree.unflatten(pairs))
        aux = None
        if has_aux:
            out, aux = check_pair("jvp", out)
        outs, out_tree = tree.flatten(out)
    finally:
        swap_trace(old)
        trace.finish()
    split = [split_pair(trace, x) for x in outs]
    primal_out = out_tree.unflatten([as_array(x) for x, _ in split])
    tangent_out = out_tree.unflatten(
        [tangent_result(t, type_of_leaf("jvp", x, "output")) for x, t in split]
    )
    if not has_aux:
        return primal_out, tangent_out
    return primal_out, tangent_out, tree.map(lambda x: split_pair(trace, x)[0], aux)


def _is_zero_tangent(t: Value) -> bool:
    return type(t) is Zero or getattr(t, "dtype", None) == float0


def _check_jvp_arguments(
    primals: Sequence[Pytree], tangents: Sequence[Pytree]
) -> tuple[list[Value], list[Value], Any]:
    if not isinstance(primals, tuple | list) or not isinstance(tangents, tuple | list):
        raise TypeError(
            message(
                "jvp",
                f"primals of type {type(primals).__name__} and tangents of type "
                f"{type(tangents).__name__}",
                "tuples or lists, one entry per argument",
                "Write jvp(f, (x,), (x_dot,)).",
            )
        )
    leaves, in_tree = flatten_arguments(tuple(primals))
    leaf_tangents, tangent_tree = flatten_arguments(tuple(tangents))
    if in_tree != tangent_tree:
        raise TypeError(
            message(
                "jvp",
                f"primals with tree structure {in_tree} and tangents with {tangent_tree}",
                "equal structures",
                "Give one tangent per primal, in the same containers.",
            )
        )
    for i, (x, t) in enumerate(zip(leaves, leaf_tangents, strict=True)):
        _check_tangent(i, type_of_leaf("jvp", x), t)
    return leaves, leaf_tangents, in_tree


def _check_tangent(index: int, aval: AbstractValue, t: Value) -> None:
    if is_ref_type(aval) is not is_ref_type(getattr(t, "aval", None)):
        raise TypeError(
            message(
                "jvp",
                f"primal {index} of type {aval.str_short(False)} with a tangent of type "
                f"{typeof(t).str_short(False)}",
                "a ref of tangents for a ref, and an array for an array",
                "Make the tangent of a ref with new_ref.",
            )
        )
    expected = aval.to_tangent()
    if is_hi_type(aval):
        _check_user_tangent(index, aval, expected, t)
        return
    given_dtype = float0 if getattr(t, "dtype", None) == float0 else dtype_of(typeof(t))
    given_shape = getattr(t, "shape", ())
    if given_dtype != dtype_of(expected):
        raise TypeError(
            message(
                "jvp",
                f"primal {index} of type {aval.str_short(False)} with a tangent of dtype "
                f"{_name(given_dtype)}",
                f"tangent dtype {_name(dtype_of(expected))}",
                "Give tangents the dtype of their primals; for integer and boolean primals it is "
                "float0: np.zeros(shape, jax.dtypes.float0).",
            )
        )
    if given_shape != getattr(expected, "shape", ()):
        raise ValueError(
            message(
                "jvp",
                f"different primal and tangent shapes: primal {index} of type "
                f"{aval.str_short(False)} with a tangent of shape {given_shape}",
                f"shape {getattr(expected, 'shape', ())}",
                "Give tangents the shapes of their primals.",
            )
        )


def _check_user_tangent(index: int, aval: AbstractValue, expected: Any, t: Value) -> None:
    given = t.aval if type(t) is Zero else typeof(t)
    if not same_but_weak(given, expected):
        raise TypeError(
            message(
                "jvp",
                f"primal {index} of type {aval.str_short(False)} with a tangent of type "
                f"{given.str_short(False)}",
                f"{expected.str_short(False)}, the tangent type of the primal",
                "Give a tangent of that type.",
            )
        )


def _name(dtype: Any) -> str:
    return "float0" if dtype == float0 else str(dtype)


@dataclasses.dataclass(frozen=True, eq=False)
class LinearMap:
    """The static part of a linearised function: maps (residuals, tangents) to tangents."""

    name: str
    linear: ClosedJaxpr
    in_tree: Any
    in_avals: tuple[AbstractValue, ...]
    nonzero_in: Mask
    out_tree: Any
    out_avals: tuple[AbstractValue, ...]
    nonzero_out: Mask

    @api_boundary
    def __call__(self, *residuals_and_tangents: Any) -> Pytree:
        """Apply the linear program; residuals come first."""
        count = len(self.linear.in_avals) - sum(self.nonzero_in)
        residuals, tangents = residuals_and_tangents[:count], residuals_and_tangents[count:]
        leaves = self._check(tangents)
        used = [t for t, nz in zip(leaves, self.nonzero_in, strict=True) if nz]
        outs = iter(eval_closed(self.linear, *residuals, *used))
        return self.out_tree.unflatten(
            [
                tangent_result(next(outs) if nz else None, aval)
                for aval, nz in zip(self.out_avals, self.nonzero_out, strict=True)
            ]
        )

    def _check(self, tangents: tuple[Pytree, ...]) -> list[Value]:
        leaves, in_tree = tree.flatten(tangents)
        if in_tree != self.in_tree:
            raise TypeError(
                message(
                    f"linearized function {self.name}",
                    f"tangents with structure {in_tree}",
                    f"{self.in_tree}",
                    "Pass one tangent per primal argument, in the same containers.",
                )
            )
        leaves = [
            fitting(t, aval.to_tangent()) for t, aval in zip(leaves, self.in_avals, strict=True)
        ]
        pairs = list(zip(leaves, self.in_avals, strict=True))
        wrong = [i for i, (t, aval) in enumerate(pairs) if not _fits(t, aval.to_tangent())]
        if wrong:
            raise ValueError(
                message(
                    f"linearized function {self.name}",
                    "tangents that do not fit the point of linearization:\n"
                    + "\n".join(
                        f"  argument {i}: tangent {_shown(pairs[i][0])}, "
                        f"primal {pairs[i][1].str_short(False)}"
                        for i in wrong
                    )
                    + "\n",
                    "the tangent type of each primal",
                    _remedy(*pairs[wrong[0]]),
                )
            )
        return leaves


def _shown(x: Value) -> str:
    return "float0" if getattr(x, "dtype", None) == float0 else typeof(x).str_short(False)


def _remedy(x: Value, aval: AbstractValue) -> str:
    given = aval if getattr(x, "dtype", None) == float0 else typeof(x)
    return how_to_convert("the tangent", given, aval.to_tangent())


def _fits(x: Value, expected: AbstractValue) -> bool:
    if getattr(x, "dtype", None) == float0:
        return dtype_of(expected) == float0 and x.shape == getattr(expected, "shape", None)
    return same_but_weak(typeof(x), expected)


@api_boundary
def linearize(fun: Function, *primals: Pytree, has_aux: bool = False, in_nzs: Pytree = None) -> Any:
    """Compute a function, and its derivative at that point as a linear function.

    Args:
      fun: takes the primals and returns a pytree of arrays; with `has_aux`, a pair of that and any
        pytree.
      primals: arguments, pytrees of arrays of any shapes.
      has_aux: whether `fun` returns ``(output, aux)``.
      in_nzs: tree of bools, a prefix of the argument tuple: which arguments have a tangent.

    Returns:
      ``(output, f_jvp)`` or ``(output, f_jvp, aux)``. `f_jvp` takes one tangent per primal, may be
      called many times, and is a `Partial` whose leaves are the values it needs. Its `out_nzs` is
      a tree of bools like the output: where the tangent may be nonzero.

    Raises:
      TypeError: `fun` is not callable, or a leaf is not an array.

    Example:
      >>> import tans_lax as lax
      >>> y, f_jvp = linearize(lax.sin, 0.0)
      >>> float(f_jvp(3.0))
      3.0
    """
    check_callable("linearize", fun)
    leaves, in_tree = flatten_arguments(primals)
    in_avals = tuple(type_of_leaf("linearize", x) for x in leaves)
    nonzero = tuple(has_tangent(a) for a in in_avals)
    if in_nzs is not None:
        wanted = spread_flags("in_nzs", in_nzs, primals)
        nonzero = tuple(a and b for a, b in zip(nonzero, wanted, strict=True))
    running = open_linearization([as_array(x) for x in leaves], nonzero, forward=True)
    running.trace.origin = "linearize", fun
    aux = None
    with transformed_names("jvp"), running:
        out = fun(*in_tree.unflatten(running.inputs))
        if has_aux:
            out, aux = check_pair("linearize", out)
        outs, out_tree = tree.flatten(out)
        out_avals = tuple(type_of_leaf("linearize", x, "output") for x in outs)
    run = running.result(outs)
    nonzero_out, linear, residuals = close(run)
    name = getattr(fun, "__name__", type(fun).__name__)
    linear_map = LinearMap(
        name, linear, in_tree, in_avals, nonzero, out_tree, out_avals, nonzero_out
    )
    f_jvp = Partial(linear_map, *residuals)
    f_jvp.out_nzs = out_tree.unflatten(nonzero_out)  # pyright: ignore[reportAttributeAccessIssue]
    result = out_tree.unflatten([as_array(x) for x in run.outs])
    return (result, f_jvp, tree.map(running.lower, aux)) if has_aux else (result, f_jvp)
