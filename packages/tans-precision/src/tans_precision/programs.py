"""Runs a recorded program equation by equation, into loops, branches and calls."""

import functools
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from tans_core import ClosedJaxpr, Eqn, Literal, subjaxprs
from tans_lax.ragged_contractions.labels import masked_product
from tans_xla import ShapeDtypeStruct, make_jaxpr

type Value = Any
type OnProduct = Callable[[Eqn, list[Value], Eqn], Value]

_RAGGED: Final = "ragged_dot_general"
PRODUCTS: Final = frozenset({"dot_general", "conv_general_dilated", _RAGGED})


def run(closed: ClosedJaxpr, args: Sequence[Value], on_product: OnProduct) -> list[Value]:
    """Run a program on concrete values.

    Args:
      closed: the program.
      args: its inputs.
      on_product: called for each matrix product and convolution with its equation, its operands
        and the equation of the program that it stands for; returns its result. It is the same
        equation, but for ragged products, which are computed as one plain product.
    """
    jaxpr = closed.jaxpr
    env = dict(zip(jaxpr.constvars, closed.consts, strict=True))
    env.update(zip(jaxpr.invars, args, strict=True))
    for eqn in jaxpr.eqns:
        values = [v.val if type(v) is Literal else env[v] for v in eqn.invars]
        if eqn.primitive.name == _RAGGED:
            outs = run(_as_plain(eqn), values, _standing_for(eqn, on_product))
        elif eqn.primitive.name in PRODUCTS:
            outs = [on_product(eqn, values, eqn)]
        else:
            outs = _other(eqn, values, on_product)
        env.update(zip(eqn.outvars, outs, strict=True))
    return [v.val if type(v) is Literal else env[v] for v in jaxpr.outvars]


@functools.lru_cache(maxsize=64)
def _as_plain(ragged: Eqn) -> ClosedJaxpr:
    """Return the program of a ragged product, which has one plain product."""
    return make_jaxpr(functools.partial(masked_product, **ragged.params))(
        *(ShapeDtypeStruct(v.aval.shape, v.aval.dtype) for v in ragged.invars)
    )


def _standing_for(ragged: Eqn, on_product: OnProduct) -> OnProduct:
    return lambda eqn, values, _: on_product(eqn, values, ragged)


def holds_products(closed: ClosedJaxpr) -> bool:
    """Whether a program has a product at any depth."""
    return any(
        eqn.primitive.name in PRODUCTS
        or any(holds_products(b) for b in subjaxprs(eqn.params) if isinstance(b, ClosedJaxpr))
        for eqn in closed.eqns
    )


def unseen(closed: ClosedJaxpr) -> list[str]:
    """Return what holds products that `run` does not look into."""
    found: list[str] = []
    for eqn in closed.eqns:
        bodies = [b for b in subjaxprs(eqn.params) if isinstance(b, ClosedJaxpr)]
        name = eqn.primitive.name
        looked_into = name in _LOOPS or _body_of(eqn) is not None
        if not looked_into and any(map(holds_products, bodies)):
            found.append(name)
        else:
            found += [inner for body in bodies for inner in unseen(body)]
    return found


def _other(eqn: Eqn, values: list[Value], on_product: OnProduct) -> list[Value]:
    bodies = [b for b in subjaxprs(eqn.params) if isinstance(b, ClosedJaxpr)]
    if any(map(holds_products, bodies)):
        loop, body = _LOOPS.get(eqn.primitive.name), _body_of(eqn)
        if loop is not None:
            return loop(eqn.params, values, on_product)
        if body is not None:
            return run(body, values, on_product)
    outs = eqn.primitive.bind(*values, **eqn.params)
    return outs if eqn.primitive.multiple_results else [outs]


def _body_of(eqn: Eqn) -> ClosedJaxpr | None:
    """Return the body of a call: the only one, which takes and returns what the equation does."""
    bodies = [b for b in subjaxprs(eqn.params) if isinstance(b, ClosedJaxpr)]
    if len(bodies) != 1:
        return None
    (body,) = bodies
    inside = [*body.in_avals, *body.out_avals]
    outside = [v.aval for v in (*eqn.invars, *eqn.outvars)]
    counts = len(body.in_avals) == len(eqn.invars) and len(body.out_avals) == len(eqn.outvars)
    return body if counts and [*map(_shape, inside)] == [*map(_shape, outside)] else None


def _shape(aval: Any) -> Any:
    return getattr(aval, "shape", None)


def _scan(params: dict[str, Any], values: list[Value], on_product: OnProduct) -> list[Value]:
    n_consts, n_carry, length = (params[k] for k in ("num_consts", "num_carry", "length"))
    consts, carry = values[:n_consts], values[n_consts : n_consts + n_carry]
    xs = [np.asarray(x) for x in values[n_consts + n_carry :]]
    body = params["jaxpr"]
    collected: dict[int, list[Value]] = {}
    for i in reversed(range(length)) if params["reverse"] else range(length):
        outs = run(body, [*consts, *carry, *(x[i] for x in xs)], on_product)
        carry, collected[i] = outs[:n_carry], outs[n_carry:]
    ys = [
        np.stack([np.asarray(collected[i][j]) for i in range(length)])
        if length
        else np.zeros((0, *aval.shape), aval.dtype)
        for j, aval in enumerate(body.out_avals[n_carry:])
    ]
    return [*carry, *ys]


def _while(params: dict[str, Any], values: list[Value], on_product: OnProduct) -> list[Value]:
    n_test, n_body = params["cond_nconsts"], params["body_nconsts"]
    test, consts = values[:n_test], values[n_test : n_test + n_body]
    carry = values[n_test + n_body :]
    while bool(run(params["cond_jaxpr"], [*test, *carry], on_product)[0]):
        carry = run(params["body_jaxpr"], [*consts, *carry], on_product)
    return carry


def _cond(params: dict[str, Any], values: list[Value], on_product: OnProduct) -> list[Value]:
    branches = params["branches"]
    index = min(max(int(values[0]), 0), len(branches) - 1)
    return run(branches[index], values[1:], on_product)


_LOOPS: Final = {"scan": _scan, "while": _while, "cond": _cond}
