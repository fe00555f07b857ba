"""Exchanges along a named axis: gather, all-to-all, permute, broadcast, index."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from tans_core import Array, Primitive, tree, typeof
from tans_core.config import check_vma
from tans_core.errors import message
from tans_lax.collectives.casts import as_varying, checked_names, manual_names
from tans_lax.collectives.groups import canonical_groups, group_size
from tans_lax.collectives.names import (
    AxisName,
    AxisNames,
    bound_size,
    canonical_dimension,
    distinct_names,
)
from tans_lax.collectives.primitives import (
    all_gather_invariant_p,
    all_gather_p,
    all_gather_reduced_p,
    all_to_all_p,
    axis_index_p,
    pbroadcast_p,
    ppermute_p,
)
from tans_lax.elementwise.arithmetic import add, mul
from tans_lax.shape import expand_dims, squeeze

type Value = Any
type IndexGroups = Sequence[Sequence[int]] | None

_GATHERS: Final = {
    "varying": all_gather_p,
    "invarying": all_gather_invariant_p,
    "reduced": all_gather_reduced_p,
}


def _sized(where: str, axis_name: AxisNames) -> tuple[tuple[AxisName, ...], int]:
    names = distinct_names(where, axis_name)
    size = 1
    for name in names:
        size *= bound_size(where, name)
    return names, size


def axis_index(axis_name: AxisNames) -> Array:
    """Return the position of this element along a named axis.

    Args:
      axis_name: a bound name; for several, the position in their row-major product.

    Returns:
      int32 scalar.

    Raises:
      NameError: a name is not bound here.
    """
    names, _ = _sized("axis_index", axis_name)
    index = axis_index_p.bind(axis_name=names[0])
    for name in names[1:]:
        size = np.int32(bound_size("axis_index", name))
        index = add(mul(index, size), axis_index_p.bind(axis_name=name))
    return index


def all_gather(
    x: Any,
    axis_name: AxisNames,
    *,
    axis_index_groups: IndexGroups = None,
    axis: int = 0,
    tiled: bool = False,
    to: str = "varying",
) -> Any:
    """Collect the values of all elements of a named axis; every element gets all of them.

    Args:
      x: tree of arrays of any shape.
      axis_name: a bound name.
      axis_index_groups: partition of the axis; values are collected within each group.
      axis: the dimension along which the values are lined up.
      tiled: concatenate along an existing dimension instead of stacking along a new one.
      to: state of the result along the axis inside `shard_map`: "varying", "invarying" or
        "reduced". Elsewhere "varying".

    Returns:
      A tree of arrays with one more dimension (or a longer one when tiled).

    Raises:
      NameError: the name is not bound here.
      ValueError: `axis` is out of range.
    """
    names, size = _sized("all_gather", axis_name)
    primitive = _gather_to(names, to)
    groups = canonical_groups("all_gather", axis_index_groups, size)
    checked = checked_names(names)

    def gather_leaf(leaf: Value) -> Value:
        ndim = typeof(leaf).ndim + (not tiled)  # type: ignore[union-attr]
        return primitive.bind(
            as_varying("all_gather", leaf, checked) if checked else leaf,
            axis_name=names,
            all_gather_dimension=canonical_dimension("all_gather", axis, ndim),
            axis_index_groups=groups,
            axis_size=group_size(groups, size),
            tiled=tiled,
        )

    return tree.map(gather_leaf, x)


def _gather_to(names: tuple[AxisName, ...], to: str) -> Primitive:
    if to not in _GATHERS:
        raise ValueError(
            message("all_gather", f"to={to!r}", f"one of {tuple(_GATHERS)}", "Leave it out.")
        )
    if to == "varying" or (to == "invarying" and manual_names(names) and not check_vma.value):
        return all_gather_p
    if set(manual_names(names)) != set(names):
        raise ValueError(
            message(
                "all_gather",
                f"to={to!r} over {names!r}",
                "'varying' outside of shard_map",
                "Other states need a shard_map around over these axes.",
            )
        )
    return _GATHERS[to]


def all_to_all(
    x: Any,
    axis_name: AxisNames,
    split_axis: int,
    concat_axis: int,
    *,
    axis_index_groups: IndexGroups = None,
    tiled: bool = False,
) -> Any:
    """Send part i of a dimension to element i of a named axis, and line up what arrives.

    Args:
      x: tree of arrays; dimension `split_axis` has as many entries as the axis has elements
        (a multiple of it when tiled).
      axis_name: a bound name.
      split_axis: the dimension whose parts are sent.
      concat_axis: where the received parts are lined up.
      axis_index_groups: partition of the axis.
      tiled: keep both dimensions instead of removing the first and adding the second.

    Returns:
      A tree of arrays.

    Raises:
      NameError: the name is not bound here.
      ValueError: the dimension can't be split evenly over the axis.
    """
    names, size = _sized("all_to_all", axis_name)
    groups = canonical_groups("all_to_all", axis_index_groups, size)
    size = group_size(groups, size)
    checked = checked_names(names)
    options = {
        "axis_name": names[0] if len(names) == 1 else names,
        "axis_index_groups": groups,
        "axis_size": size,
        "tiled": True,
    }

    def exchange_leaf(leaf: Value) -> Value:
        shape = typeof(leaf).shape  # type: ignore[union-attr]
        split = canonical_dimension("all_to_all", split_axis, len(shape))
        concat = canonical_dimension("all_to_all", concat_axis, len(shape))
        leaf = as_varying("all_to_all", leaf, checked) if checked else leaf
        _check_parts(shape, split, size, tiled)
        if tiled:
            return all_to_all_p.bind(leaf, split_axis=split, concat_axis=concat, **options)
        # The split dimension has one entry per element; after the exchange it has length 1.
        if concat == split:
            return all_to_all_p.bind(leaf, split_axis=split, concat_axis=split, **options)
        place = concat + (concat > split)
        wide = expand_dims(leaf, (place,))
        split += place <= split
        return squeeze(
            all_to_all_p.bind(wide, split_axis=split, concat_axis=place, **options), (split,)
        )

    return tree.map(exchange_leaf, x)


def _check_parts(shape: tuple[int, ...], split: int, size: int, tiled: bool) -> None:
    if (shape[split] % size) if tiled else (shape[split] != size):
        raise ValueError(
            message(
                "all_to_all",
                f"an array of shape {shape} to split along dimension {split}",
                f"{'a multiple of ' if tiled else ''}{size} entries there, the size of the axis",
                "Reshape the array, or pass tiled=True to split a longer dimension.",
            )
        )


def pswapaxes(
    x: Any, axis_name: AxisNames, axis: int, *, axis_index_groups: IndexGroups = None
) -> Any:
    """Exchange a named axis with a dimension of the same size.

    Args:
      x: tree of arrays.
      axis_name: a bound name.
      axis: the dimension.
      axis_index_groups: partition of the axis.

    Raises:
      NameError: the name is not bound here.
      ValueError: the sizes differ.
    """
    return all_to_all(x, axis_name, axis, axis, axis_index_groups=axis_index_groups)


def ppermute(x: Any, axis_name: AxisNames, perm: Sequence[tuple[int, int]]) -> Any:
    """Send the value of each element of a named axis to another element.

    Args:
      x: tree of arrays of any shape.
      axis_name: a bound name.
      perm: (source, destination) pairs; no source and no destination occurs twice. Elements that
        are no destination get zeros.

    Returns:
      A tree of arrays of the same shapes.

    Raises:
      NameError: the name is not bound here.
      ValueError: an index is out of range or occurs twice.
    """
    names, size = _sized("ppermute", axis_name)
    pairs = tuple((int(source), int(destination)) for source, destination in perm)
    for kind, members in zip(("source", "destination"), zip(*pairs, strict=True), strict=False):
        if len(set(members)) < len(members) or not all(0 <= i < size for i in members):
            raise ValueError(
                message(
                    "ppermute",
                    f"perm={list(pairs)}",
                    f"each {kind} at most once, from 0 to {size - 1}",
                    "To send one value to several elements, use all_gather and pick from it.",
                )
            )
    checked = checked_names(names)

    def send_leaf(leaf: Value) -> Value:
        leaf = as_varying("ppermute", leaf, checked) if checked else leaf
        return ppermute_p.bind(leaf, axis_name=names, perm=pairs)

    return tree.map(send_leaf, x)


def pshuffle(x: Any, axis_name: AxisNames, perm: Sequence[int]) -> Any:
    """Permute a named axis: element k gets the value of element ``perm[k]``.

    Args:
      x: tree of arrays of any shape.
      axis_name: a bound name.
      perm: a permutation of the positions.

    Raises:
      NameError: the name is not bound here.
      ValueError: `perm` is not a permutation.
    """
    _, size = _sized("pshuffle", axis_name)
    if sorted(perm) != list(range(size)):
        raise ValueError(
            message(
                "pshuffle",
                f"perm={list(perm)}",
                f"a permutation of 0 to {size - 1}",
                "For a partial exchange use ppermute.",
            )
        )
    return ppermute(x, axis_name, [(source, k) for k, source in enumerate(perm)])


def pbroadcast(x: Any, axis_name: AxisNames, source: int) -> Any:
    """Give every element of a named axis the value of one of them.

    Args:
      x: tree of arrays of any shape.
      axis_name: a bound name.
      source: position of the element whose value is used.

    Raises:
      NameError: the name is not bound here.
      ValueError: `source` is out of range.
    """
    names, size = _sized("pbroadcast", axis_name)
    if not 0 <= source < size:
        raise ValueError(
            message(
                "pbroadcast", f"source={source}", f"0 to {size - 1}", "Pass an index of the axis."
            )
        )
    checked = checked_names(names)

    def broadcast_leaf(leaf: Value) -> Value:
        leaf = as_varying("pbroadcast", leaf, checked) if checked else leaf
        name = names[0] if len(names) == 1 else names
        return pbroadcast_p.bind(leaf, axis_name=name, source=int(source))

    return tree.map(broadcast_leaf, x)
