"""Lowering of trigonometric and hyperbolic functions."""

from typing import Any, Final

from tans_core import Primitive
from tans_lax.elementwise.emit import IrValue, LoweringRule, by_dtype, one_op
from tans_lax.elementwise.trigonometric import (
    acos_p,
    acosh_p,
    asin_p,
    asinh_p,
    atan2_p,
    atan_p,
    atanh_p,
    cos_p,
    cosh_p,
    sin_p,
    sinh_p,
    tan_p,
    tanh_p,
    tanh_slope_p,
)
from tans_xla import hlo


def _asin_lower(ctx: Any, x: IrValue) -> IrValue:
    """Compute ``atan2(x, sqrt((1 - x) (1 + x)))``."""
    aval, kind = ctx.avals_in[0], ctx.result_type
    one = hlo.full(aval, 1)
    below = hlo.op1("stablehlo.subtract", kind, [one, x])
    above = hlo.op1("stablehlo.add", kind, [one, x])
    product = hlo.op1("stablehlo.multiply", kind, [below, above])
    other = hlo.op1("stablehlo.sqrt", kind, [product])
    return hlo.op1("stablehlo.atan2", kind, [x, other])


def _complex_circular(cosine: bool) -> LoweringRule:
    """Compute sin or cos of a + bi from sin a, cos a, sinh b and cosh b.

    The compiler's own expansion forms sinh b from exponentials and loses small imaginary parts.
    """

    def rule(ctx: Any, z: IrValue, **params: Any) -> IrValue:
        del params
        aval = ctx.avals_in[0].update(dtype=ctx.avals_in[0].dtype.type(0).real.dtype)
        kind = hlo.ir_type(aval)
        a = hlo.op1("stablehlo.real", kind, [z])
        b = hlo.op1("stablehlo.imag", kind, [z])
        sin_a = hlo.op1("stablehlo.sine", kind, [a])
        cos_a = hlo.op1("stablehlo.cosine", kind, [a])
        sinh_b = hlo.op1("chlo.sinh", kind, [b])
        cosh_b = hlo.op1("chlo.cosh", kind, [b])
        first, second = (cos_a, sin_a) if cosine else (sin_a, cos_a)
        real = hlo.op1("stablehlo.multiply", kind, [first, cosh_b])
        imag = hlo.op1("stablehlo.multiply", kind, [second, sinh_b])
        # On the imaginary axis the factor sin(0) must win over an infinite partner.
        on_axis = hlo.compare(a, hlo.full(aval, 0), "EQ", "FLOAT")
        if cosine:
            imag = hlo.op1("stablehlo.negate", kind, [imag])
            imag = hlo.select(on_axis, hlo.full(aval, 0), imag)
        else:
            real = hlo.select(on_axis, a, real)
        return hlo.op1("stablehlo.complex", ctx.result_type, [real, imag])

    return rule


def _tanh_slope_lower(ctx: Any, x: IrValue) -> IrValue:
    """Compute ``(2 / (e + 1 / e))**2`` with ``e = exp(x)``: 0 at both ends, nowhere nan."""
    aval, kind = ctx.avals_in[0], ctx.result_type
    e = hlo.op1("stablehlo.exponential", kind, [x])
    one = hlo.full(aval, 1)
    inverse = hlo.op1("stablehlo.divide", kind, [one, e])
    twice_cosh = hlo.op1("stablehlo.add", kind, [e, inverse])
    half_sech = hlo.op1("stablehlo.divide", kind, [one, twice_cosh])
    # Doubling is exact, and one constant fewer than dividing 2.
    sech = hlo.op1("stablehlo.add", kind, [half_sech, half_sech])
    return hlo.op1("stablehlo.multiply", kind, [sech, sech])


LOWERING: Final[dict[Primitive, LoweringRule]] = {
    sin_p: by_dtype(one_op("stablehlo.sine"), _complex_circular(cosine=False)),
    cos_p: by_dtype(one_op("stablehlo.cosine"), _complex_circular(cosine=True)),
    tan_p: one_op("stablehlo.tan"),
    asin_p: by_dtype(_asin_lower, one_op("chlo.asin")),
    acos_p: one_op("chlo.acos"),
    atan_p: one_op("chlo.atan"),
    atan2_p: one_op("stablehlo.atan2"),
    sinh_p: one_op("chlo.sinh"),
    cosh_p: one_op("chlo.cosh"),
    tanh_p: one_op("stablehlo.tanh"),
    asinh_p: one_op("chlo.asinh"),
    acosh_p: one_op("chlo.acosh"),
    atanh_p: one_op("chlo.atanh"),
    tanh_slope_p: _tanh_slope_lower,
}
