"""Derivatives of operations that arrange elements anew: all are linear."""

from typing import Any, Final

from tans_core import Primitive, typeof
from tans_core.explicit_mode import spec_of
from tans_core.sharding import named_sharding
from tans_lax.mesh.specs import mesh_of, of_cotangent
from tans_lax.reductions import reduce_sum
from tans_lax.rows import Rule, linear_jvp, linear_transpose_of
from tans_lax.shape import (
    broadcast_in_dim_p,
    reshape,
    reshape_p,
    rev,
    rev_p,
    squeeze_p,
    transpose,
    transpose_p,
)

type Value = Any  # an array, a Python scalar or a tracer
type Dims = tuple[int, ...]


def _broadcast_in_dim_transpose(
    ct: Value, x_aval: Any, *, shape: Dims, broadcast_dimensions: Dims, sharding: Any
) -> Value:
    """Sum over the new dimensions and over those that were repeated."""
    del sharding
    kept = {
        dim
        for dim, size in zip(broadcast_dimensions, x_aval.shape, strict=True)
        if shape[dim] == size
    }
    axes = tuple(dim for dim in range(len(shape)) if dim not in kept)
    return reshape(_summed(ct, axes, x_aval) if axes else ct, x_aval.shape)


def _summed(ct: Value, axes: Dims, x_aval: Any) -> Value:
    """Sum a cotangent; where the operand was reduced, the addends of devices are kept."""
    own, wanted = spec_of(typeof(ct)), spec_of(x_aval.to_cotangent())
    if wanted.unreduced <= own.unreduced:
        return reduce_sum(ct, axes)
    entries = [e for dim, e in enumerate(own.partitions) if dim not in axes]
    spec = wanted.update(partitions=tuple(entries))
    return reduce_sum(ct, axes, out_sharding=named_sharding(mesh_of(typeof(ct), x_aval), spec))


def _reshape_transpose(
    ct: Value, x_aval: Any, *, new_sizes: Dims, dimensions: Dims | None, sharding: Any
) -> Value:
    del new_sizes, sharding
    if dimensions is None:
        target = of_cotangent(x_aval.to_cotangent(), typeof(ct))
        return reshape(ct, x_aval.shape, out_sharding=target)
    permuted = reshape(ct, tuple(x_aval.shape[i] for i in dimensions))
    return transpose(permuted, inverse(dimensions))


def _transpose_transpose(ct: Value, x_aval: Any, *, permutation: Dims) -> Value:
    return transpose(ct, inverse(permutation))


def inverse(permutation: Dims) -> Dims:
    """Return the permutation that undoes another one."""
    out = [0] * len(permutation)
    for place, source in enumerate(permutation):
        out[source] = place
    return tuple(out)


def _squeeze_transpose(ct: Value, x_aval: Any, *, dimensions: Dims) -> Value:
    return reshape(ct, x_aval.shape)


def _rev_transpose(ct: Value, x_aval: Any, *, dimensions: Dims) -> Value:
    return rev(ct, dimensions)


JVP: Final[dict[Primitive, Rule]] = {
    p: linear_jvp(p) for p in (broadcast_in_dim_p, reshape_p, transpose_p, squeeze_p, rev_p)
}

TRANSPOSE: Final[dict[Primitive, Rule]] = {
    broadcast_in_dim_p: linear_transpose_of(_broadcast_in_dim_transpose),
    reshape_p: linear_transpose_of(_reshape_transpose),
    transpose_p: linear_transpose_of(_transpose_transpose),
    squeeze_p: linear_transpose_of(_squeeze_transpose),
    rev_p: linear_transpose_of(_rev_transpose),
}
