"""Derivatives of windowed reductions.

A windowed sum is linear; its transpose is a windowed sum of the spread cotangent. A windowed
extremum sends its tangent from, and its cotangent to, the position that each window selects.
"""

import weakref
from collections.abc import Callable
from typing import Any, Final

import numpy as np

import tans_lax as lax
from tans_core import (
    ClosedJaxpr,
    ContextRule,
    Jaxpr,
    JVPContext,
    Primitive,
    ShapedArray,
    Zero,
    typeof,
    zero_tangent,
)
from tans_lax.rows import (
    instantiate_zeros,
    jvp_of,
    linear_jvp,
    linear_transpose_of,
    not_differentiable,
    not_linear,
)
from tans_lax.windows import (
    reduce_window_max_p,
    reduce_window_min_p,
    reduce_window_p,
    reduce_window_sum_p,
    select_and_gather_add,
    select_and_gather_add_p,
    select_and_scatter_add,
    select_and_scatter_add_p,
    select_and_scatter_p,
)
from tans_lax.windows.padding import dilated_size

type Value = Any

# One reordered body for each body, so that equal calls share compiled code.
_paired: Final[weakref.WeakKeyDictionary[ClosedJaxpr, dict[tuple[int, int], ClosedJaxpr]]] = (
    weakref.WeakKeyDictionary()
)


def _window_sum_transpose(ct: Value, x: ShapedArray, **params: Any) -> Value:
    """Sum, for each element of the operand, the cotangents of the windows that hold it.

    out[o] = sum_w x[(o s + w d - low) / b], so x_bar[i] = sum_w ct[(b i + low - w d) / s]: a
    windowed sum of the cotangent with gaps of s, padded by (W - 1) d - low below, at strides of b.
    """
    config = []
    for axis, size in enumerate(x.shape):
        low, _ = params["padding"][axis]
        stride, base = params["window_strides"][axis], params["base_dilation"][axis]
        window = dilated_size(params["window_dimensions"][axis], params["window_dilation"][axis])
        spread = dilated_size(typeof(ct).shape[axis], stride)
        below = window - 1 - low
        needed = dilated_size(size, base) + window - 1 if size else window - 1
        config.append((below, needed - below - spread, stride - 1))
    zero = np.asarray(0, typeof(ct).dtype)[()]
    if any(entry != (0, 0, 0) for entry in config):
        ct = lax.pad(ct, zero, tuple(config))
    ones = (1,) * x.ndim
    return reduce_window_sum_p.bind(
        ct,
        window_dimensions=params["window_dimensions"],
        window_strides=params["base_dilation"],
        padding=((0, 0),) * x.ndim,
        base_dilation=ones,
        window_dilation=params["window_dilation"],
    )


def _extremum_tangent(select: str) -> Callable[..., Value]:
    def tangent(t: Value, x: Value, **params: Any) -> Value:
        return select_and_gather_add(t, x, getattr(lax, select), **params)

    return tangent


def _reduce_window_jvp(
    ctx: JVPContext,
    primals: tuple[Value, ...],
    tangents: tuple[Value, ...],
    *,
    jaxpr: Any,
    **params: Any,
) -> tuple[list[Value], list[Value]]:
    count = len(primals) // 2
    operands, inits = primals[:count], primals[count:]
    if all(type(t) is Zero for t in tangents):
        outs = reduce_window_p.bind(*primals, jaxpr=jaxpr, **params)
        return outs, [zero_tangent(typeof(out)) for out in outs]
    varying = tuple(typeof(x).to_tangent().dtype == typeof(x).dtype for x in operands)
    body, _ = ctx.jvp_jaxpr(jaxpr, varying * 2, instantiate=varying)
    dots = [instantiate_zeros(t) for t, v in zip(tangents, varying * 2, strict=True) if v]
    live = sum(varying)
    paired = _pair_up(body, count, live)
    outs = reduce_window_p.bind(
        *operands, *dots[:live], *inits, *dots[live:], jaxpr=paired, **params
    )
    out_dots = iter(outs[count:])
    outs = outs[:count]
    return outs, [
        next(out_dots) if v else zero_tangent(typeof(out))
        for v, out in zip(varying, outs, strict=True)
    ]


def _pair_up(body: ClosedJaxpr, count: int, live: int) -> ClosedJaxpr:
    """Reorder (accs, elements, acc dots, element dots) to (accs, acc dots, elements, ...)."""
    memo = _paired.setdefault(body, {})
    paired = memo.get((count, live))
    if paired is None:
        jaxpr = body.jaxpr
        primals, dots = jaxpr.invars[: 2 * count], jaxpr.invars[2 * count :]
        invars = [*primals[:count], *dots[:live], *primals[count:], *dots[live:]]
        paired = Jaxpr(jaxpr.constvars, invars, jaxpr.outvars, jaxpr.eqns, jaxpr.effects)
        paired = memo.setdefault((count, live), ClosedJaxpr(paired, body.consts))
    return paired


def _gather_tangent(t: Value, tangents: Value, x: Value, **params: Any) -> Value:
    del tangents
    return select_and_gather_add_p.bind(t, x, **params)


def _gather_transpose(
    ct: Value, tangents: Value, x: Value, *, base_dilation: Any, window_dilation: Any, **params: Any
) -> tuple[Value, None]:
    del tangents
    if any(d != 1 for d in (*base_dilation, *window_dilation)):
        raise NotImplementedError(
            f"reduce_window of an extremum: given base_dilation {base_dilation} and "
            f"window_dilation {window_dilation}, expected ones for a reverse-mode derivative. "
            "Use forward mode, or slice the operand into windows and take the maximum over them."
        )
    return select_and_scatter_add(ct, x, **params), None


def _scatter_tangent(t: Value, source: Value, x: Value, **params: Any) -> Value:
    del source
    return select_and_scatter_add_p.bind(t, x, **params)


def _scatter_transpose(ct: Value, source: Value, x: Value, **params: Any) -> tuple[Value, None]:
    del source
    ones = (1,) * typeof(x).ndim
    return select_and_gather_add(ct, x, base_dilation=ones, window_dilation=ones, **params), None


JVP: Final[dict[Primitive, Callable[..., Any]]] = {
    reduce_window_p: ContextRule(_reduce_window_jvp),
    reduce_window_sum_p: linear_jvp(reduce_window_sum_p),
    reduce_window_max_p: jvp_of(reduce_window_max_p, _extremum_tangent("ge_p")),
    reduce_window_min_p: jvp_of(reduce_window_min_p, _extremum_tangent("le_p")),
    select_and_scatter_p: not_differentiable(
        "expected operands that don't vary: select_and_scatter takes any scatter function"
    ),
    select_and_scatter_add_p: jvp_of(select_and_scatter_add_p, _scatter_tangent, None),
    select_and_gather_add_p: jvp_of(select_and_gather_add_p, _gather_tangent, None),
}

TRANSPOSE: Final[dict[Primitive, Callable[..., Any]]] = {
    reduce_window_p: not_linear,
    reduce_window_sum_p: linear_transpose_of(_window_sum_transpose),
    reduce_window_max_p: not_linear,
    reduce_window_min_p: not_linear,
    select_and_scatter_p: not_linear,
    select_and_scatter_add_p: _scatter_transpose,
    select_and_gather_add_p: _gather_transpose,
}
