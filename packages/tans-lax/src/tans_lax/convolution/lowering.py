"""StableHLO of convolutions. Complex ones take three real convolutions, by Gauss's identity."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from tans_core import Primitive
from tans_core.dtypes import is_complex
from tans_lax.contractions.lowering import precision_config
from tans_lax.convolution import conv_general_dilated_p
from tans_lax.convolution.algorithms import conv_plan
from tans_lax.convolution.dimensions import ConvDimensionNumbers
from tans_lax.reductions.lowering import part_of
from tans_xla import hlo, hlo_parts
from tans_xla.sizes import has_symbolic

type IrValue = Any


def _letters(spec: tuple[int, ...], first: str, second: str) -> str:
    names = [""] * len(spec)
    for name, position in zip((first, second, *map(str, range(len(spec)))), spec, strict=False):
        names[position] = name
    return f"[{', '.join(names)}]"


def _numbers_attribute(numbers: ConvDimensionNumbers) -> Any:
    lhs = _letters(numbers.lhs_spec, "b", "f")
    rhs = _letters(numbers.rhs_spec, "o", "i")
    out = _letters(numbers.out_spec, "b", "f")
    return hlo.attribute(f"#stablehlo.conv<{lhs}x{rhs}->{out}>")


def _conv_lower(ctx: Any, lhs: IrValue, rhs: IrValue, **params: Any) -> IrValue:
    (out_aval,) = ctx.avals_out
    if any(aval.size == 0 for aval in (*ctx.avals_in, out_aval)):
        # StableHLO refuses an empty kernel, which the transpose of an empty result has.
        return hlo.zeros(out_aval)
    spatial = len(params["window_strides"])
    plan = conv_plan(params["precision"], ctx.platforms, ctx.avals_in, out_aval)
    attributes = {
        "window_strides": hlo.i64s(params["window_strides"]),
        "lhs_dilation": hlo.i64s(params["lhs_dilation"]),
        "rhs_dilation": hlo.i64s(params["rhs_dilation"]),
        "window_reversal": hlo.bools([False] * spatial),
        "dimension_numbers": _numbers_attribute(params["dimension_numbers"]),
        "feature_group_count": hlo.i64(params["feature_group_count"]),
        "batch_group_count": hlo.i64(params["batch_group_count"]),
        "precision_config": precision_config(plan.levels),
    }

    padding = params["padding"]
    is_symbolic = any(map(has_symbolic, padding))
    if not is_symbolic:
        attributes["padding"] = hlo.i64_matrix(padding, 2)

    def convolve(kind: Any, x: IrValue, y: IrValue) -> IrValue:
        if is_symbolic:
            operands = (x, y, hlo_parts.pairs(padding))
            return hlo.op1("stablehlo.dynamic_conv", kind, operands, attributes)
        return hlo.op1("stablehlo.convolution", kind, (x, y), attributes)

    if not is_complex(ctx.avals_in[0].dtype):
        lhs, rhs = (
            _stored(x, aval, plan.storage) for x, aval in zip((lhs, rhs), ctx.avals_in, strict=True)
        )
        sums = out_aval if plan.sums is None else out_aval.update(dtype=plan.sums)
        out = convolve(hlo.ir_type(sums), lhs, rhs)
        return out if sums.dtype == out_aval.dtype else hlo.convert(out, out_aval)
    return _complex_conv(convolve, lhs, rhs, out_aval)


def _stored(x: IrValue, aval: Any, dtype: Any) -> IrValue:
    # A float64 dtype equals None.
    return x if dtype is None or dtype == aval.dtype else hlo.convert(x, aval.update(dtype=dtype))


def _complex_conv(
    convolve: Callable[..., IrValue], lhs: IrValue, rhs: IrValue, out_aval: Any
) -> IrValue:
    # With k1 = (a + b) c, k2 = a (d - c), k3 = b (c + d):
    # (a + ib)(c + id) = (k1 - k3) + i (k1 + k2).
    a, b = part_of(lhs, "real"), part_of(lhs, "imag")
    c, d = part_of(rhs, "real"), part_of(rhs, "imag")
    part_dtype = np.dtype(np.float32 if out_aval.dtype == np.complex64 else np.float64)
    kind = hlo.tensor_type(out_aval.shape, part_dtype)
    k1 = convolve(kind, hlo.op1("stablehlo.add", a.type, (a, b)), c)
    k2 = convolve(kind, a, hlo.op1("stablehlo.subtract", c.type, (d, c)))
    k3 = convolve(kind, b, hlo.op1("stablehlo.add", c.type, (c, d)))
    real = hlo.op1("stablehlo.subtract", kind, (k1, k3))
    imag = hlo.op1("stablehlo.add", kind, (k1, k2))
    return hlo.op1("stablehlo.complex", hlo.ir_type(out_aval), (real, imag))


LOWERING: Final[dict[Primitive, Callable[..., Any]]] = {
    conv_general_dilated_p: _conv_lower,
}
