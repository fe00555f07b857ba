"""Pseudoinverses from singular values, or from eigenvalues of Hermitian matrices."""

from typing import Any, Final

import tans_lax as lax
from tans_core import Primitive, typeof
from tans_lax.linalg.hermitian_spectra import eigh
from tans_lax.linalg.matrices import adjoint, matmul, times_columns
from tans_lax.linalg.pseudoinverses import pinv_p
from tans_lax.linalg.singular_values import svd
from tans_xla import hlo
from tans_xla.lowering import lower_as

type IrValue = Any
type Value = Any


def _pseudoinverse(x: Value, rtol: Value, *, hermitian: bool) -> Value:
    if hermitian:
        left, s = eigh(x)
        right = adjoint(left)
    else:
        left, s, right = svd(x, full_matrices=False)
    sizes = lax.abs(s)
    axis = typeof(s).ndim - 1
    cutoff = lax.mul(lax.reduce_max(sizes, (axis,)), rtol)
    kept = lax.gt(sizes, lax.broadcast_in_dim(cutoff, typeof(s).shape, tuple(range(axis))))
    ones = lax.full_like(s, 1)
    inverse = lax.select(kept, lax.div(ones, lax.select(kept, s, ones)), lax.full_like(s, 0))
    return matmul(times_columns(adjoint(right), inverse), adjoint(left))


_program: Final = lower_as(_pseudoinverse)


def _pinv_lower(ctx: Any, x: IrValue, rtol: IrValue, *, hermitian: bool) -> IrValue:
    if ctx.avals_in[0].size == 0:
        return hlo.zeros(ctx.avals_out[0])
    return _program(ctx, x, rtol, hermitian=hermitian)


LOWERING: Final[dict[Primitive, Any]] = {
    pinv_p: _pinv_lower,
}
