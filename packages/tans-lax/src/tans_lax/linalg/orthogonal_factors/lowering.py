"""QR factors by LAPACK, cuSOLVER or the TPU compiler: first reflectors, then their product."""

from typing import Any, Final

import numpy as np

import tans_lax as lax
from tans_core import Primitive, ShapedArray, typeof
from tans_lax.linalg.checks import with_shape
from tans_lax.linalg.custom_calls import ffi_call, gpu, lapack, unless_empty
from tans_lax.linalg.matrices import adjoint, leading, lower_part, matmul, upper_part
from tans_lax.linalg.orthogonal_factors import geqrf_p, householder_product_p, ormqr_p, qr_p
from tans_xla import hlo, hlo_parts
from tans_xla.lowering import ByPlatform, lower_as
from tans_xla.sizes import min_size

type IrValue = Any
type Value = Any

_GPUS: Final = frozenset(("cuda", "rocm"))


def _reflectors(
    ctx: Any, x: IrValue, pivoting: bool, use_magma: bool | None
) -> tuple[IrValue, IrValue, IrValue | None]:
    """Return the packed reflectors and triangle, the factors, and the permutation if any."""
    (aval,) = ctx.avals_in
    taus_aval = with_shape(aval, min_size(*aval.shape[-2:]))
    if set(ctx.platforms) == {"tpu"}:
        if pivoting:
            raise NotImplementedError(
                "qr: given pivoting=True on a TPU, expected False there. Factor on the CPU, or "
                "without pivoting."
            )
        packed, taus = _compiler_call("Qr", [x], [aval, taus_aval])
        return packed, taus, None
    batch = aval.ndim - 2
    if pivoting:
        return _pivoted(ctx, x, aval, taus_aval, use_magma)
    on_gpu = set(ctx.platforms) <= _GPUS
    target = gpu("solver", "geqrf_ffi", ctx.platforms) if on_gpu else lapack("geqrf", aval.dtype)
    packed, taus = ffi_call(target, [x], [aval], [aval, taus_aval], batch, aliases={0: 0})
    return packed, taus, None


def _pivoted(
    ctx: Any, x: IrValue, aval: ShapedArray, taus_aval: ShapedArray, use_magma: bool | None
) -> tuple[IrValue, IrValue, IrValue]:
    order_aval = with_shape(aval, aval.shape[-1], dtype=np.int32)
    config: dict[str, Any] = {}
    if set(ctx.platforms) <= _GPUS:
        target = gpu("hybrid", "geqp3", ctx.platforms)
        choice = {None: "auto", True: "on", False: "off"}[use_magma]
        config["magma"] = hlo.string(choice)
    else:
        target = lapack("geqp3", aval.dtype)
    free = hlo.zeros(order_aval)  # zero: the column may be moved
    packed, order, taus = ffi_call(
        target,
        [x, free],
        [aval, order_aval],
        [aval, order_aval, taus_aval],
        aval.ndim - 2,
        config,
        {0: 0, 1: 1},
    )
    order = hlo.op1("stablehlo.subtract", order.type, (order, hlo.full(order_aval, 1)))
    return packed, taus, order


def _compiler_call(
    target: str, operands: list[IrValue], avals_out: list[ShapedArray]
) -> list[IrValue]:
    attributes = {"call_target_name": hlo.string(target), "backend_config": hlo.string("")}
    return hlo_parts.custom_call(avals_out, operands, attributes)


def _product(
    ctx: Any, a: IrValue, taus: IrValue, a_aval: ShapedArray, taus_aval: ShapedArray
) -> IrValue:
    if set(ctx.platforms) == {"tpu"}:
        target = "ProductOfElementaryHouseholderReflectors"
        return _compiler_call(target, [a, taus], [a_aval])[0]
    if set(ctx.platforms) <= _GPUS:
        target = gpu("solver", "orgqr_ffi", ctx.platforms)
    else:
        target = lapack("orgqr/ungqr", a_aval.dtype)
    avals_in, batch = [a_aval, taus_aval], a_aval.ndim - 2
    return ffi_call(target, [a, taus], avals_in, [a_aval], batch, aliases={0: 0})[0]


