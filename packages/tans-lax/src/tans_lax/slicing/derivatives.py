"""Derivatives of slices: linear in the array, constant in the indices."""

from collections.abc import Callable
from typing import Any, Final

import tans_lax as lax
from tans_core import Primitive, ShapedArray, Zero, is_linear_input, typeof, zero_tangent
from tans_lax.parts import dynamic_slice_part, part_transpose, slice_part
from tans_lax.rows import (
    instantiate_zeros,
    linear_jvp,
    linear_transpose_of,
    zeros_like_aval,
)
from tans_lax.slicing import dynamic_slice_p, dynamic_update_slice_p, slice_p
from tans_lax.windows.padding import dilated_size

type Value = Any  # an array, a Python scalar, a tracer or a mark in its place


def _slice_transpose(
    ct: Value,
    x_aval: ShapedArray,
    *,
    start_indices: tuple[int, ...],
    limit_indices: tuple[int, ...],
    strides: tuple[int, ...] | None,
) -> Value:
    # Element k of the slice is element start + k * stride: pad with stride - 1 zeros between.
    steps = (1,) * len(start_indices) if strides is None else strides
    config = []
    for start, step, n, size in zip(
        start_indices, steps, typeof(ct).shape, x_aval.shape, strict=True
    ):
        config.append((start, size - start - dilated_size(n, step), step - 1))
    return lax.pad(ct, x_aval.dtype.type(0), config)


def _dynamic_slice_jvp(
    primals: tuple[Value, ...], tangents: tuple[Value, ...], *, slice_sizes: tuple[int, ...]
) -> tuple[Value, Value]:
    operand, *indices = primals
    out = _window(operand, indices, slice_sizes)
    if type(tangents[0]) is Zero:
        return out, zero_tangent(typeof(out))
    return out, _window(tangents[0], indices, slice_sizes)


def _dynamic_slice_transpose(
    ct: Value, operand: Value, *indices: Value, slice_sizes: tuple[int, ...]
) -> tuple[Value, ...]:
    operand_bar = _replace(zeros_like_aval(operand.aval.to_cotangent()), ct, indices)
    return (operand_bar, *[None] * len(indices))


def _dynamic_update_slice_jvp(
    primals: tuple[Value, ...], tangents: tuple[Value, ...]
) -> tuple[Value, Value]:
    operand, update, *indices = primals
    operand_dot, update_dot, *_ = tangents
    out = _replace(operand, update, indices)
    if type(operand_dot) is Zero and type(update_dot) is Zero:
        return out, zero_tangent(typeof(out))
    operand_dot, update_dot = instantiate_zeros(operand_dot), instantiate_zeros(update_dot)
    return out, _replace(operand_dot, update_dot, indices)


def _dynamic_update_slice_transpose(
    ct: Value, operand: Value, update: Value, *indices: Value
) -> tuple[Value, ...]:
    operand_bar = update_bar = None
    update_aval = update.aval if is_linear_input(update) else typeof(update)
    if is_linear_input(operand):
        operand_bar = _replace(ct, zeros_like_aval(update_aval.to_cotangent()), indices)
    if is_linear_input(update):
        update_bar = _window(ct, indices, update_aval.shape)
    return (operand_bar, update_bar, *[None] * len(indices))


def _window(x: Value, indices: Any, sizes: tuple[int, ...]) -> Value:
    return lax.dynamic_slice(x, indices, sizes, allow_negative_indices=False)


def _replace(x: Value, update: Value, indices: Any) -> Value:
    return lax.dynamic_update_slice(x, update, indices, allow_negative_indices=False)


JVP: Final[dict[Primitive, Callable[..., Any]]] = {
    slice_p: linear_jvp(slice_p),
    dynamic_slice_p: _dynamic_slice_jvp,
    dynamic_update_slice_p: _dynamic_update_slice_jvp,
}
TRANSPOSE: Final[dict[Primitive, Callable[..., Any]]] = {
    slice_p: part_transpose(linear_transpose_of(_slice_transpose), slice_part),
    dynamic_slice_p: part_transpose(_dynamic_slice_transpose, dynamic_slice_part),
    dynamic_update_slice_p: _dynamic_update_slice_transpose,
}
