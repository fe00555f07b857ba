"""From what users write between brackets to an `Index` and its dynamic operands."""

import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tans_core.errors import NonConcreteBooleanIndexError
from tans_core.refs import Index, Pick, RefView, Span, Transforms, is_ref_type
from tans_core.values import is_value, typeof

type Shape = tuple[int, ...]
type Parsed = tuple[Transforms, list[Any]]


class Slice(NamedTuple):
    """`size` elements from `start` on, which may be a traced integer; made by `ds`."""

    start: Any
    size: int
    stride: int = 1


def ds(start: Any, size: int, stride: int = 1) -> Slice:
    """Return an index of `size` elements of a dimension from `start` on.

    Args:
      start: int, or an integer scalar that the program computes.
      size: number of elements.
      stride: step between elements, at least 1.

    Example:
      >>> ds(2, 3)
      Slice(start=2, size=3, stride=1)
    """
    return Slice(start, size, stride)


def parse_index(idx: Any, shape: Shape) -> Parsed:
    """Return the transforms that an index stands for, and its dynamic operands.

    Args:
      idx: what stands between the brackets.
      shape: shape of what is indexed.

    Raises:
      TypeError: an entry is not an index.
      ValueError: an entry is out of range, or there are too many.
      NonConcreteBooleanIndexError: an entry is a mask.
    """
    if idx is None or idx is Ellipsis:
        return (), []
    given = idx if type(idx) is tuple else (idx,)
    given = _expanded(given, shape)
    entries: list[Span | Pick] = []
    leaves: list[Any] = []
    for d, (x, size) in enumerate(zip(given, shape, strict=True)):
        entries.append(_entry(x, size, d, shape, leaves))
    whole = all(type(e) is Span and e == (0, n, 1) for e, n in zip(entries, shape, strict=True))
    return (() if whole else (Index(tuple(entries)),)), leaves


def _expanded(given: tuple[Any, ...], shape: Shape) -> list[Any]:
    """Return one entry per dimension."""
    dots = [i for i, x in enumerate(given) if x is Ellipsis]
    if len(dots) > 1:
        raise ValueError(
            f"index of a ref: given {len(dots)} ellipses; expected at most one. Write a colon for "
            "each dimension instead of one of them."
        )
    count = len(given) - len(dots)
    if count > len(shape):
        raise ValueError(
            f"index of a ref: given {count} indices for a ref of shape {shape}; expected at most "
            f"{len(shape)}, one per dimension."
        )
    at = dots[0] if dots else count
    missing = [slice(None)] * (len(shape) - count)
    return [*given[:at], *missing, *given[at + len(dots) :]]


def _entry(x: Any, size: int, d: int, shape: Shape, leaves: list[Any]) -> Span | Pick:
    if isinstance(x, slice):
        return _from_slice(x, size, d, shape)
    if isinstance(x, int | np.integer) and not isinstance(x, bool):
        i = int(x)
        if i >= size:
            raise ValueError(
                f"index of a ref: given {i} for dimension {d} of shape {shape}; expected less than "
                f"{size}."
            )
        return Pick(max(i + size, 0) if i < 0 else i)
    if all(hasattr(x, name) for name in ("start", "size", "stride")) and not is_value(x):
        return _from_window(x, size, d, shape, leaves)
    _check_array(x, d)
    leaves.append(x)
    return Pick(None)


def _from_slice(x: slice, size: int, d: int, shape: Shape) -> Span:
    if x.step is not None and operator.index(x.step) < 1:
        raise ValueError(
            f"index of a ref: given a slice with step {x.step} for dimension {d}; expected a step "
            "of at least 1. Read the value and reverse it with jnp.flip."
        )
    start, stop, step = x.indices(size)
    if x.start is not None and start >= size and start > 0:
        raise ValueError(
            f"index of a ref: given a slice from {x.start} for dimension {d} of shape {shape}; "
            f"expected a start less than {size}."
        )
    return Span(start, len(range(start, stop, step)), step)


def _from_window(x: Any, size: int, d: int, shape: Shape, leaves: list[Any]) -> Span:
    count, stride = operator.index(x.size), operator.index(x.stride)
    if stride < 1 or count < 0 or (count and (count - 1) * stride + 1 > size):
        raise ValueError(
            f"index of a ref: given {count} elements with stride {stride} for dimension {d} of "
            f"shape {shape}; expected a part that fits into {size} elements."
        )
    if isinstance(x.start, int | np.integer):
        start = int(x.start)
        if start < 0 or start + max(count - 1, 0) * stride >= max(size, 1):
            raise ValueError(
                f"index of a ref: given {count} elements from {start} on for dimension {d} of "
                f"shape {shape}; expected a part that fits into {size} elements."
            )
        return Span(start, count, stride)
    _check_array(x.start, d)
    leaves.append(x.start)
    return Span(None, count, stride)


def _check_array(x: Any, d: int) -> None:
    what = f"index of a ref: given {_shown(x)} for dimension {d}"
    expected = "an int, a slice, an ellipsis, ds(start, size) or an array of integers"
    is_view = isinstance(x, RefView)
    if not is_view and (not is_value(x) or x is None):
        raise TypeError(f"{what}; expected {expected}. Make a list an array with jnp.array.")
    aval: Any = x.aval if is_view else typeof(x)
    if is_ref_type(aval):
        raise TypeError(f"{what}; expected {expected}. Read the ref first: write i[...] for i.")
    if aval.dtype == np.bool_:
        raise NonConcreteBooleanIndexError(x)
    if getattr(aval.dtype, "kind", "x") not in "iu":
        raise TypeError(f"{what}; expected {expected}. Convert it with .astype(int).")


def _shown(x: Any) -> str:
    if is_value(x):
        return f"a value of type {typeof(x).str_short(False)}"
    return f"{x!r} of type {type(x).__name__}"


def leaf_types(leaves: Sequence[Any]) -> list[Any]:
    """Return the types of the dynamic operands of an index."""
    return [typeof(x) for x in leaves]
