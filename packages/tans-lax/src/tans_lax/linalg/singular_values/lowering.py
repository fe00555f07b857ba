"""Singular values by LAPACK, cuSOLVER, or from the polar decomposition on TPUs."""

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
from tans_lax.linalg.matrices import real_dtype
from tans_lax.linalg.singular_values import SvdAlgorithm, svd_p
from tans_lax.linalg.singular_values.polar import svd_by_polar
from tans_xla import hlo, hlo_parts
from tans_xla.lowering import ByPlatform, lower_as
from tans_xla.sizes import is_always_at_least, max_size, min_size

type IrValue = Any
type Subset = tuple[int, int] | None

_DEFAULTS: Final = (None, SvdAlgorithm.DEFAULT)


def _refuse(algorithm: Any, platform: str, expected: str) -> None:
    raise NotImplementedError(
        f"svd: given algorithm={algorithm} on {platform}, expected {expected} there. Leave "
        "algorithm out."
    )


def _whole_avals(aval: ShapedArray, full_matrices: bool) -> list[ShapedArray]:
    """Return the types of all singular values and vectors."""
    m, n = aval.shape[-2:]
    k = min_size(m, n)
    s = with_shape(aval, k, dtype=real_dtype(aval.dtype))
    rows, columns = (m, n) if full_matrices else (k, k)
    return [s, with_shape(aval, m, rows), with_shape(aval, columns, n)]


def _subset_of(outs: Sequence[IrValue], avals: Sequence[ShapedArray], subset: Subset) -> Any:
    if subset is None:
        return list(outs)
    cut = []
    for x, aval, axis in zip(outs, avals, (-1, -1, -2), strict=False):
        axis += aval.ndim  # noqa: PLW2901
        starts, limits = [0] * aval.ndim, list(aval.shape)
        starts[axis], limits[axis] = subset
        shape = tuple(stop - start for start, stop in zip(starts, limits, strict=True))
        cut.append(hlo_parts.slice_between(x, aval.update(shape=shape), starts, limits))
    return cut


def _checked(
    status: IrValue, outs: Sequence[IrValue], avals: Sequence[ShapedArray], batch: int
) -> list[IrValue]:
    ok = succeeded(status, avals[0].shape[:batch])
    return [nan_unless(ok, x, a, batch) for x, a in zip(outs, avals, strict=True)]


def _svd_lapack(
    ctx: Any,
    x: IrValue,
    *,
    full_matrices: bool,
    compute_uv: bool,
    subset_by_index: Subset,
    algorithm: Any,
) -> list[IrValue]:
    (aval,) = ctx.avals_in
    if algorithm in (*_DEFAULTS, SvdAlgorithm.DIVIDE_AND_CONQUER):
        routine = "gesdd"
    elif algorithm is SvdAlgorithm.QR:
        routine = "gesvd"
    else:
        _refuse(algorithm, "the CPU", "DEFAULT, DIVIDE_AND_CONQUER or QR")
    batch = aval.ndim - 2
    avals = _whole_avals(aval, full_matrices)
    mode = "A" if full_matrices else "S"
    config = {"mode": letter(compute_uv, mode, "N")}
    target = lapack(routine, aval.dtype)
    results = [aval, *avals, status_aval(aval, batch)]
    _, *outs, status = ffi_call(target, [x], [aval], results, batch, config, {0: 0})
    kept = len(avals) if compute_uv else 1
    outs = _checked(status, outs[:kept], avals[:kept], batch)
    return _subset_of(outs, avals, subset_by_index)


def _svd_gpu(
    ctx: Any,
    x: IrValue,
    *,
    full_matrices: bool,
    compute_uv: bool,
    subset_by_index: Subset,
    algorithm: Any,
) -> list[IrValue]:
    (aval,) = ctx.avals_in
    m, n = aval.shape[-2:]
    if algorithm is SvdAlgorithm.POLAR:
        polar = lower_as(svd_by_polar)
        return polar(
            ctx,
            x,
            full_matrices=full_matrices,
            compute_uv=compute_uv,
            subset_by_index=subset_by_index,
            algorithm=None,
        )
    if algorithm is SvdAlgorithm.DIVIDE_AND_CONQUER:
        _refuse(algorithm, "a GPU", "DEFAULT, QR, JACOBI or POLAR")
    # Jacobi's method is the faster one for small matrices.
    is_small = is_always_at_least(1024, max_size(m, n))
    jacobi = algorithm is SvdAlgorithm.JACOBI or (algorithm in _DEFAULTS and is_small)
    outs, avals, status = (_by_jacobi if jacobi else _by_qr)(
        ctx, x, aval, full_matrices, compute_uv
    )
    kept = 3 if compute_uv else 1
    outs = _checked(status, outs[:kept], avals[:kept], aval.ndim - 2)
    return _subset_of(outs, avals, subset_by_index)


