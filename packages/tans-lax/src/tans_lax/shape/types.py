"""Type rules of operations that arrange elements anew."""

from collections.abc import Callable
from itertools import pairwise
from math import prod
from typing import Any, Final

from tans_core import Primitive, ShapedArray
from tans_lax.elementwise.signatures import describe
from tans_lax.shape import broadcast_in_dim_p, reshape_p, rev_p, squeeze_p, transpose_p

type Dims = tuple[int, ...]


def _broadcast_in_dim_type(
    x: ShapedArray, *, shape: Dims, broadcast_dimensions: Dims, sharding: Any
) -> ShapedArray:
    del sharding
    check_sizes("broadcast_in_dim", "shape", shape)
    dims = broadcast_dimensions
    increasing = all(a < b for a, b in pairwise(dims))
    inside = all(0 <= dim < len(shape) for dim in dims)
    if len(dims) != x.ndim or not inside or not increasing:
        raise TypeError(
            f"lax.broadcast_in_dim: given broadcast_dimensions {dims} for an operand of type "
            f"{describe(x)} and shape {shape}; expected one place in the shape per dimension of "
            "the operand, from 0 on, none twice. Check which dimension of the operand goes where."
        )
    if any(size not in (1, shape[dim]) for size, dim in zip(x.shape, dims, strict=True)):
        raise TypeError(
            f"lax.broadcast_in_dim: given an operand of type {describe(x)}, shape {shape} and "
            f"broadcast_dimensions {dims}; expected sizes of 1 or of the shape at these places. "
            "Check which dimension of the operand goes where."
        )
    return x if x.shape == shape else x.update(shape=shape)


def check_sizes(name: str, what: str, shape: Dims) -> None:
    """Raise unless all sizes are at least 0.

    Raises:
      TypeError: one is negative.
    """
    if any(size < 0 for size in shape):
        raise TypeError(
            f"lax.{name}: given {what} {shape}; expected sizes of at least 0. No size is inferred "
            "from -1 here; jnp.reshape does that."
        )


def _reshape_type(
    x: ShapedArray, *, new_sizes: Dims, dimensions: Dims | None, sharding: Any
) -> ShapedArray:
    del sharding
    check_sizes("reshape", "new_sizes", new_sizes)
    if prod(new_sizes) != x.size:
        raise TypeError(
            f"lax.reshape: given new_sizes {new_sizes} ({prod(new_sizes)} elements) for an operand "
            f"of type {describe(x)} ({x.size} elements); expected equal numbers. Check the sizes."
        )
    if dimensions is not None and sorted(dimensions) != list(range(x.ndim)):
        raise TypeError(
            f"lax.reshape: given dimensions {dimensions} for an operand of type {describe(x)}; "
            f"expected a permutation of {tuple(range(x.ndim))}. Name each dimension once."
        )
    return x.update(shape=new_sizes)


def _transpose_type(x: ShapedArray, *, permutation: Dims) -> ShapedArray:
    if sorted(permutation) != list(range(x.ndim)):
        raise TypeError(
            f"lax.transpose: given permutation {permutation} for an operand of type {describe(x)}; "
            f"expected a permutation of {tuple(range(x.ndim))}. Name each dimension once."
        )
    return x.update(shape=tuple(x.shape[i] for i in permutation))


def _squeeze_type(x: ShapedArray, *, dimensions: Dims) -> ShapedArray:
    if any(x.shape[dim] != 1 for dim in dimensions):
        raise ValueError(
            f"lax.squeeze: given dimensions {dimensions} of an operand of type {describe(x)}; "
            "expected dimensions of size 1. Use lax.index_in_dim to take one slice."
        )
    return x.update(shape=tuple(n for i, n in enumerate(x.shape) if i not in dimensions))


def _rev_type(x: ShapedArray, *, dimensions: Dims) -> ShapedArray:
    if len(set(dimensions)) < len(dimensions) or any(not 0 <= d < x.ndim for d in dimensions):
        raise TypeError(
            f"lax.rev: given dimensions {dimensions} for an operand of type {describe(x)}; "
            f"expected distinct dimensions from 0 to {x.ndim - 1}. Count from the front."
        )
    return x


TYPES: Final[dict[Primitive, Callable[..., ShapedArray]]] = {
    broadcast_in_dim_p: _broadcast_in_dim_type,
    reshape_p: _reshape_type,
    transpose_p: _transpose_type,
    squeeze_p: _squeeze_type,
    rev_p: _rev_type,
}
