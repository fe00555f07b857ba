"""Arrangements of arrays with an extended dtype, on their physical form."""

from collections.abc import Callable
from typing import Any, Final

from tans_core import Primitive, ShapedArray
from tans_lax.shape import broadcast_in_dim_p, reshape_p, rev_p, squeeze_p, transpose_p

type Avals = tuple[ShapedArray, ...]
type Dims = tuple[int, ...]
type Params = dict[str, Any]


def _inner(logical: Avals, physical: Avals) -> Dims:
    return physical[0].shape[logical[0].ndim :]


def _broadcast_in_dim_to_lo(
    logical: Avals, physical: Avals, *, shape: Dims, broadcast_dimensions: Dims, sharding: Any
) -> Params:
    inner = _inner(logical, physical)
    last = range(len(shape), len(shape) + len(inner))
    return {
        "shape": shape + inner,
        "broadcast_dimensions": (*broadcast_dimensions, *last),
        "sharding": sharding,
    }


def _reshape_to_lo(
    logical: Avals, physical: Avals, *, new_sizes: Dims, dimensions: Dims | None, sharding: Any
) -> Params:
    if dimensions is not None:
        dimensions = (*dimensions, *range(logical[0].ndim, physical[0].ndim))
    sizes = new_sizes + _inner(logical, physical)
    return {"new_sizes": sizes, "dimensions": dimensions, "sharding": sharding}


def _transpose_to_lo(logical: Avals, physical: Avals, *, permutation: Dims) -> Params:
    return {"permutation": (*permutation, *range(logical[0].ndim, physical[0].ndim))}


def _same_dimensions(logical: Avals, physical: Avals, *, dimensions: Dims) -> Params:
    del logical, physical
    return {"dimensions": dimensions}


TO_LO: Final[dict[Primitive, Callable[..., Params]]] = {
    broadcast_in_dim_p: _broadcast_in_dim_to_lo,
    reshape_p: _reshape_to_lo,
    transpose_p: _transpose_to_lo,
    squeeze_p: _same_dimensions,
    rev_p: _same_dimensions,
}
