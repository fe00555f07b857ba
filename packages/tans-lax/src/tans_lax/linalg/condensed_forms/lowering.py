"""Condensed forms by LAPACK and cuSOLVER."""

from collections.abc import Sequence
from typing import Any, Final

from tans_core import Primitive
from tans_lax.linalg.condensed_forms import hessenberg_p, tridiagonal_p
from tans_lax.linalg.custom_calls import (
    ffi_call,
    gpu,
    lapack,
    letter,
    nan_unless,
    status_aval,
    succeeded,
)
from tans_lax.linalg.matrices import real_dtype
from tans_xla import hlo
from tans_xla.lowering import ByPlatform

type IrValue = Any


def _call(ctx: Any, x: IrValue, target: str, config: dict[str, Any]) -> list[IrValue]:
    (aval,) = ctx.avals_in
    batch = aval.ndim - 2
    if aval.shape[-1] <= 1 or aval.size == 0:
        return _of_scalars(ctx, x)
    avals_out = [*ctx.avals_out, status_aval(aval, batch)]
    *outs, status = ffi_call(target, [x], [aval], avals_out, batch, config, {0: 0})
    ok = succeeded(status, aval.shape[:-2])
    pairs: Sequence[Any] = list(zip(outs, ctx.avals_out, strict=True))
    return [nan_unless(ok, out, a, batch) for out, a in pairs]


def _of_scalars(ctx: Any, x: IrValue) -> list[IrValue]:
    """A matrix of size one is in every form."""
    (aval,) = ctx.avals_in
    outs = [x]
    for out_aval in ctx.avals_out[1:]:
        if out_aval.size == 0:
            outs.append(hlo.zeros(out_aval))
            continue
        part = aval.update(dtype=real_dtype(aval.dtype))
        real = x if aval.dtype.kind == "f" else hlo.op1("stablehlo.real", hlo.ir_type(part), (x,))
        outs.append(hlo.reshape(real, out_aval))
    return outs


def _hessenberg_lapack(ctx: Any, x: IrValue) -> list[IrValue]:
    (aval,) = ctx.avals_in
    config = {"low": hlo.i32(1), "high": hlo.i32(aval.shape[-1])}
    return _call(ctx, x, lapack("gehrd", aval.dtype), config)


def _tridiagonal_lapack(ctx: Any, x: IrValue, *, lower: bool) -> list[IrValue]:
    target = lapack("sytrd/hetrd", ctx.avals_in[0].dtype)
    return _call(ctx, x, target, {"uplo": letter(lower, "L", "U")})


def _tridiagonal_gpu(ctx: Any, x: IrValue, *, lower: bool) -> list[IrValue]:
    target = gpu("solver", "sytrd_ffi", ctx.platforms)
    return _call(ctx, x, target, {"lower": hlo.boolean(lower)})


LOWERING: Final[dict[Primitive, Any]] = {
    hessenberg_p: ByPlatform(cpu=_hessenberg_lapack),
    tridiagonal_p: ByPlatform(
        cpu=_tridiagonal_lapack, cuda=_tridiagonal_gpu, rocm=_tridiagonal_gpu
    ),
}
