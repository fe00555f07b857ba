"""Derivatives of operations that join, part and pad arrays: all are linear."""

from typing import Any, Final

from tans_core import LinearInput, Primitive, Zero, typeof
from tans_lax.concatenation import (
    concatenate,
    concatenate_p,
    pad,
    pad_p,
    split,
    split_p,
    stack,
    stack_p,
    tile_p,
    unstack,
    unstack_p,
)
from tans_lax.elementwise.arithmetic import sub
from tans_lax.reductions import reduce_sum
from tans_lax.rows import Rule, instantiate_zeros, linear_jvp, linear_transpose_of
from tans_lax.shape import reshape
from tans_lax.slicing import slice

type Value = Any  # an array, a Python scalar or a tracer; in cotangents also a Zero
type Dims = tuple[int, ...]
type Config = tuple[tuple[int, int, int], ...]


def _shape_of(x: Value) -> Dims:
    return x.aval.shape if type(x) is LinearInput else typeof(x).shape


def _concatenate_transpose(ct: Value, *operands: Value, dimension: int) -> list[Value]:
    sizes = [_shape_of(x)[dimension] for x in operands]
    parts = split(ct, sizes, dimension)
    return [
        part if type(x) is LinearInput else None for part, x in zip(parts, operands, strict=True)
    ]


def _split_transpose(cts: list[Value], x: Value, *, sizes: Dims, axis: int) -> tuple[Value]:
    if all(type(ct) is Zero for ct in cts):
        return (Zero(x.aval),)
    return (concatenate([instantiate_zeros(ct) for ct in cts], axis),)


def _pad_transpose(
    ct: Value, x: Value, value: Value, *, padding_config: Config
) -> tuple[Value, Value]:
    # The inverse padding cuts off what was added outside and puts back, as zeros, what was cut
    # off; then a strided slice takes the elements without those put between them.
    inverse = tuple((-low, -high, 0) for low, high, _ in padding_config)
    whole = pad(ct, 0.0 if typeof(ct).dtype.kind != "c" else 0j, inverse)
    strides = tuple(inner + 1 for _, _, inner in padding_config)
    shape = typeof(whole).shape
    x_bar = (
        slice(whole, (0,) * len(shape), shape, strides) if any(s > 1 for s in strides) else whole
    )
    total = None
    if type(value) is LinearInput:
        every = tuple(range(len(shape)))
        total = sub(reduce_sum(ct, every), reduce_sum(x_bar, every))
    return (x_bar if type(x) is LinearInput else None, total)


def _stack_transpose(ct: Value, *operands: Value, axis: int) -> list[Value]:
    parts = unstack(ct, axis)
    return [
        part if type(x) is LinearInput else None for part, x in zip(parts, operands, strict=True)
    ]


def _unstack_transpose(cts: list[Value], x: Value, *, axis: int) -> tuple[Value]:
    if all(type(ct) is Zero for ct in cts):
        return (Zero(x.aval),)
    return (stack([instantiate_zeros(ct) for ct in cts], axis),)


def _tile_transpose(ct: Value, x_aval: Any, *, reps: Dims) -> Value:
    apart = [n for pair in zip(reps, x_aval.shape, strict=True) for n in pair]
    return reduce_sum(reshape(ct, apart), tuple(range(0, len(apart), 2)))


JVP: Final[dict[Primitive, Rule]] = {
    p: linear_jvp(p) for p in (concatenate_p, split_p, pad_p, stack_p, unstack_p, tile_p)
}

TRANSPOSE: Final[dict[Primitive, Rule]] = {
    concatenate_p: _concatenate_transpose,
    split_p: _split_transpose,
    pad_p: _pad_transpose,
    stack_p: _stack_transpose,
    unstack_p: _unstack_transpose,
    tile_p: linear_transpose_of(_tile_transpose),
}
