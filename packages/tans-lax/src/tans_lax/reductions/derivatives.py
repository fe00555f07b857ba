"""Derivatives of reductions.

Sums are linear. An extremum spreads its tangent in equal shares over the positions that attain it.
Products and general folds are differentiated in a form that folds by halves, in which each level
is linear in the tangents; it stays exact where elements are zero.
"""

from collections.abc import Callable
from typing import Any, Final

import tans_lax as lax
from tans_core import (
    ContextRule,
    JVPContext,
    Primitive,
    ShapedArray,
    Zero,
    eval_closed,
    typeof,
    zero_tangent,
)
from tans_core.explicit_mode import spec_of
from tans_lax.mesh import reshard_array
from tans_lax.mesh.specs import of_cotangent
from tans_lax.reductions import (
    argmax_p,
    argmin_p,
    reduce_and_p,
    reduce_max_p,
    reduce_min_p,
    reduce_or_p,
    reduce_p,
    reduce_prod_p,
    reduce_sum_p,
    reduce_xor_p,
)
from tans_lax.reductions.folding import fold_by_halves, fold_with_inits, lead_with_one_axis
from tans_lax.rows import (
    add_tangents,
    instantiate_zeros,
    jvp_of_output,
    linear_jvp,
    linear_transpose_of,
    not_linear,
    zero_derivative,
)

type Value = Any


def spread(x: Value, shape: tuple[int, ...], axes: tuple[int, ...]) -> Value:
    """Repeat a reduced value along the axes that were reduced."""
    kept = tuple(axis for axis in range(len(shape)) if axis not in axes)
    return lax.broadcast_in_dim(x, shape, kept)


def _sum_transpose(ct: Value, x: ShapedArray, *, axes: tuple[int, ...], **_: Any) -> Value:
    kept = tuple(axis for axis in range(x.ndim) if axis not in axes)
    target = of_cotangent(x.to_cotangent(), typeof(ct))
    if target is not None:
        have, wanted = spec_of(typeof(ct)).partitions, target.spec.padded(x.ndim).partitions
        if any(h is not None and h != wanted[i] for h, i in zip(have, kept, strict=False)):
            # The sum was placed by its out_sharding.
            return reshard_array(lax.broadcast_in_dim(ct, x.shape, kept), target)
    return lax.broadcast_in_dim(ct, x.shape, kept, out_sharding=target)


def _extremum_tangent(t: Value, out: Value, x: Value, *, axes: tuple[int, ...], **_: Any) -> Value:
    aval = typeof(x)
    attains = lax.convert_element_type(lax.eq(x, spread(out, aval.shape, axes)), aval.dtype)
    count = lax.reduce_sum(attains, axes)
    return lax.div(lax.reduce_sum(lax.mul(t, attains), axes), count)


def _multiply(left: list[Value], right: list[Value]) -> list[Value]:
    (a, a_dot), (b, b_dot) = left, right
    return [lax.mul(a, b), add_tangents(lax.mul(a_dot, b), lax.mul(a, b_dot))]


def _prod_jvp(
    primals: tuple[Value], tangents: tuple[Value], *, axes: tuple[int, ...]
) -> tuple[Value, Value]:
    (x,), (x_dot,) = primals, tangents
    if type(x_dot) is Zero or typeof(x).size == 0 or not axes:
        out = lax.reduce_prod(x, axes)
        return out, x_dot if not axes else zero_tangent(typeof(out))
    pair = [lead_with_one_axis(x, axes), lead_with_one_axis(x_dot, axes)]
    out, out_dot = fold_by_halves(_multiply, pair, (1, 0))
    return out, out_dot


def _reduce_jvp(
    ctx: JVPContext,
    primals: tuple[Value, ...],
    tangents: tuple[Value, ...],
    *,
    dimensions: tuple[int, ...],
    jaxpr: Any,
) -> tuple[list[Value], list[Value]]:
    count = len(primals) // 2
    operands, inits = primals[:count], primals[count:]
    if all(type(t) is Zero for t in tangents):
        outs = reduce_p.bind(*primals, dimensions=dimensions, jaxpr=jaxpr)
        return outs, [zero_tangent(typeof(out)) for out in outs]
    varying = tuple(typeof(x).to_tangent().dtype == typeof(x).dtype for x in operands)
    body, _ = ctx.jvp_jaxpr(jaxpr, varying * 2, instantiate=varying)
    dots = [instantiate_zeros(t) for t, v in zip(tangents, varying * 2, strict=True) if v]
    live = sum(varying)

    def combine(left: list[Value], right: list[Value]) -> list[Value]:
        pairs = (left[:count], right[:count], left[count:], right[count:])
        return eval_closed(body, *(x for part in pairs for x in part))

    outs = fold_with_inits(combine, (*operands, *dots[:live]), (*inits, *dots[live:]), dimensions)
    out_dots = iter(outs[count:])
    outs = outs[:count]
    return outs, [
        next(out_dots) if v else zero_tangent(typeof(out))
        for v, out in zip(varying, outs, strict=True)
    ]


JVP: Final[dict[Primitive, Callable[..., Any]]] = {
    reduce_sum_p: linear_jvp(reduce_sum_p),
    reduce_prod_p: _prod_jvp,
    reduce_max_p: jvp_of_output(reduce_max_p, _extremum_tangent),
    reduce_min_p: jvp_of_output(reduce_min_p, _extremum_tangent),
    reduce_and_p: zero_derivative(reduce_and_p),
    reduce_or_p: zero_derivative(reduce_or_p),
    reduce_xor_p: zero_derivative(reduce_xor_p),
    argmax_p: zero_derivative(argmax_p),
    argmin_p: zero_derivative(argmin_p),
    reduce_p: ContextRule(_reduce_jvp),
}

TRANSPOSE: Final[dict[Primitive, Callable[..., Any]]] = {
    reduce_sum_p: linear_transpose_of(_sum_transpose),
    reduce_prod_p: not_linear,
    reduce_max_p: not_linear,
    reduce_min_p: not_linear,
    reduce_and_p: not_linear,
    reduce_or_p: not_linear,
    reduce_xor_p: not_linear,
    argmax_p: not_linear,
    argmin_p: not_linear,
    reduce_p: not_linear,
}