def _qr_lower(
    ctx: Any, x: IrValue, *, pivoting: bool, full_matrices: bool, use_magma: bool | None
) -> list[IrValue]:
    del full_matrices
    (aval,) = ctx.avals_in
    q_aval = ctx.avals_out[0]
    m, n = aval.shape[-2:]
    k = q_aval.shape[-1]
    packed, taus, order = _reflectors(ctx, x, pivoting, use_magma)

    def parts(packed: Value) -> list[Value]:
        upper = upper_part(leading(packed, k, -2))
        if k == min_size(m, n):
            return [leading(packed, k, -1), upper]
        wider = [(0, 0, 0)] * (aval.ndim - 1) + [(0, k - n, 0)]
        return [lax.pad(packed, aval.dtype.type(0), wider), upper]

    vectors, upper = ctx.program(parts, [aval], [packed])
    q = _product(ctx, vectors, taus, q_aval, with_shape(aval, min_size(m, n)))
    return [q, upper] if order is None else [q, upper, order]


def _geqrf_lower(ctx: Any, x: IrValue) -> list[IrValue]:
    packed, taus, _ = _reflectors(ctx, x, pivoting=False, use_magma=None)
    return [packed, taus]


def _householder_product_lower(ctx: Any, a: IrValue, taus: IrValue) -> IrValue:
    return _product(ctx, a, taus, *ctx.avals_in)


def _ormqr_call(
    ctx: Any, a: IrValue, taus: IrValue, c: IrValue, *, left: bool, transpose: bool
) -> IrValue:
    aval = ctx.avals_in[0]
    if set(ctx.platforms) <= _GPUS:
        target = gpu("solver", "ormqr_ffi", ctx.platforms)
    else:
        target = lapack("ormqr/unmqr", aval.dtype)
    config = {"left": hlo.boolean(left), "transpose": hlo.boolean(transpose)}
    operands, batch = [a, taus, c], aval.ndim - 2
    return ffi_call(target, operands, ctx.avals_in, ctx.avals_out, batch, config, {0: 2})[0]


def _apply_one_by_one(a: Value, taus: Value, c: Value, *, left: bool, transpose: bool) -> Value:
    """Apply ``H_1 ... H_k`` (or the adjoints in the opposite order) reflector by reflector."""
    count = typeof(taus).shape[-1]
    axis = typeof(a).ndim - 1
    if typeof(a).size == 0 or typeof(c).size == 0:
        return c
    vectors = lower_part(a, -1)

    def apply(i: Value, c: Value) -> Value:
        i = i if transpose == left else lax.sub(count - 1, i)
        v = lax.dynamic_index_in_dim(vectors, i, axis)
        rows = lax.broadcasted_iota(np.dtype("int32"), typeof(v).shape, axis - 1)
        v = lax.select(lax.eq(rows, lax.full_like(rows, i)), lax.full_like(v, 1), v)
        tau = lax.expand_dims(lax.dynamic_index_in_dim(taus, i, axis - 1), (axis,))
        tau = lax.conj(tau) if transpose and typeof(tau).dtype.kind == "c" else tau
        if left:
            return lax.sub(c, matmul(v, matmul(tau, matmul(adjoint(v), c))))
        return lax.sub(c, matmul(matmul(matmul(c, v), tau), adjoint(v)))

    return lax.fori_loop(0, count, apply, c)


_PLATFORMS: Final = ("cpu", "cuda", "rocm", "tpu")

LOWERING: Final[dict[Primitive, Any]] = {
    qr_p: ByPlatform(**dict.fromkeys(_PLATFORMS, unless_empty(_qr_lower))),
    geqrf_p: ByPlatform(**dict.fromkeys(_PLATFORMS, unless_empty(_geqrf_lower))),
    householder_product_p: ByPlatform(
        **dict.fromkeys(_PLATFORMS, unless_empty(_householder_product_lower))
    ),
    ormqr_p: ByPlatform(
        default=lower_as(_apply_one_by_one),
        cpu=unless_empty(_ormqr_call),
        cuda=unless_empty(_ormqr_call),
        rocm=unless_empty(_ormqr_call),
    ),
}
