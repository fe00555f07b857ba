"""Hermitian eigenvalue problems by LAPACK, cuSOLVER or the TPU compiler."""

from collections.abc import Sequence
from typing import Any, Final

from tans_core import Primitive, ShapedArray
from tans_lax.linalg.checks import with_shape
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
from tans_lax.linalg.hermitian_spectra import EighImplementation, eigh_p
from tans_lax.linalg.matrices import real_dtype
from tans_xla import hlo, hlo_parts
from tans_xla.lowering import ByPlatform

type IrValue = Any

_GPU_METHODS: Final = {None: 0, EighImplementation.QR: 1, EighImplementation.JACOBI: 2}


def _whole_avals(aval: ShapedArray) -> tuple[ShapedArray, ShapedArray]:
    return aval, with_shape(aval, aval.shape[-1], dtype=real_dtype(aval.dtype))


def _selected(ctx: Any, outs: Sequence[IrValue], subset: tuple[int, int] | None) -> list[IrValue]:
    """Keep the chosen eigenvectors and eigenvalues, which are the last axis of both."""
    if subset is None:
        return list(outs)
    first, end = subset
    return [
        hlo_parts.slice_between(x, a, [0] * (a.ndim - 1) + [first], [*a.shape[:-1], end])
        for x, a in zip(outs, ctx.avals_out, strict=True)
    ]


def _eigh_call(ctx: Any, x: IrValue, target: str, config: dict[str, Any]) -> list[IrValue]:
    (aval,) = ctx.avals_in
    batch = aval.ndim - 2
    v_aval, w_aval = _whole_avals(aval)
    avals_out = [v_aval, w_aval, status_aval(aval, batch)]
    v, w, status = ffi_call(target, [x], [aval], avals_out, batch, config, {0: 0})
    ok = succeeded(status, aval.shape[:-2])
    return [nan_unless(ok, v, v_aval, batch), nan_unless(ok, w, w_aval, batch)]


def _eigh_lapack(
    ctx: Any,
    x: IrValue,
    *,
    lower: bool,
    sort_eigenvalues: bool,
    subset_by_index: tuple[int, int] | None,
    algorithm: Any,
) -> list[IrValue]:
    del sort_eigenvalues  # they come sorted
    if algorithm not in (None, EighImplementation.QR):
        raise NotImplementedError(
            f"eigh: given implementation={algorithm} on the CPU, expected None or "
            "EighImplementation.QR there. Leave implementation out."
        )
    config = {"mode": letter(True, "V", "N"), "uplo": letter(lower, "L", "U")}
    target = lapack("syevd/heevd", ctx.avals_in[0].dtype)
    return _selected(ctx, _eigh_call(ctx, x, target, config), subset_by_index)


def _eigh_gpu(
    ctx: Any,
    x: IrValue,
    *,
    lower: bool,
    sort_eigenvalues: bool,
    subset_by_index: tuple[int, int] | None,
    algorithm: Any,
) -> list[IrValue]:
    del sort_eigenvalues  # they come sorted
    if algorithm not in _GPU_METHODS:
        raise NotImplementedError(
            f"eigh: given implementation={algorithm} on a GPU, expected None, QR or JACOBI there. "
            "Leave implementation out."
        )
    method = hlo.attribute(f"{_GPU_METHODS[algorithm]} : ui8")
    config = {"algorithm": method, "lower": hlo.boolean(lower)}
    target = gpu("solver", "syevd_ffi", ctx.platforms)
    return _selected(ctx, _eigh_call(ctx, x, target, config), subset_by_index)


def _eigh_compiler(
    ctx: Any,
    x: IrValue,
    *,
    lower: bool,
    sort_eigenvalues: bool,
    subset_by_index: tuple[int, int] | None,
    algorithm: Any,
) -> list[IrValue]:
    """Jacobi's method in the TPU compiler: triangle, sorting, sweeps and tolerance as its text."""
    if algorithm not in (None, EighImplementation.JACOBI):
        raise NotImplementedError(
            f"eigh: given implementation={algorithm} on a TPU, expected None or "
            "EighImplementation.JACOBI there. Leave implementation out."
        )
    config = f"{int(lower)},{int(sort_eigenvalues)},100,1e-6"
    attributes = {
        "call_target_name": hlo.string("Eigh"),
        "backend_config": hlo.string(config),
    }
    outs = hlo_parts.custom_call(_whole_avals(ctx.avals_in[0]), [x], attributes)
    return _selected(ctx, outs, subset_by_index)


LOWERING: Final[dict[Primitive, Any]] = {
    eigh_p: ByPlatform(
        cpu=unless_empty(_eigh_lapack),
        cuda=unless_empty(_eigh_gpu),
        rocm=unless_empty(_eigh_gpu),
        tpu=unless_empty(_eigh_compiler),
    ),
}
