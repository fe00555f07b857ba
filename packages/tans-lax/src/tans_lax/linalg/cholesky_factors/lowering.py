"""Cholesky factors by LAPACK, cuSOLVER or the compiler's own expansion."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

import tans_lax as lax
from tans_core import Primitive, typeof
from tans_lax.linalg.cholesky_factors import cholesky_p, cholesky_update_p
from tans_lax.linalg.custom_calls import (
    ffi_call,
    gpu,
    lapack,
    letter,
    nan_unless,
    status_aval,
    succeeded,
    unless_empty,
)
from tans_lax.linalg.matrices import upper_part
from tans_xla import hlo
from tans_xla.lowering import ByPlatform, lower_as

type IrValue = Any
type Value = Any


def _cholesky_call(ctx: Any, x: IrValue, target: str, config: dict[str, Any]) -> IrValue:
    (aval,) = ctx.avals_in
    batch = aval.ndim - 2
    avals_out = [aval, status_aval(aval, batch)]
    out, status = ffi_call(target, [x], [aval], avals_out, batch, config, {0: 0})
    return nan_unless(succeeded(status, aval.shape[:-2]), out, aval, batch)


def _cholesky_lapack(ctx: Any, x: IrValue) -> IrValue:
    target = lapack("potrf", ctx.avals_in[0].dtype)
    return _cholesky_call(ctx, x, target, {"uplo": letter(True, "L", "U")})


def _cholesky_gpu(ctx: Any, x: IrValue) -> IrValue:
    target = gpu("solver", "potrf_ffi", ctx.platforms)
    return _cholesky_call(ctx, x, target, {"lower": hlo.boolean(True)})


def _cholesky_compiler(ctx: Any, x: IrValue) -> IrValue:
    return hlo.op1("stablehlo.cholesky", ctx.result_type, [x], {"lower": hlo.boolean(True)})


def _update_by_rotations(r: Value, w: Value) -> Value:
    """Rotate `w` into the rows of `r`, one Givens rotation per row."""
    n = typeof(w).shape[-1]
    columns = np.arange(n, dtype=np.int32)
    if n == 0:
        return r

    def rotate(k: Value, state: tuple[Value, Value]) -> tuple[Value, Value]:
        r, w = state
        axis = typeof(r).ndim - 2
        row = lax.dynamic_index_in_dim(r, k, axis, keepdims=False)
        diagonal = lax.dynamic_index_in_dim(row, k, axis)
        head = lax.dynamic_index_in_dim(w, k, axis)
        length = lax.sqrt(lax.add(lax.square(diagonal), lax.square(head)))
        unit = lax.eq(length, lax.full_like(length, 0))
        safe = lax.select(unit, lax.full_like(length, 1), length)
        c = lax.select(unit, lax.full_like(length, 1), lax.div(diagonal, safe))
        s = lax.div(head, safe)
        c, s = (lax.broadcast_in_dim(x, typeof(w).shape, tuple(range(axis + 1))) for x in (c, s))
        new_row = lax.add(lax.mul(c, row), lax.mul(s, w))
        new_w = lax.sub(lax.mul(c, w), lax.mul(s, row))
        later = lax.broadcast_in_dim(lax.gt(columns, k), typeof(w).shape, (axis,))
        new_w = lax.select(later, new_w, lax.full_like(w, 0))
        return lax.dynamic_update_index_in_dim(r, new_row, k, axis), new_w

    return lax.fori_loop(np.int32(0), np.int32(n), rotate, (upper_part(r), w))[0]


LOWERING: Final[dict[Primitive, Callable[..., Any] | ByPlatform]] = {
    cholesky_p: ByPlatform(
        default=_cholesky_compiler,
        cpu=unless_empty(_cholesky_lapack),
        cuda=unless_empty(_cholesky_gpu),
        rocm=unless_empty(_cholesky_gpu),
    ),
    cholesky_update_p: lower_as(_update_by_rotations),
}
