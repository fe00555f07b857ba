"""Lowering of operations that arrange elements anew."""

from typing import Any, Final

from tans_core import Primitive
from tans_lax.elementwise.emit import IrValue, LoweringRule
from tans_lax.shape import broadcast_in_dim_p, reshape_p, rev_p, squeeze_p, transpose_p
from tans_xla import hlo

type Dims = tuple[int, ...]


def _broadcast_in_dim_lower(
    ctx: Any, x: IrValue, *, shape: Dims, broadcast_dimensions: Dims, sharding: Any
) -> IrValue:
    del shape, sharding
    return hlo.broadcast_in_dim(x, ctx.avals_out[0], broadcast_dimensions)


def _reshape_lower(
    ctx: Any, x: IrValue, *, new_sizes: Dims, dimensions: Dims | None, sharding: Any
) -> IrValue:
    del new_sizes, sharding
    if dimensions is not None:
        (aval,) = ctx.avals_in
        permuted = aval.update(shape=tuple(aval.shape[i] for i in dimensions))
        x = hlo.transpose(x, permuted, dimensions)
    return hlo.reshape(x, ctx.avals_out[0])


def _transpose_lower(ctx: Any, x: IrValue, *, permutation: Dims) -> IrValue:
    return hlo.transpose(x, ctx.avals_out[0], permutation)


def _squeeze_lower(ctx: Any, x: IrValue, *, dimensions: Dims) -> IrValue:
    del dimensions
    return hlo.reshape(x, ctx.avals_out[0])


def _rev_lower(ctx: Any, x: IrValue, *, dimensions: Dims) -> IrValue:
    attrs = {"dimensions": hlo.i64s(dimensions)}
    return hlo.op1("stablehlo.reverse", ctx.result_type, [x], attrs)


LOWERING: Final[dict[Primitive, LoweringRule]] = {
    broadcast_in_dim_p: _broadcast_in_dim_lower,
    reshape_p: _reshape_lower,
    transpose_p: _transpose_lower,
    squeeze_p: _squeeze_lower,
    rev_p: _rev_lower,
}
