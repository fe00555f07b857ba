"""Type rules of operations that join, part and pad arrays."""

from collections.abc import Callable
from typing import Any, Final

from tans_core import Primitive, ShapedArray
from tans_lax.concatenation import concatenate_p, pad_p, split_p, stack_p, tile_p, unstack_p
from tans_lax.elementwise.signatures import check_same_dtype, describe
from tans_lax.windows.padding import dilated_size

type Dims = tuple[int, ...]
type Config = tuple[tuple[int, int, int], ...]


def _concatenate_type(*avals: ShapedArray, dimension: int) -> ShapedArray:
    check_same_dtype("concatenate", avals, "concatenate")
    first = avals[0]
    listed = ", ".join(map(describe, avals))
    if not 0 <= dimension < first.ndim:
        raise TypeError(
            f"lax.concatenate: given dimension {dimension} for operands {listed}; expected one "
            f"from 0 to {first.ndim - 1}. Use lax.stack for a new dimension."
        )
    rests = {aval.shape[:dimension] + aval.shape[dimension + 1 :] for aval in avals}
    if len(rests) > 1 or any(aval.ndim != first.ndim for aval in avals):
        raise TypeError(
            f"lax.concatenate: given operands {listed} and dimension {dimension}; expected equal "
            "sizes along all other dimensions. Reshape or slice the operands first."
        )
    shape = list(first.shape)
    shape[dimension] = sum(aval.shape[dimension] for aval in avals)
    return first.update(shape=tuple(shape), weak_type=all(aval.weak_type for aval in avals))


def _split_type(x: ShapedArray, *, sizes: Dims, axis: int) -> tuple[ShapedArray, ...]:
    if sum(sizes) != x.shape[axis] or any(size < 0 for size in sizes):
        raise ValueError(
            f"lax.split: given sizes {sizes} for dimension {axis} of an operand of type "
            f"{describe(x)}; expected sizes of at least 0 that add up to {x.shape[axis]}."
            " Check the sizes."
        )
    before, after = x.shape[:axis], x.shape[axis + 1 :]
    return tuple(x.update(shape=(*before, size, *after)) for size in sizes)


def _pad_type(x: ShapedArray, value: ShapedArray, *, padding_config: Config) -> ShapedArray:
    check_same_dtype("pad", (x, value), "pad")
    if value.ndim:
        raise TypeError(
            f"lax.pad: given a padding_value of type {describe(value)}; expected a scalar. "
            "Concatenate to add different values."
        )
    if len(padding_config) != x.ndim or any(inner < 0 for _, _, inner in padding_config):
        raise ValueError(
            f"lax.pad: given padding_config {padding_config} for an operand of type {describe(x)}; "
            "expected (low, high, interior) per dimension with interior of at least 0. "
            "Use (0, 0, 0) for dimensions to leave alone."
        )
    shape = tuple(
        low + high + dilated_size(size, inner + 1)
        for size, (low, high, inner) in zip(x.shape, padding_config, strict=True)
    )
    if any(size < 0 for size in shape):
        raise ValueError(
            f"lax.pad: given padding_config {padding_config} for an operand of type {describe(x)}, "
            f"the result would have shape {shape}; expected sizes of at least 0. Cut off less."
        )
    return x.update(shape=shape, weak_type=x.weak_type and value.weak_type)


def _stack_type(*avals: ShapedArray, axis: int) -> ShapedArray:
    check_same_dtype("stack", avals, "stack")
    first = avals[0]
    if any(aval.shape != first.shape for aval in avals):
        raise ValueError(
            f"lax.stack: given operands {', '.join(map(describe, avals))}; expected equal shapes. "
            "Broadcast the operands first."
        )
    shape = (*first.shape[:axis], len(avals), *first.shape[axis:])
    return first.update(shape=shape, weak_type=all(aval.weak_type for aval in avals))


def _unstack_type(x: ShapedArray, *, axis: int) -> tuple[ShapedArray, ...]:
    return (x.update(shape=x.shape[:axis] + x.shape[axis + 1 :]),) * x.shape[axis]


def _tile_type(x: ShapedArray, *, reps: Dims) -> ShapedArray:
    if len(reps) != x.ndim or any(n < 0 for n in reps):
        raise TypeError(
            f"lax.tile: given reps {reps} for an operand of type {describe(x)}; expected one "
            "number of at least 0 per dimension. Use jnp.tile to add dimensions."
        )
    return x.update(shape=tuple(n * size for n, size in zip(reps, x.shape, strict=True)))


TYPES: Final[dict[Primitive, Callable[..., Any]]] = {
    concatenate_p: _concatenate_type,
    split_p: _split_type,
    pad_p: _pad_type,
    stack_p: _stack_type,
    unstack_p: _unstack_type,
    tile_p: _tile_type,
}
