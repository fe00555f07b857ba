"""Collectives under `vmap`.

Over the mapped axis itself a collective becomes operations on the whole array: a sum is a
reduction of the mapped dimension, a gather moves it among the others, an exchange swaps it with
another. Over other axes the mapped dimension is one more that is carried along.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from tans_core import AxisData, Primitive, typeof
from tans_core.errors import message
from tans_lax.collectives.groups import Groups
from tans_lax.collectives.names import as_names
from tans_lax.collectives.primitives import (
    all_gather_invariant_p,
    all_gather_p,
    all_gather_reduced_p,
    all_to_all_p,
    axis_index_p,
    pbroadcast_p,
    pmax_p,
    pmin_p,
    ppermute_p,
    preduced_p,
    psum_invariant_p,
    psum_p,
    pvary_p,
    ragged_all_to_all_p,
    reduce_scatter_p,
    reduced_vary_cast_p,
    unreduced_psum_p,
    unreduced_reduce_scatter_p,
    vary_unreduced_cast_p,
)
from tans_lax.creation import iota
from tans_lax.elementwise.arithmetic import mul
from tans_lax.elementwise.selection import select
from tans_lax.gather_scatter import GatherDimensionNumbers, gather
from tans_lax.reductions import reduce_max, reduce_min, reduce_sum
from tans_lax.rows import batch_to_front, broadcast_batch, move_axis, zeros_like_aval
from tans_lax.shape import reshape
from tans_lax.slicing import index_in_dim

type Value = Any
type Dims = Sequence[int | None]


def _reduction_batching(
    primitive: Primitive,
    reduce: Callable[..., Value],
    of_equal: Callable[[Value, int], Value],
) -> Callable[..., Any]:
    """Make the rule of a reduction; `of_equal(x, n)` reduces n equal values."""

    def rule(
        axis: AxisData, args: Sequence[Value], dims: Dims, *, axes: Any, axis_index_groups: Groups
    ) -> tuple[Value, int | None]:
        (x,), (dim,) = args, dims
        if axis.name not in axes:
            return primitive.bind(x, axes=axes, axis_index_groups=axis_index_groups), dim
        rest = tuple(name for name in axes if name != axis.name)
        if axis_index_groups is not None:
            if rest:
                raise _several_names(primitive, axes, "with axis_index_groups")
            return _reduce_groups(axis, x, dim, reduce, axis_index_groups), 0
        out = of_equal(x, axis.size) if dim is None else reduce(x, (dim,))
        if rest:
            out = primitive.bind(out, axes=rest, axis_index_groups=None)
        return out, None

    return rule


def _several_names(primitive: Primitive, names: Any, what: str) -> NotImplementedError:
    return NotImplementedError(
        message(
            f"{primitive.name} under vmap",
            f"the axis names {names!r} {what}",
            "one name",
            "Apply the collective once per name.",
        )
    )


def _reduce_groups(
    axis: AxisData, x: Value, dim: int | None, reduce: Callable[..., Value], groups: Any
) -> Value:
    """Reduce within groups: line the groups up, reduce each, and hand the results back."""
    x = batch_to_front(axis, x, dim)
    rest = typeof(x).shape[1:]  # type: ignore[union-attr]
    order = [i for group in groups for i in group]
    rows = reshape(_pick(x, order), (len(groups), len(groups[0]), *rest))
    reduced = reduce(rows, (1,))
    of_member = {i: g for g, group in enumerate(groups) for i in group}
    return _pick(reduced, [of_member[i] for i in range(axis.size)])


def _pick(x: Value, rows: Sequence[int]) -> Value:
    """Return the given entries of dimension 0, which are known now, lined up along it."""
    shape = typeof(x).shape  # type: ignore[union-attr]
    numbers = GatherDimensionNumbers(tuple(range(1, len(shape))), (0,), (0,))
    return gather(x, np.asarray(rows, np.int32)[:, None], numbers, (1, *shape[1:]))


def _scaled(x: Value, count: int) -> Value:
    return mul(x, np.asarray(count, typeof(x).dtype)[()])  # type: ignore[union-attr]


def _own(primitive: Primitive, axis: AxisData, axis_name: Any) -> bool:
    """Whether a collective is over the mapped axis; refuses it combined with others."""
    names = as_names(axis_name)
    if axis.name not in names:
        return False
    if len(names) > 1:
        raise _several_names(primitive, names, "together")
    return True


def _no_groups(primitive: Primitive, groups: Groups) -> None:
    if groups is not None:
        raise NotImplementedError(
            message(
                f"{primitive.name} under vmap",
                f"axis_index_groups={groups!r}",
                "None",
                "Split the axis into two nested vmaps with a name each.",
            )
        )


def _ppermute_batch(
    axis: AxisData, args: Sequence[Value], dims: Dims, *, axis_name: Any, perm: Any
) -> tuple[Value, int | None]:
    (x,), (dim,) = args, dims
    if not _own(ppermute_p, axis, axis_name):
        return ppermute_p.bind(x, axis_name=axis_name, perm=perm), dim
    x = batch_to_front(axis, x, dim)
    source_of = {destination: source for source, destination in perm}
    out = _pick(x, [source_of.get(i, 0) for i in range(axis.size)])
    if len(source_of) < axis.size:
        filled = np.array([i in source_of for i in range(axis.size)])
        ndim = typeof(x).ndim  # type: ignore[union-attr]
        mask = np.broadcast_to(
            filled.reshape((-1,) + (1,) * (ndim - 1)),
            typeof(x).shape,  # type: ignore[union-attr]
        )
        out = select(np.ascontiguousarray(mask), out, zeros_like_aval(typeof(out)))
    return out, 0


def _pbroadcast_batch(
    axis: AxisData, args: Sequence[Value], dims: Dims, *, axis_name: Any, source: int
) -> tuple[Value, int | None]:
    (x,), (dim,) = args, dims
    if not _own(pbroadcast_p, axis, axis_name):
        return pbroadcast_p.bind(x, axis_name=axis_name, source=source), dim
    if dim is None:
        return x, None
    return index_in_dim(x, source, dim, keepdims=False), None


def _all_gather_batch(
    axis: AxisData,
    args: Sequence[Value],
    dims: Dims,
    *,
    axis_name: Any,
    all_gather_dimension: int,
    axis_index_groups: Groups,
    axis_size: int,
    tiled: bool,
) -> tuple[Value, int | None]:
    (x,), (dim,) = args, dims
    if not _own(all_gather_p, axis, axis_name):
        out = all_gather_p.bind(
            batch_to_front(axis, x, dim),
            axis_name=axis_name,
            all_gather_dimension=all_gather_dimension + 1,
            axis_index_groups=axis_index_groups,
            axis_size=axis_size,
            tiled=tiled,
        )
        return out, 0
    _no_groups(all_gather_p, axis_index_groups)
    place = all_gather_dimension
    stacked = broadcast_batch(x, axis, place) if dim is None else move_axis(x, dim, place)
    return (_merge(stacked, place) if tiled else stacked), None


def _merge(x: Value, dimension: int) -> Value:
    """Merge a dimension with the one after it."""
    shape = typeof(x).shape  # type: ignore[union-attr]
    length = shape[dimension] * shape[dimension + 1]
    return reshape(x, (*shape[:dimension], length, *shape[dimension + 2 :]))


def _split(x: Value, dimension: int, parts: int) -> Value:
    """Split a dimension into (parts, length of a part)."""
    shape = typeof(x).shape  # type: ignore[union-attr]
    pair = (parts, shape[dimension] // parts)
    return reshape(x, (*shape[:dimension], *pair, *shape[dimension + 1 :]))


def _reduce_scatter_batch(
    axis: AxisData,
    args: Sequence[Value],
    dims: Dims,
    *,
    axis_name: Any,
    scatter_dimension: int,
    axis_index_groups: Groups,
    axis_size: int,
    tiled: bool,
) -> tuple[Value, int | None]:
    (x,), (dim,) = args, dims
    if not _own(reduce_scatter_p, axis, axis_name):
        out = reduce_scatter_p.bind(
            batch_to_front(axis, x, dim),
            axis_name=axis_name,
            scatter_dimension=scatter_dimension + 1,
            axis_index_groups=axis_index_groups,
            axis_size=axis_size,
            tiled=tiled,
        )
        return out, 0
    _no_groups(reduce_scatter_p, axis_index_groups)
    total = _scaled(x, axis.size) if dim is None else reduce_sum(x, (dim,))
    return (_split(total, scatter_dimension, axis.size) if tiled else total), scatter_dimension


def _all_to_all_batch(
    axis: AxisData,
    args: Sequence[Value],
    dims: Dims,
    *,
    axis_name: Any,
    split_axis: int,
    concat_axis: int,
    axis_index_groups: Groups,
    axis_size: int,
    tiled: bool,
) -> tuple[Value, int]:
    x = batch_to_front(axis, args[0], dims[0])
    if not _own(all_to_all_p, axis, axis_name):
        out = all_to_all_p.bind(
            x,
            axis_name=axis_name,
            split_axis=split_axis + 1,
            concat_axis=concat_axis + 1,
            axis_index_groups=axis_index_groups,
            axis_size=axis_size,
            tiled=tiled,
        )
        return out, 0
    _no_groups(all_to_all_p, axis_index_groups)
    # [j, ..., (i, part), ...]: part i of element j's value goes to element i.
    x = _split(x, split_axis + 1, axis.size)
    x = move_axis(x, split_axis + 1, 0)
    # [i, j, ..., part, ...]: what element i received, from j; j joins the concatenated dimension.
    x = move_axis(x, 1, concat_axis + 1)
    return _merge(x, concat_axis + 1), 0


def _axis_index_batch(
    axis: AxisData, args: Sequence[Value], dims: Dims, *, axis_name: Any
) -> tuple[Value, int]:
    del args, dims, axis_name
    return iota(np.int32, axis.size), 0


def _carried(primitive: Primitive) -> Callable[..., Any]:
    """Make the rule of an operation along manual axes that leaves all dimensions alone."""

    def rule(axis: AxisData, args: Sequence[Value], dims: Dims, **params: Any) -> Any:
        _refuse_own(primitive, axis, params["axes"])
        return primitive.bind(args[0], **params), dims[0]

    return rule


def _carried_in_front(primitive: Primitive, dimension: str) -> Callable[..., Any]:
    """Make the rule of an operation along manual axes whose param names a dimension."""

    def rule(axis: AxisData, args: Sequence[Value], dims: Dims, **params: Any) -> Any:
        _refuse_own(primitive, axis, params["axis_name"])
        x = batch_to_front(axis, args[0], dims[0])
        return primitive.bind(x, **params | {dimension: params[dimension] + 1}), 0

    return rule


def _refuse_own(primitive: Primitive, axis: AxisData, names: Any) -> None:
    if axis.name in as_names(names):
        raise NotImplementedError(
            message(
                f"{primitive.name} under vmap",
                f"the mapped axis name {axis.name!r}, which is also a manual axis",
                "another name",
                "Give vmap an axis_name that no mesh axis has.",
            )
        )


def _ragged_batch(axis: AxisData, args: Sequence[Value], dims: Dims, **params: Any) -> Any:
    del args, dims, params
    raise NotImplementedError(
        message(
            "ragged_all_to_all under vmap",
            f"operands mapped over an axis of size {axis.size}",
            "no mapped operand",
            "Loop over the mapped axis with lax.map.",
        )
    )


BATCHING: Final[dict[Primitive, Callable[..., Any]]] = {
    psum_p: _reduction_batching(psum_p, reduce_sum, _scaled),
    pmax_p: _reduction_batching(pmax_p, reduce_max, lambda x, _: x),
    pmin_p: _reduction_batching(pmin_p, reduce_min, lambda x, _: x),
    ppermute_p: _ppermute_batch,
    pbroadcast_p: _pbroadcast_batch,
    all_gather_p: _all_gather_batch,
    all_to_all_p: _all_to_all_batch,
    reduce_scatter_p: _reduce_scatter_batch,
    axis_index_p: _axis_index_batch,
    ragged_all_to_all_p: _ragged_batch,
    psum_invariant_p: _carried(psum_invariant_p),
    unreduced_psum_p: _carried(unreduced_psum_p),
    pvary_p: _carried(pvary_p),
    preduced_p: _carried(preduced_p),
    vary_unreduced_cast_p: _carried(vary_unreduced_cast_p),
    reduced_vary_cast_p: _carried(reduced_vary_cast_p),
    all_gather_invariant_p: _carried_in_front(all_gather_invariant_p, "all_gather_dimension"),
    all_gather_reduced_p: _carried_in_front(all_gather_reduced_p, "all_gather_dimension"),
    unreduced_reduce_scatter_p: _carried_in_front(unreduced_reduce_scatter_p, "scatter_dimension"),
}
