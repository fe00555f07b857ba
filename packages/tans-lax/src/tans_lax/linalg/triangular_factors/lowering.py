"""LU factors by LAPACK, cuSOLVER or the TPU compiler."""

from typing import Any, Final

import numpy as np

import tans_lax as lax
from tans_core import Primitive, ShapedArray, typeof
from tans_lax.linalg.custom_calls import (
    ffi_call,
    gpu,
    lapack,
    nan_unless,
    status_aval,
    succeeded,
    unless_empty,
)
from tans_lax.linalg.triangular_factors import lu_p, lu_pivots_to_permutation_p
from tans_xla import hlo, hlo_parts
from tans_xla.lowering import ByPlatform, lower_as

type IrValue = Any
type Value = Any


def _permutation_of(pivots: Value, *, permutation_size: int) -> Value:
    aval = typeof(pivots)
    shape = (*aval.shape[:-1], permutation_size)
    rows = lax.broadcasted_iota(aval.dtype, shape, len(shape) - 1)
    batch_dims = tuple(range(aval.ndim - 1))
    if aval.size == 0:
        return rows

    def exchange(i: Value, permutation: Value) -> Value:
        pivot = lax.dynamic_index_in_dim(pivots, i, aval.ndim - 1, keepdims=False)
        pivot = lax.broadcast_in_dim(pivot, shape, batch_dims)
        here, there = lax.eq(rows, lax.full_like(rows, i)), lax.eq(rows, pivot)
        mine = _selected(here, permutation, batch_dims)
        theirs = _selected(there, permutation, batch_dims)
        return lax.select(here, theirs, lax.select(there, mine, permutation))

    return lax.fori_loop(0, aval.shape[-1], exchange, rows)


def _selected(mask: Value, x: Value, batch_dims: tuple[int, ...]) -> Value:
    """Return the one element of each row that the mask selects, spread over the row."""
    aval = typeof(x)
    only = lax.select(mask, x, lax.full_like(x, 0))
    return lax.broadcast_in_dim(lax.reduce_sum(only, (aval.ndim - 1,)), aval.shape, batch_dims)


def _permutation_gpu(ctx: Any, pivots: IrValue, *, permutation_size: int) -> IrValue:
    (aval,) = ctx.avals_in
    if aval.dtype != np.int32:
        return _permutation_default(ctx, pivots, permutation_size=permutation_size)
    target = gpu("", "lu_pivots_to_permutation", ctx.platforms)
    return ffi_call(target, [pivots], ctx.avals_in, ctx.avals_out, aval.ndim - 1)[0]


_permutation_default: Final = lower_as(_permutation_of)


def _lu_call(ctx: Any, x: IrValue, target: str) -> list[IrValue]:
    (aval,) = ctx.avals_in
    batch = aval.ndim - 2
    factors_aval, pivots_aval, permutation_aval = ctx.avals_out
    avals_out = [factors_aval, pivots_aval, status_aval(aval, batch)]
    factors, pivots, status = ffi_call(target, [x], [aval], avals_out, batch, aliases={0: 0})
    # The routines count rows from one. A positive status only says that U is singular.
    pivots = hlo.op1("stablehlo.subtract", pivots.type, (pivots, hlo.full(pivots_aval, 1)))
    factors = nan_unless(succeeded(status, aval.shape[:-2], "GE"), factors, aval, batch)
    return [factors, pivots, _permutation(ctx, pivots, pivots_aval, permutation_aval)]


def _permutation(ctx: Any, pivots: IrValue, aval: ShapedArray, out: ShapedArray) -> IrValue:
    size = out.shape[-1]
    if set(ctx.platforms) <= {"cuda", "rocm"}:
        target = gpu("", "lu_pivots_to_permutation", ctx.platforms)
        return ffi_call(target, [pivots], [aval], [out], aval.ndim - 1)[0]

    def flat(x: Value) -> list[Value]:
        return [_permutation_of(x, permutation_size=size)]

    return ctx.program(flat, [aval], [pivots])[0]


def _lu_lapack(ctx: Any, x: IrValue) -> list[IrValue]:
    return _lu_call(ctx, x, lapack("getrf", ctx.avals_in[0].dtype))


def _lu_gpu(ctx: Any, x: IrValue) -> list[IrValue]:
    return _lu_call(ctx, x, gpu("solver", "getrf_ffi", ctx.platforms))


def _lu_compiler(ctx: Any, x: IrValue) -> list[IrValue]:
    attributes = {
        "call_target_name": hlo.string("LuDecomposition"),
        "api_version": hlo.i32(2),
        "backend_config": hlo.string(""),
    }
    return hlo_parts.custom_call(ctx.avals_out, [x], attributes)


LOWERING: Final[dict[Primitive, Any]] = {
    lu_p: ByPlatform(
        cpu=unless_empty(_lu_lapack),
        cuda=unless_empty(_lu_gpu),
        rocm=unless_empty(_lu_gpu),
        tpu=unless_empty(_lu_compiler),
    ),
    lu_pivots_to_permutation_p: ByPlatform(
        default=_permutation_default,
        cuda=unless_empty(_permutation_gpu),
        rocm=unless_empty(_permutation_gpu),
    ),
}
