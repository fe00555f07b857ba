"""Chains of transforms for all lanes of a mapped axis at once.

The chain of one lane is rewritten step by step; `lane` is where the mapped axis stands in what has
been selected so far, or None while nothing differs between lanes.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

import tans_lax as lax
from tans_core.context import AxisData
from tans_core.refs import Bitcast, Index, Pick, Reshape, Span, Transform, Transforms, Transpose
from tans_core.values import typeof
from tans_lax.rows import batch_to_front
from tans_refs.parts import part_type, pick_position, pick_shape, split_leaves
from tans_refs.values import wrapped

type Value = Any
type Dim = int | None
type Label = tuple[Any, ...]

_LANE: Label = ("lane",)


def with_lanes(
    axis: AxisData,
    element: Any,
    lane: Dim,
    transforms: Transforms,
    leaves: Sequence[Value],
    dims: Sequence[Dim],
) -> tuple[Transforms, list[Value], Any]:
    """Return the chain for all lanes, its dynamic operands, and where the lanes are in the part.

    Args:
      axis: the mapped axis.
      element: type of one lane's value.
      lane: dimension of the lanes in the ref, or None.
      transforms: the chain of one lane.
      leaves: its dynamic operands, whole.
      dims: their mapped dimensions.
    """
    out: list[Transform] = []
    new_leaves: list[Value] = []
    own_leaves, own_dims = split_leaves(transforms, leaves), split_leaves(transforms, dims)
    for t, own, at in zip(transforms, own_leaves, own_dims, strict=True):
        index_avals = [_element_type(x, d) for x, d in zip(own, at, strict=True)]
        picked = pick_shape(t, index_avals) if isinstance(t, Index) else ()
        if isinstance(t, Index) and any(d is not None for d in at):
            steps, given, lane = _gathered(axis, t, own, at, lane, element, picked)
            new_leaves += given
        else:
            steps, lane = _same(axis, t, lane, element, picked)
            new_leaves += own
        out += steps
        element = part_type(element, (t,), index_avals)
    return tuple(out), new_leaves, lane


def _element_type(x: Value, d: Dim) -> Any:
    aval: Any = typeof(x)
    return aval if d is None else aval.update(shape=(*aval.shape[:d], *aval.shape[d + 1 :]))


def _same(
    axis: AxisData, t: Transform, lane: Dim, element: Any, picked: tuple[int, ...]
) -> tuple[list[Transform], Dim]:
    """Return the steps of a transform that is the same in all lanes."""
    if lane is None or isinstance(t, Bitcast):
        return [t], lane
    if isinstance(t, Index):
        entries = list(t.entries)
        entries.insert(lane, Span(0, axis.size))
        labels: list[Label] = [("s", d) for d in range(len(t.entries))]
        labels.insert(lane, _LANE)
        grid: list[Label] = [("p", i) for i in range(len(picked))]
        return _ordered(t, Index(tuple(entries)), labels, grid, len(picked))
    if isinstance(t, Reshape):
        front = [lane, *(d for d in range(element.ndim + 1) if d != lane)]
        move: list[Transform] = [Transpose(tuple(front))] if lane else []
        return [*move, Reshape((axis.size, *t.shape))], 0
    rest = [d + (d >= lane) for d in t.permutation]
    return [Transpose((lane, *rest))], 0


def _gathered(
    axis: AxisData, t: Index, leaves: Sequence[Value], dims: Sequence[Dim], lane: Dim,
    element: Any, picked: tuple[int, ...],
) -> tuple[list[Transform], list[Value], Any]:  # fmt: skip
    """Return the steps of an index that differs between lanes: integers for every lane.

    Slices whose start differs become integers too. The grid of integers has the dimensions
    ``[lanes, *picked, *slices]``.
    """
    if not picked and all(isinstance(e, Pick) or e.stride == 1 or e.size < 2 for e in t.entries):
        leaves = _inside(t, leaves, element.shape)
    found = iter(zip(leaves, dims, strict=True))
    given = [next(found) if e[0] is None else (e[0], None) for e in t.entries]
    moving = [
        d for d, (e, (_, dim)) in enumerate(zip(t.entries, given, strict=True))
        if isinstance(e, Span) and dim is not None
    ]  # fmt: skip
    first = 1 + len(picked)
    rank = first + len(moving)
    entries: list[Span | Pick] = []
    new_leaves: list[list[Value]] = []
    for d, (e, (x, dim)) in enumerate(zip(t.entries, given, strict=True)):
        is_moving = d in moving
        entries.append(Pick(None) if is_moving else e)
        if is_moving:
            assert isinstance(e, Span)
            rows = _starts(axis, e, batch_to_front(axis, x, dim))
            new_leaves.append([_placed(rows, rank, (0, first + moving.index(d)))])
        elif isinstance(e, Pick) and e.index is None:
            ndim = typeof(x).ndim - (dim is not None)
            at = range(first - ndim, first)
            x = x if dim is None else batch_to_front(axis, x, dim)  # noqa: PLW2901
            new_leaves.append([_placed(x, rank, (*at,) if dim is None else (0, *at))])
        else:
            new_leaves.append([x] if e[0] is None else [])
    labels: list[Label] = [("s", d) for d in range(len(entries))]
    if lane is not None:
        entries.insert(lane, Pick(None))
        labels.insert(lane, ("index",))
        new_leaves.insert(lane, [_placed(lax.iota(np.int32, axis.size), rank, (0,))])
    grid = [_LANE, *(("p", i) for i in range(len(picked))), *(("s", d) for d in moving)]
    steps, out = _ordered(t, Index(tuple(entries)), labels, grid, len(picked))
    return steps, [x for own in new_leaves for x in own], out


def _inside(t: Index, leaves: Sequence[Value], shape: Sequence[int]) -> list[Value]:
    """Return the starts of a box moved to where it fits, as it is in one lane alone."""
    found = iter(leaves)
    moved: list[Value] = []
    for e, n in zip(t.entries, shape, strict=True):
        if e[0] is None:
            x = wrapped(next(found), n)
            last = n - (e.size if isinstance(e, Span) else 1)
            moved.append(lax.clamp(lax.full_like(x, 0), x, lax.full_like(x, last)))
    return moved


def _starts(axis: AxisData, span: Span, starts: Value) -> Value:
    """Return the indices of a slice of every lane, from its starts."""
    grid = (axis.size, span.size)
    steps = lax.mul(lax.iota(np.int32, span.size), np.int32(span.stride))
    starts = lax.broadcast_in_dim(lax.convert_element_type(starts, np.int32), grid, (0,))
    return lax.add(starts, lax.broadcast_in_dim(steps, grid, (1,)))


def _placed(x: Value, rank: int, dims: Sequence[int]) -> Value:
    """Return `x` with its dimensions at `dims` of `rank` dimensions; the others have size 1."""
    return lax.expand_dims(x, tuple(d for d in range(rank) if d not in dims))


def _ordered(
    old: Index, new: Index, labels: Sequence[Label], grid: Sequence[Label], num_picked: int
) -> tuple[list[Transform], int]:
    """Return the steps of the new index, and where the lanes are in the part.

    A transpose is added where the new index has the dimensions of the part in another order.
    """
    picked: list[Label] = [("p", i) for i in range(num_picked)]
    wanted = _result(old, [("s", d) for d in range(len(old.entries))], picked)
    have = _result(new, labels, grid)
    if [x for x in have if x != _LANE] == wanted:
        return [new], have.index(_LANE)
    order = [have.index(x) for x in (_LANE, *wanted)]
    return [new, Transpose(tuple(order))], 0


def _result(index: Index, labels: Sequence[Label], grid: Sequence[Label]) -> list[Label]:
    """Return the labels of the dimensions of a part."""
    out = [label for e, label in zip(index.entries, labels, strict=True) if isinstance(e, Span)]
    position = pick_position(index)
    if position is not None:
        out[position:position] = grid
    return out
