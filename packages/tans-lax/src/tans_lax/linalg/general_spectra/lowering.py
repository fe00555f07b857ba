"""Eigenvalue problems without symmetry by LAPACK, on GPU machines too."""

from typing import Any, Final

from tans_core import Primitive
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
from tans_lax.linalg.general_spectra import EigImplementation, eig_p, schur_p
from tans_lax.linalg.matrices import real_dtype
from tans_xla import hlo
from tans_xla.lowering import ByPlatform

type IrValue = Any


def _eig_call(
    ctx: Any, x: IrValue, target: str, config: dict[str, Any], wanted: tuple[bool, bool]
) -> list[IrValue]:
    """Call a routine that returns eigenvalues (for a real matrix in two parts) and vectors."""
    (aval,) = ctx.avals_in
    batch, n = aval.ndim - 2, aval.shape[-1]
    w_aval = ctx.avals_out[0]
    vectors_aval = with_shape(aval, n, n, dtype=w_aval.dtype)
    is_real = aval.dtype.kind == "f"
    parts = [w_aval.update(dtype=real_dtype(aval.dtype))] * 2 if is_real else [w_aval]
    avals_out = [*parts, vectors_aval, vectors_aval, status_aval(aval, batch)]
    *w, left, right, status = ffi_call(target, [x], [aval], avals_out, batch, config)
    if is_real:
        w = [hlo.op1("stablehlo.complex", hlo.ir_type(w_aval), w)]
    ok = succeeded(status, aval.shape[:-2])
    outs = [nan_unless(ok, w[0], w_aval, batch)]
    for x, is_wanted in zip((left, right), wanted, strict=True):
        if is_wanted:
            outs.append(nan_unless(ok, x, vectors_aval, batch))
    return outs


def _eig_lapack(
    ctx: Any,
    x: IrValue,
    *,
    compute_left_eigenvectors: bool,
    compute_right_eigenvectors: bool,
    enable_eigvec_derivs: bool,
    implementation: Any,
) -> list[IrValue]:
    del enable_eigvec_derivs
    if implementation not in (None, EigImplementation.LAPACK):
        raise NotImplementedError(
            f"eig: given implementation={implementation} on the CPU, expected LAPACK or None "
            "there. Leave implementation out."
        )
    wanted = compute_left_eigenvectors, compute_right_eigenvectors
    config = {
        "compute_left": letter(wanted[0], "V", "N"),
        "compute_right": letter(wanted[1], "V", "N"),
    }
    return _eig_call(ctx, x, lapack("geev", ctx.avals_in[0].dtype), config, wanted)


_MAGMA: Final = {
    None: "auto",
    EigImplementation.MAGMA: "on",
    EigImplementation.LAPACK: "off",
}


def _eig_gpu(
    ctx: Any,
    x: IrValue,
    *,
    compute_left_eigenvectors: bool,
    compute_right_eigenvectors: bool,
    enable_eigvec_derivs: bool,
    implementation: Any,
) -> list[IrValue]:
    del enable_eigvec_derivs
    if implementation not in _MAGMA:
        raise NotImplementedError(
            f"eig: given implementation={implementation} on a GPU, expected MAGMA, LAPACK or None. "
            "Leave implementation out."
        )
    wanted = compute_left_eigenvectors, compute_right_eigenvectors
    config = {
        "left": hlo.boolean(wanted[0]),
        "right": hlo.boolean(wanted[1]),
        "magma": hlo.string(_MAGMA[implementation]),
    }
    kind = "eig_real" if ctx.avals_in[0].dtype.kind == "f" else "eig_comp"
    return _eig_call(ctx, x, gpu("hybrid", kind, ctx.platforms), config, wanted)


def _schur_lapack(ctx: Any, x: IrValue, *, compute_schur_vectors: bool, **_: Any) -> list[IrValue]:
    (aval,) = ctx.avals_in
    batch = aval.ndim - 2
    config = {"mode": letter(compute_schur_vectors, "V", "N"), "sort": letter(False, "S", "N")}
    w_aval = with_shape(aval, aval.shape[-1])
    values = [w_aval, w_aval] if aval.dtype.kind == "f" else [w_aval]
    count = status_aval(aval, batch)
    avals_out = [aval, aval, *values, count, count]
    target = lapack("gees", aval.dtype)
    outs = ffi_call(target, [x], [aval], avals_out, batch, config, {0: 0})
    ok = succeeded(outs[-1], aval.shape[:-2])
    kept = outs[:2] if compute_schur_vectors else outs[:1]
    return [nan_unless(ok, out, aval, batch) for out in kept]


LOWERING: Final[dict[Primitive, Any]] = {
    eig_p: ByPlatform(
        cpu=unless_empty(_eig_lapack), cuda=unless_empty(_eig_gpu), rocm=unless_empty(_eig_gpu)
    ),
    schur_p: ByPlatform(cpu=unless_empty(_schur_lapack)),
}
