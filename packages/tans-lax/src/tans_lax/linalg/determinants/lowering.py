"""Determinants as programs of factorizations."""

from typing import Any, Final

from tans_core import Primitive
from tans_lax.linalg.determinants import cofactors_p, det_p
from tans_lax.linalg.determinants.spectral import cofactor_matrix, determinant
from tans_xla import hlo
from tans_xla.lowering import lower_as

type IrValue = Any


def _det_lower(ctx: Any, x: IrValue) -> IrValue:
    if ctx.avals_in[0].size == 0:  # the product of no pivots
        return hlo.full(ctx.avals_out[0], 1)
    return _determinant(ctx, x)


def _cofactors_lower(ctx: Any, x: IrValue) -> IrValue:
    if ctx.avals_in[0].size == 0:
        return hlo.zeros(ctx.avals_out[0])
    return _cofactors(ctx, x)


_determinant: Final = lower_as(determinant)
_cofactors: Final = lower_as(cofactor_matrix)

LOWERING: Final[dict[Primitive, Any]] = {
    det_p: _det_lower,
    cofactors_p: _cofactors_lower,
}
