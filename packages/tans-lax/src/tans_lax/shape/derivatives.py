"""Derivatives of operations that arrange elements anew: all are linear."""

from typing import Any, Final

from tans_core import Primitive
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
    return reshape(reduce_sum(ct, axes) if axes else ct, x_aval.shape)


def _reshape_transpose(
    ct: Value, x_aval: Any, *, new_sizes: Dims, dimensions: Dims | None, sharding: Any
) -> Value:
    del new_sizes, sharding
    if dimensions is None:
        return reshape(ct, x_aval.shape)
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
