"""Reductions along named axes: `psum`, `pmean`, `pmax`, `pmin`, `psum_scatter`."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tans_core import Array, Primitive, tree, typeof
from tans_core.dtype_queries import issubdtype
from tans_core.errors import message
from tans_lax.collectives.casts import as_varying, checked_names, common_state
from tans_lax.collectives.groups import Groups, canonical_groups, group_size
from tans_lax.collectives.names import (
    AxisName,
    AxisNames,
    axis_size,
    bound_size,
    canonical_dimension,
    distinct_names,
)
from tans_lax.collectives.primitives import (
    pmax_p,
    pmin_p,
    psum_invariant_p,
    psum_p,
    reduce_scatter_p,
    unreduced_psum_p,
    unreduced_reduce_scatter_p,
)
from tans_lax.conversion import convert_element_type
from tans_lax.elementwise.arithmetic import div
from tans_lax.reductions import reduce_max, reduce_min, reduce_sum

type Value = Any
type IndexGroups = Sequence[Sequence[int]] | None


def _split_axes(where: str, axis_name: AxisNames) -> tuple[tuple[int, ...], tuple[AxisName, ...]]:
    """Return the positional dimensions and the names; every name is checked to be bound."""
    axes = distinct_names(where, axis_name)
    positions = tuple(a for a in axes if isinstance(a, int))
    names = tuple(a for a in axes if not isinstance(a, int))
    for name in names:
        bound_size(where, name)
    return positions, names


def _groups(where: str, names: tuple[AxisName, ...], groups: IndexGroups) -> Groups:
    return None if groups is None else canonical_groups(where, groups, axis_size(names))


def _reduce_leaves(
    where: str,
    primitive: Primitive,
    over_dimensions: Callable[..., Value],
    x: Any,
    axis_name: AxisNames,
    groups: IndexGroups,
) -> Any:
    positions, names = _split_axes(where, axis_name)
    index_groups = _groups(where, names, groups)

    def reduce_leaf(leaf: Value) -> Value:
        if positions:
            leaf = over_dimensions(leaf, positions)
        if not names:
            return leaf
        checked = checked_names(names)
        if not checked:
            return primitive.bind(leaf, axes=names, axis_index_groups=index_groups)
        _refuse_groups(where, index_groups)
        mapped = tuple(name for name in names if name not in checked)
        if mapped:
            leaf = primitive.bind(leaf, axes=mapped, axis_index_groups=None)
        return _reduce_checked(where, primitive, leaf, checked)

    return tree.map(reduce_leaf, x)


def _refuse_groups(where: str, groups: Groups) -> None:
    if groups is not None:
        raise NotImplementedError(
            message(
                where,
                f"axis_index_groups={groups!r} over manual axes whose types are checked",
                "no groups: the result would be the same within a group only",
                "Pass check_vma=False to shard_map, or split the mesh axis in two.",
            )
        )


def _reduce_checked(
    where: str, primitive: Primitive, x: Value, axes: tuple[AxisName, ...]
) -> Value:
    """Reduce over manual axes along which types say how the value varies."""
    state = common_state(where, x, axes)
    if primitive is psum_p and state == "unreduced":
        return unreduced_psum_p.bind(x, axes=axes)
    x = as_varying(where, x, axes)
    if primitive is psum_p:
        return psum_invariant_p.bind(x, axes=axes)
    return primitive.bind(x, axes=axes, axis_index_groups=None)


def _is_constant(x: Value) -> bool:
    return (
        not isinstance(x, Array) and isinstance(x, bool | int | float | complex | np.generic)
    ) or (type(x) is np.ndarray)


def psum(x: Any, axis_name: AxisNames, *, axis_index_groups: IndexGroups = None) -> Any:
    """Sum over all elements of a named axis; every element gets the sum.

    Args:
      x: tree of arrays of any shape; bools are counted as int32. Python and NumPy constants are
        multiplied by the axis size at once, so ``psum(1, name)`` is a Python int.
      axis_name: a bound name or several; ints are dimensions of the arrays.
      axis_index_groups: partition of the axis; the sum is within each group.

    Returns:
      A tree of arrays of the same shapes.

    Raises:
      NameError: a name is not bound here.
      ValueError: the groups do not partition the axis evenly.

    Example:
      >>> import numpy as np
      >>> from tans_batching import vmap
      >>> vmap(lambda x: psum(x, "i"), axis_name="i")(np.arange(3.0))
      Array([3., 3., 3.], dtype=float32)
    """
    positions, names = _split_axes("psum", axis_name)
    leaves = tree.leaves(x)
    if leaves and not positions and all(map(_is_constant, leaves)):
        size = group_size(_groups("psum", names, axis_index_groups), axis_size(names))
        return tree.map(lambda leaf: size * leaf, x)
    return _reduce_leaves(
        "psum", psum_p, reduce_sum, tree.map(_countable, x), axis_name, axis_index_groups
    )


def _countable(x: Value) -> Value:
    return convert_element_type(x, np.int32) if typeof(x).dtype == np.bool_ else x  # type: ignore


def pmean(x: Any, axis_name: AxisNames, *, axis_index_groups: IndexGroups = None) -> Any:
    """Average over all elements of a named axis; every element gets the mean.

    Args:
      x: tree of arrays of any shape; integers give floats.
      axis_name: a bound name, or several.
      axis_index_groups: partition of the axis; the mean is within each group.

    Returns:
      A tree of arrays of the same shapes.

    Raises:
      NameError: a name is not bound here.
      ValueError: the groups do not partition the axis evenly.
    """
    total = psum(x, axis_name, axis_index_groups=axis_index_groups)
    count = psum(1, axis_name, axis_index_groups=axis_index_groups)
    return tree.map(lambda leaf: _divide(leaf, count), total)


def _divide(total: Value, count: int) -> Value:
    if not isinstance(total, Array):
        return total / count
    dtype = typeof(total).dtype  # type: ignore[union-attr]
    if not issubdtype(dtype, np.inexact):
        total = convert_element_type(total, np.float64 if dtype.itemsize == 8 else np.float32)
    return div(total, np.asarray(count, typeof(total).dtype)[()])  # type: ignore[union-attr]


def pmax(x: Any, axis_name: AxisNames, *, axis_index_groups: IndexGroups = None) -> Any:
    """Take the maximum over all elements of a named axis; every element gets it.

    Args:
      x: tree of arrays of any shape. Complex numbers are ordered by real, then by imaginary part;
        theirs are gathered before they are compared.
      axis_name: a bound name, or several.
      axis_index_groups: partition of the axis; the maximum is within each group.

    Returns:
      A tree of arrays of the same shapes.

    Raises:
      NameError: a name is not bound here.
    """
    return _reduce_leaves("pmax", pmax_p, reduce_max, x, axis_name, axis_index_groups)


def pmin(x: Any, axis_name: AxisNames, *, axis_index_groups: IndexGroups = None) -> Any:
    """Take the minimum over all elements of a named axis; every element gets it.

    Args:
      x: tree of arrays of any shape. Complex numbers are ordered by real, then by imaginary part;
        theirs are gathered before they are compared.
      axis_name: a bound name, or several.
      axis_index_groups: partition of the axis; the minimum is within each group.

    Returns:
      A tree of arrays of the same shapes.

    Raises:
      NameError: a name is not bound here.
    """
    return _reduce_leaves("pmin", pmin_p, reduce_min, x, axis_name, axis_index_groups)


def psum_scatter(
    x: Any,
    axis_name: AxisNames,
    *,
    scatter_dimension: int = 0,
    axis_index_groups: IndexGroups = None,
    tiled: bool = False,
) -> Any:
    """Sum over a named axis; each element keeps its own part of the sum.

    Args:
      x: tree of arrays; dimension `scatter_dimension` has as many entries as the axis has elements
        (a multiple of it when tiled).
      axis_name: a bound name.
      scatter_dimension: the dimension that is split over the axis.
      axis_index_groups: partition of the axis.
      tiled: keep the dimension, with the length of a part, instead of removing it.

    Returns:
      A tree of arrays.

    Raises:
      NameError: a name is not bound here.
      ValueError: the dimension can't be split evenly over the axis.
    """
    names = distinct_names("psum_scatter", axis_name)
    size = 1
    for name in names:
        size *= bound_size("psum_scatter", name)
    groups = canonical_groups("psum_scatter", axis_index_groups, size)
    size = group_size(groups, size)

    checked = checked_names(names)

    def scatter_leaf(leaf: Value) -> Value:
        ndim: int = typeof(leaf).ndim
        dimension = canonical_dimension("psum_scatter", scatter_dimension, ndim)
        _check_length("psum_scatter", leaf, dimension, size, tiled)
        primitive = reduce_scatter_p
        if checked:
            if common_state("psum_scatter", leaf, checked) == "unreduced":
                primitive = unreduced_reduce_scatter_p
            else:
                leaf = as_varying("psum_scatter", leaf, checked)
        return primitive.bind(
            leaf,
            axis_name=names,
            scatter_dimension=dimension,
            axis_index_groups=groups,
            axis_size=size,
            tiled=tiled,
        )

    return tree.map(scatter_leaf, x)


def _check_length(where: str, x: Value, dimension: int, size: int, tiled: bool) -> None:
    shape = typeof(x).shape  # type: ignore[union-attr]
    length = shape[dimension]
    if (length % size) if tiled else (length != size):
        wanted = f"a multiple of {size}" if tiled else f"{size}"
        raise ValueError(
            message(
                where,
                f"an array of shape {shape} whose dimension {dimension} has length {length}",
                f"length {wanted}, the size of the axis",
                "Reshape the array, or pass tiled=True to split a longer dimension.",
            )
        )


class PsumScatterFuture:
    """A sum that is on its way; `done` returns it.

    The compiler overlaps it with what is computed in between.
    """

    __slots__ = ("_value",)

    def __init__(self, value: Any) -> None:
        self._value = value

    def done(self) -> Any:
        """Return the tree of arrays that `psum_scatter` returns."""
        return self._value


def psum_scatter_start(x: Any, axis_name: AxisNames, **options: Any) -> PsumScatterFuture:
    """Start a `psum_scatter`, whose result is needed later only.

    Args:
      x: as in `psum_scatter`.
      axis_name: as in `psum_scatter`.
      **options: keyword arguments of `psum_scatter`.

    Returns:
      An object whose method ``done()`` returns the result.

    Raises:
      NameError: a name is not bound here.
      ValueError: the dimension can't be split evenly over the axis.
    """
    return PsumScatterFuture(psum_scatter(x, axis_name, **options))
