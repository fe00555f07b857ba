"""Checks of axis arguments, shared by the families that reduce, scan, sort or window an axis."""

from collections.abc import Iterable

from tans_core import ShapedArray
from tans_xla.sizes import Size, as_int, as_ints, as_sizes


def axis_tuple(name: str, axes: Iterable[int]) -> tuple[int, ...]:
    """Return `axes` as a tuple of Python ints.

    Raises:
      TypeError: `axes` is not an iterable of integers.
    """
    try:
        return as_ints(axes)
    except TypeError:
        raise TypeError(
            f"{name}: given axes {axes!r} of type {type(axes).__name__}, expected a sequence of "
            f"ints. For a single axis write ({axes!r},)."
        ) from None


def size_tuple(name: str, shape: Iterable[Size]) -> tuple[Size, ...]:
    """Return a shape as a tuple of sizes.

    Raises:
      TypeError: `shape` is not an iterable of sizes.
    """
    try:
        return as_sizes(shape)
    except TypeError:
        raise TypeError(
            f"{name}: given the shape {shape!r} of type {type(shape).__name__}, expected a "
            f"sequence of ints. For a single dimension write ({shape!r},)."
        ) from None


def check_axes(name: str, axes: tuple[int, ...], aval: ShapedArray) -> None:
    """Check that `axes` are distinct and within the rank of `aval`.

    Raises:
      ValueError: an axis is out of range or given twice.
    """
    for axis in axes:
        check_axis(name, axis, aval)
    if len(set(axes)) != len(axes):
        raise ValueError(
            f"{name}: axes {axes} name an axis twice; expected distinct axes. "
            f"Write {tuple(sorted(set(axes)))}."
        )


def check_axis(name: str, axis: int, aval: ShapedArray) -> None:
    """Check that `axis` is within the rank of `aval`.

    Raises:
      ValueError: the axis is out of range.
    """
    if 0 <= axis < aval.ndim:
        return
    if -aval.ndim <= axis < 0:
        remedy = f"Axes do not count from the end here: write {axis + aval.ndim}."
    elif aval.ndim:
        remedy = f"Choose one of {list(range(aval.ndim))}."
    else:
        remedy = "A scalar has no axes: reshape it first."
    raise ValueError(
        f"{name}: given axis {axis} for an operand of type {aval.str_short(short_dtypes=False)}, "
        f"expected an axis from 0 to {aval.ndim - 1}. {remedy}"
    )


def canonical_axis(name: str, axis: int, aval: ShapedArray) -> int:
    """Return `axis` with a negative value counted from the end.

    Raises:
      ValueError: the axis is out of range.
    """
    axis = as_int(axis)
    counted = axis + aval.ndim if -aval.ndim <= axis < 0 else axis
    check_axis(name, counted, aval)
    return counted
