"""Axes of pmap: from what users write to one dimension per leaf, and its errors."""

from collections.abc import Iterable, Sequence
from typing import Any

from tans_core import tree, typeof
from tans_core.errors import message
from tans_core.partition_spec import PartitionSpec
from tans_core.tree_paths import raise_prefix_error

type Value = Any


def positions_of(given: int | Iterable[int]) -> tuple[int, ...]:
    """Return positions of arguments as a tuple."""
    return (given,) if isinstance(given, int) else tuple(given)


def check_in_axes(in_axes: Any) -> Any:
    """Return `in_axes`; raise ValueError for a list and TypeError for another wrong class."""
    if not (in_axes is None or isinstance(in_axes, int | tuple)):
        error = ValueError if isinstance(in_axes, list) else TypeError
        raise error(
            message(
                "pmap",
                f"in_axes={in_axes!r} of type {type(in_axes).__name__}",
                "an int, None, or a tuple with one entry per positional argument",
                "Write a tuple.",
            )
        )
    return in_axes


def check_devices(devices: Sequence[Any] | None) -> tuple[Any, ...] | None:
    """Return the devices as a tuple; raise ValueError if there are none."""
    if devices is None:
        return None
    if not len(devices):
        raise ValueError(
            message("pmap", "devices=[]", "at least one device", "Leave devices out to use all.")
        )
    return tuple(devices)


def spread(name: str, axes: Any, full: Any) -> list[int | None]:
    """Return one axis per leaf, from a prefix tree."""
    flat, treedef = tree.flatten(axes, is_leaf=_is_none)
    for axis in flat:
        if axis is not None and (not isinstance(axis, int) or isinstance(axis, bool)):
            raise TypeError(
                message(
                    "pmap",
                    f"{name}={axes!r} with the leaf {axis!r} of type {type(axis).__name__}",
                    "ints and None",
                    "Write 0 for the first axis.",
                )
            )
    try:
        subtrees = treedef.flatten_up_to(full)
    except ValueError as error:
        raise_prefix_error("pmap", name, axes, full, _is_none, "", error)
        raise AssertionError("unreachable") from None
    return [a for a, sub in zip(flat, subtrees, strict=True) for _ in tree.leaves(sub)]


def _is_none(x: Any) -> bool:
    return x is None


def mapped_dim(x: Value, axis: int | None) -> int | None:
    """Return the mapped dimension of an argument, counted from the front."""
    try:
        aval: Any = typeof(x)
    except TypeError as error:
        raise ValueError(
            message(
                "pmap",
                f"the argument {x!r} of type {type(x).__name__}",
                "arrays",
                "Name its position in static_broadcasted_argnums.",
            )
        ) from error
    if axis is None:
        return None
    if not -aval.ndim <= axis < aval.ndim:
        raise ValueError(
            message(
                "pmap",
                f"an argument of type {aval.str_short()} to map along axis {axis}",
                "an axis that it has",
                "Use in_axes=None for arguments that are not mapped.",
            )
        )
    return axis % aval.ndim


def result_dim(axis: int | None, ndim: int) -> int | None:
    """Return the mapped dimension of a result with `ndim` dimensions, counted from the front."""
    if axis is None:
        return None
    if not -ndim <= axis < ndim:
        raise ValueError(
            message(
                "pmap",
                f"out_axes with the entry {axis} for a result with {ndim - 1} dimensions",
                f"at least {-ndim} and less than {ndim}",
                "Count dimensions of the whole result.",
            )
        )
    return axis % ndim


def spec_of_dim(dim: int | None, name: Any) -> PartitionSpec:
    """Return the spec of a value that is mapped along a dimension, or along none."""
    return PartitionSpec() if dim is None else PartitionSpec(*(None,) * dim, name)
