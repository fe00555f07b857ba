"""Tridiagonal systems by LAPACK, cuSPARSE, or elimination in a loop elsewhere."""

from typing import Any, Final

import tans_lax as lax
from tans_core import Primitive, typeof
from tans_lax.linalg.custom_calls import (
    ffi_call,
    gpu,
    lapack,
    nan_unless,
    status_aval,
    succeeded,
    unless_empty,
)
from tans_lax.linalg.tridiagonal_systems import tridiagonal_solve_p
from tans_lax.rows import move_axis
from tans_xla.ffi_targets import use_lapack
from tans_xla.lowering import ByPlatform, lower_as

type IrValue = Any
type Value = Any


def _solve_lapack(ctx: Any, *operands: IrValue, perturb_singular: bool) -> IrValue:
    avals = list(ctx.avals_in)
    b_aval = avals[-1]
    batch = b_aval.ndim - 2
    if perturb_singular:
        use_lapack()
        target = "tridiagonal_solve_perturbed_ffi"
        return ffi_call(target, operands, avals, [b_aval], batch)[0]
    target = lapack("gtsv", b_aval.dtype)
    results = [*avals, status_aval(b_aval, batch)]
    aliases = {i: i for i in range(4)}
    *_, x, status = ffi_call(target, operands, avals, results, batch, aliases=aliases)
    return nan_unless(succeeded(status, b_aval.shape[:-2]), x, b_aval, batch)


def _solve_gpu(ctx: Any, *operands: IrValue, perturb_singular: bool) -> IrValue:
    avals = list(ctx.avals_in)
    batch = avals[-1].ndim - 2
    if perturb_singular:
        target = gpu("", "tridiagonal_solve_perturbed", ctx.platforms)
        return ffi_call(target, operands, avals, avals[-1:], batch)[0]
    target = gpu("sparse", "gtsv2_ffi", ctx.platforms)
    return ffi_call(target, operands, avals, avals[-1:], batch, aliases={0: 3})[0]


def _eliminate(dl: Value, d: Value, du: Value, b: Value, *, perturb_singular: bool) -> Value:
    """Eliminate downwards and substitute upwards, without pivoting (Thomas's algorithm)."""
    if perturb_singular:
        raise NotImplementedError(
            "tridiagonal_solve: given perturb_singular=True on this platform, expected False. "
            "Solve on the CPU or a GPU."
        )
    ndim = typeof(b).ndim
    rows = [move_axis(x, ndim - 2, 0) for x in (dl, d, du)]
    right = move_axis(b, ndim - 2, 0)

    def spread(x: Value) -> Value:
        return lax.broadcast_in_dim(x, typeof(right).shape[1:], tuple(range(ndim - 2)))

    def down(carry: tuple[Value, Value], row: tuple[Value, ...]) -> Any:
        above, before = carry
        low, mid, up, rhs = row
        pivot = lax.sub(mid, lax.mul(low, above))
        factor = lax.div(up, pivot)
        value = lax.div(lax.sub(rhs, lax.mul(spread(low), before)), spread(pivot))
        return (factor, value), (factor, value)

    def up(after: Value, row: tuple[Value, Value]) -> Any:
        factor, value = row
        x = lax.sub(value, lax.mul(spread(factor), after))
        return x, x

    nothing = lax.full(typeof(rows[1]).shape[1:], 0, typeof(b).dtype)
    start = (nothing, lax.full(typeof(right).shape[1:], 0, typeof(b).dtype))
    # What lies outside the matrix must not be read.
    first = lax.eq(lax.broadcasted_iota(typeof(0).dtype, typeof(rows[0]).shape, 0), 0)
    low = lax.select(first, lax.full_like(rows[0], 0), rows[0])
    _, eliminated = lax.scan(down, start, (low, rows[1], rows[2], right))
    _, x = lax.scan(up, start[1], eliminated, reverse=True)
    return move_axis(x, 0, ndim - 2)


LOWERING: Final[dict[Primitive, Any]] = {
    tridiagonal_solve_p: ByPlatform(
        default=lower_as(_eliminate),
        cpu=unless_empty(_solve_lapack),
        cuda=unless_empty(_solve_gpu),
        rocm=unless_empty(_solve_gpu),
    ),
}
