"""Transposes of operations that take a part of an array: they can add to that part of a ref."""

from collections.abc import Callable, Sequence
from typing import Any

from tans_core.accumulators import AccumRule, GradAccum
from tans_core.refs import Index, Pick, Span
from tans_core.zeros import LinearInput, is_zero
from tans_lax.gather_scatter.dimension_numbers import GatherDimensionNumbers, GatherScatterMode
from tans_lax.mesh import reshard_to_type

type Value = Any
type Part = tuple[tuple[Index, ...], tuple[Value, ...]]


def part_transpose(
    expand: Callable[..., Sequence[Value]], part: Callable[..., Part | None]
) -> AccumRule:
    """Make the transpose rule of an operation that takes a part of its first operand.

    Args:
      expand: the ordinary transpose rule; the first result is a cotangent of the whole operand.
      part: ``part(shape, *other_operands, **params)`` says which part of an operand of that shape
        is taken, as refs index it; None when refs can't.
    """

    def rule(_: Any, ct: Value, operand: GradAccum, *others: Value, **params: Any) -> None:
        if is_zero(ct):
            return
        aval: Any = operand.aval

        def whole(ct: Value) -> Value:
            mark = LinearInput(aval.to_cotangent())
            return reshard_to_type(expand(ct, mark, *others, **params)[0], aval)

        where = part(aval.shape, *others, **params) if operand.kind == "ref" else None
        if where is None:
            operand.accum(whole(ct))
        else:
            operand.accum_at(where, ct, whole)

    return AccumRule(rule)


def slice_part(
    shape: Sequence[int],
    *,
    start_indices: Sequence[int],
    limit_indices: Sequence[int],
    strides: Sequence[int] | None,
) -> Part:
    """Return the part that a slice takes."""
    steps = (1,) * len(shape) if strides is None else strides
    spans = [
        Span(start, -(-(limit - start) // step), step)
        for start, limit, step in zip(start_indices, limit_indices, steps, strict=True)
    ]
    return (Index(tuple(spans)),), ()


def dynamic_slice_part(shape: Sequence[int], *starts: Value, slice_sizes: Sequence[int]) -> Part:
    """Return the part that a dynamic slice takes."""
    whole = [size == n for size, n in zip(slice_sizes, shape, strict=True)]
    spans = [
        Span(0 if all_of_it else None, size)
        for all_of_it, size in zip(whole, slice_sizes, strict=True)
    ]
    moving = tuple(s for s, all_of_it in zip(starts, whole, strict=True) if not all_of_it)
    return (Index(tuple(spans)),), moving


def gather_part(
    shape: Sequence[int],
    indices: Value,
    *,
    dimension_numbers: GatherDimensionNumbers,
    mode: GatherScatterMode,
    slice_sizes: Sequence[int],
    columns: Callable[[Value], Sequence[Value]],
    **_: Any,
) -> Part | None:
    """Return the part that a gather takes, if it is what NumPy's indexing by arrays means.

    Args:
      shape: that of the operand.
      indices: integers of shape ``[..., n]``.
      dimension_numbers: those of the gather.
      mode: that of the gather.
      slice_sizes: those of the gather.
      columns: takes the components of `indices` apart.
      **_: other params.
    """
    numbers = dimension_numbers
    picked = numbers.collapsed_slice_dims
    if (
        mode not in (GatherScatterMode.FILL_OR_DROP, GatherScatterMode.PROMISE_IN_BOUNDS)
        or numbers.operand_batching_dims
        or sorted(numbers.start_index_map) != sorted(picked)
        or any(s != n for i, (s, n) in enumerate(zip(slice_sizes, shape, strict=True))
               if i not in picked)
        or not picked
    ):  # fmt: skip
        return None
    count = len(indices.shape) - 1
    adjacent = picked[-1] - picked[0] + 1 == len(picked)
    lead = picked[0] if adjacent else 0
    windows = len(shape) - len(picked)
    if numbers.offset_dims != (*range(lead), *range(lead + count, windows + count)):
        return None
    entries = [Pick(None) if i in picked else Span(0, n) for i, n in enumerate(shape)]
    found = dict(zip(numbers.start_index_map, columns(indices), strict=True))
    return (Index(tuple(entries)),), tuple(found[i] for i in sorted(picked))
