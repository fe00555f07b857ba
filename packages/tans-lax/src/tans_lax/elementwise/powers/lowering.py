"""Lowering of powers and roots."""

from typing import Any, Final

from tans_core import Primitive
from tans_lax.elementwise.emit import IrValue, LoweringRule, one_op, spread
from tans_lax.elementwise.powers import (
    cbrt_p,
    integer_pow_p,
    one_minus_square_p,
    pow_p,
    rsqrt_p,
    sqrt_p,
    square_p,
)
from tans_xla import hlo


def _square_lower(ctx: Any, x: IrValue) -> IrValue:
    return hlo.op1("stablehlo.multiply", ctx.result_type, [x, x])


def _integer_pow_lower(ctx: Any, x: IrValue, *, y: int) -> IrValue:
    aval, kind = ctx.avals_in[0], ctx.result_type
    if y == 0:
        return hlo.full(aval, 1)
    power = _repeated_product(kind, x, abs(y))
    if y < 0:
        return hlo.op1("stablehlo.divide", kind, [hlo.full(aval, 1), power])
    return power


def _repeated_product(kind: Any, x: IrValue, n: int) -> IrValue:
    """Multiply powers ``x**(2**k)`` for the set bits of `n`."""
    product = None
    while True:
        if n & 1:
            product = x if product is None else hlo.op1("stablehlo.multiply", kind, [product, x])
        n >>= 1
        if not n:
            return product
        x = hlo.op1("stablehlo.multiply", kind, [x, x])


def _pow_lower(ctx: Any, x: IrValue, y: IrValue) -> IrValue:
    (out,) = ctx.avals_out
    x_aval, y_aval = ctx.avals_in
    if y_aval.dtype != x_aval.dtype:
        y = hlo.convert(y, y_aval.update(dtype=x_aval.dtype))
    x, y = spread(ctx, (x, y), out.dtype)
    return hlo.op1("stablehlo.power", ctx.result_type, [x, y])


def _one_minus_square_lower(ctx: Any, x: IrValue) -> IrValue:
    aval, kind = ctx.avals_in[0], ctx.result_type
    one = hlo.full(aval, 1)
    above = hlo.op1("stablehlo.add", kind, [one, x])
    below = hlo.op1("stablehlo.subtract", kind, [one, x])
    return hlo.op1("stablehlo.multiply", kind, [above, below])


LOWERING: Final[dict[Primitive, LoweringRule]] = {
    square_p: _square_lower,
    integer_pow_p: _integer_pow_lower,
    pow_p: _pow_lower,
    sqrt_p: one_op("stablehlo.sqrt"),
    rsqrt_p: one_op("stablehlo.rsqrt"),
    cbrt_p: one_op("stablehlo.cbrt"),
    one_minus_square_p: _one_minus_square_lower,
}
