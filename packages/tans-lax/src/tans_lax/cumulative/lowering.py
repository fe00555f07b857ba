"""StableHLO of cumulative reductions: one window that grows along the axis.

XLA rewrites such a window into a tree of prefix sums. GPUs have a scan kernel for sums, which the
`chlo.scan` operation reaches.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from tans_core import Primitive, ShapedArray
from tans_core.dtypes import is_complex
from tans_lax.cumulative import cumlogsumexp_p, cummax_p, cummin_p, cumprod_p, cumsum_p
from tans_lax.reductions.lowering import monoid_body, part_of
from tans_lax.reductions.monoids import MONOIDS
from tans_lax.windows.lowering import WindowAttributes, reduce_window_op
from tans_xla import hlo
from tans_xla.sizes import has_symbolic, is_always_at_least, max_size

type IrValue = Any
type Body = Callable[..., Sequence[IrValue]]


def _growing_window(x: ShapedArray, axis: int, reverse: bool) -> WindowAttributes:
    ones = (1,) * x.ndim
    size = max_size(x.shape[axis], 1)
    inside = (0, size - 1) if reverse else (size - 1, 0)
    return WindowAttributes(
        dimensions=tuple(size if d == axis else 1 for d in range(x.ndim)),
        strides=ones,
        padding=tuple(inside if d == axis else (0, 0) for d in range(x.ndim)),
        base_dilation=ones,
        dilation=ones,
    )


def _windowed(
    identity: Callable[[Any], Any], make_body: Callable[[Any], Body]
) -> Callable[..., IrValue]:
    def lower(ctx: Any, x: IrValue, *, axis: int, reverse: bool) -> IrValue:
        (aval,) = ctx.avals_in
        if is_always_at_least(1, aval.shape[axis]) or aval.size == 0:
            return x
        init = hlo.full(ShapedArray((), aval.dtype), identity(aval.dtype))
        window = _growing_window(aval, axis, reverse)
        body = make_body(aval.dtype)
        (out,) = reduce_window_op(ctx, [x], [init], window, ctx.result_types, body)
        return out

    return lower


def _named(name: str) -> Callable[..., IrValue]:
    return _windowed(MONOIDS[name].identity, lambda dtype: monoid_body(name, dtype))


_cumsum_window: Final = _named("sum")


def _cumsum_lower(ctx: Any, x: IrValue, *, axis: int, reverse: bool) -> IrValue:
    (aval,) = ctx.avals_in
    # XLA's GPU scan kernel runs forwards over real numbers, at sizes that are known.
    scans = ctx.platforms == ("cuda",) and not (reverse or is_complex(aval.dtype))
    if not scans or aval.size == 0 or has_symbolic(aval.shape):
        return _cumsum_window(ctx, x, axis=axis, reverse=reverse)
    carry_aval = aval.update(shape=aval.shape[:axis] + aval.shape[axis + 1 :])
    kind = hlo.ir_type(carry_aval)
    scan = hlo.op(
        "chlo.scan",
        [*ctx.result_types, kind],
        [x, hlo.full(carry_aval, 0)],
        {
            "dimension": hlo.i64(axis),
            "is_reverse": hlo.boolean(reverse),
            "is_associative": hlo.boolean(True),
            "operandSegmentSizes": hlo.attribute("array<i32: 1, 1>"),
            "resultSegmentSizes": hlo.attribute("array<i32: 1, 1>"),
        },
        regions=1,
    )
    with hlo.block(scan, 0, [kind, kind]) as (element, carry):
        total = hlo.op1("stablehlo.add", kind, (element, carry))
        hlo.ret([total, total])
    return scan.results[0]


def _logaddexp_body(dtype: Any) -> Body:
    return _complex_logaddexp if is_complex(dtype) else _real_logaddexp


def _real_logaddexp(x: IrValue, y: IrValue) -> list[IrValue]:
    kind = x.type
    larger = hlo.op1("stablehlo.maximum", kind, (x, y))
    gap = hlo.op1("stablehlo.subtract", kind, (x, y))
    # Equal infinities leave a nan gap; their sum is the right limit.
    undefined = hlo.compare(gap, gap, "NE")
    distance = hlo.op1("stablehlo.abs", kind, (gap,))
    negated = hlo.op1("stablehlo.negate", kind, (distance,))
    ratio = hlo.op1("stablehlo.exponential", kind, (negated,))
    rest = hlo.op1("stablehlo.log_plus_one", kind, (ratio,))
    total = hlo.op1("stablehlo.add", kind, (larger, rest))
    return [hlo.select(undefined, hlo.op1("stablehlo.add", kind, (x, y)), total)]


def _complex_logaddexp(x: IrValue, y: IrValue) -> list[IrValue]:
    kind = x.type
    dtype = np.dtype("complex64")  # the comparison is the same for both widths
    (larger,) = monoid_body("max", dtype)(x, y)
    (smaller,) = monoid_body("min", dtype)(x, y)
    ratio = hlo.op1(
        "stablehlo.exponential", kind, (hlo.op1("stablehlo.subtract", kind, (smaller, larger)),)
    )
    rest = hlo.op1("stablehlo.log_plus_one", kind, (ratio,))
    return [_principal(hlo.op1("stablehlo.add", kind, (larger, rest)))]


def _principal(z: IrValue) -> IrValue:
    """Bring the imaginary part of a logarithm into [-pi, pi]."""
    angle = part_of(z, "imag")
    turn = hlo.op1("stablehlo.constant", angle.type, (), {"value": _splat(angle, 2 * np.pi)})
    turns = hlo.op1("stablehlo.divide", angle.type, (angle, turn))
    whole = hlo.op1("stablehlo.round_nearest_even", angle.type, (turns,))
    excess = hlo.op1("stablehlo.multiply", angle.type, (whole, turn))
    angle = hlo.op1("stablehlo.subtract", angle.type, (angle, excess))
    return hlo.op1("stablehlo.complex", z.type, (part_of(z, "real"), angle))


def _splat(x: IrValue, value: float) -> Any:
    kind = hlo.ir.RankedTensorType(x.type)
    return hlo.ir.DenseElementsAttr.get_splat(kind, hlo.ir.FloatAttr.get(kind.element_type, value))


LOWERING: Final[dict[Primitive, Any]] = {
    cumsum_p: _cumsum_lower,
    cumprod_p: _named("prod"),
    cummax_p: _named("max"),
    cummin_p: _named("min"),
    cumlogsumexp_p: _windowed(lambda _: -np.inf, _logaddexp_body),
}