def _by_jacobi(
    ctx: Any, x: IrValue, aval: ShapedArray, full_matrices: bool, compute_uv: bool
) -> tuple[list[IrValue], list[ShapedArray], IrValue]:
    """The routine returns `v` rather than its adjoint, and square matrices for wide problems."""
    batch = aval.ndim - 2
    m, n = aval.shape[-2:]
    square = full_matrices or m < n
    s_aval, u_aval, vh_aval = _whole_avals(aval, square)
    v_aval = with_shape(aval, n, vh_aval.shape[-2])
    config = {"compute_uv": hlo.boolean(compute_uv), "full_matrices": hlo.boolean(square)}
    target = gpu("solver", "gesvdj_ffi", ctx.platforms)
    results = [aval, s_aval, u_aval, v_aval, status_aval(aval, batch)]
    _, s, u, v, status = ffi_call(target, [x], [aval], results, batch, config, {0: 0})
    order = (*range(batch), batch + 1, batch)
    vh = hlo.transpose(v, vh_aval, order)
    if aval.dtype.kind == "c":
        vh = _conjugate(vh, vh_aval)
    avals = _whole_avals(aval, full_matrices)
    if vh_aval is not avals[2]:
        vh = hlo_parts.slice_between(vh, avals[2], [0] * aval.ndim, avals[2].shape)
    return [s, u, vh], avals, status


def _conjugate(x: IrValue, aval: ShapedArray) -> IrValue:
    part = hlo.ir_type(aval.update(dtype=real_dtype(aval.dtype)))
    imaginary = hlo.op1("stablehlo.imag", part, (x,))
    negated = hlo.op1("stablehlo.negate", part, (imaginary,))
    return hlo.op1("stablehlo.complex", x.type, (hlo.op1("stablehlo.real", part, (x,)), negated))


def _by_qr(
    ctx: Any, x: IrValue, aval: ShapedArray, full_matrices: bool, compute_uv: bool
) -> tuple[list[IrValue], list[ShapedArray], IrValue]:
    """The routine takes tall matrices: of a wide one it is given the transpose, row by row."""
    batch = aval.ndim - 2
    m, n = aval.shape[-2:]
    avals = _whole_avals(aval, full_matrices)
    target = gpu("solver", "gesvd_ffi", ctx.platforms)
    wide = m < n
    config = {
        "compute_uv": hlo.boolean(compute_uv),
        "full_matrices": hlo.boolean(full_matrices),
        "transposed": hlo.boolean(False),
    }

    def flip(a: ShapedArray) -> ShapedArray:
        return a.update(shape=(*a.shape[:-2], a.shape[-1], a.shape[-2]))

    order = (*range(batch), batch + 1, batch)
    s_aval, u_aval, vh_aval = avals
    problem = [flip(aval), s_aval, flip(vh_aval), flip(u_aval)] if wide else [aval, *avals]
    operand = hlo.transpose(x, flip(aval), order) if wide else x
    results = [*problem, status_aval(aval, batch)]
    _, s, u, vh, status = ffi_call(target, [operand], [problem[0]], results, batch, config, {0: 0})
    if wide:  # x^T = u s vh, so x = vh^T s u^T
        u, vh = hlo.transpose(vh, u_aval, order), hlo.transpose(u, vh_aval, order)
    return [s, u, vh], avals, status


LOWERING: Final[dict[Primitive, Any]] = {
    svd_p: ByPlatform(
        cpu=unless_empty(_svd_lapack),
        cuda=unless_empty(_svd_gpu),
        rocm=unless_empty(_svd_gpu),
        tpu=unless_empty(lower_as(svd_by_polar)),
    ),
}
