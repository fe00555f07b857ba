"""Questions about whole arrays: array_equal, array_equiv, iterable."""

from typing import Any

import numpy as np

import tans_lax as lax
from tans_core import is_value, typeof
from tans_numpy.creation import asarray
from tans_numpy.operands import ArrayLike
from tans_numpy.reductions import all as all_
from tans_numpy.ufuncs.comparison import equal, logical_or
from tans_numpy.ufuncs.predicates import isnan
from tans_xla import composite

type Array = Any


def _as_pair(a1: Any, a2: Any) -> tuple[Any, Any] | None:
    try:
        return asarray(a1), asarray(a2)
    except (TypeError, ValueError):
        return None


@composite(static_argnames=("equal_nan",))
def _all_equal(a: Any, b: Any, *, equal_nan: bool) -> Array:
    same = equal.inline(a, b)
    if equal_nan:
        same = logical_or(same, isnan(a) & isnan(b))
    return all_(same)


def array_equal(a1: ArrayLike, a2: ArrayLike, equal_nan: bool = False) -> Array:
    """Whether two arrays have one shape and equal elements.

    Args:
      a1, a2: arrays; what is no array equals nothing.
      equal_nan: whether nan equals nan.

    Returns:
      A boolean scalar array.
    """
    pair = _as_pair(a1, a2)
    if pair is None or typeof(pair[0]).shape != typeof(pair[1]).shape:
        return _false()
    return _all_equal(*pair, equal_nan=bool(equal_nan))


def array_equiv(a1: ArrayLike, a2: ArrayLike) -> Array:
    """Whether two arrays have equal elements after broadcasting.

    Args:
      a1, a2: arrays; what is no array, or does not broadcast, equals nothing.

    Returns:
      A boolean scalar array.
    """
    pair = _as_pair(a1, a2)
    if pair is None:
        return _false()
    try:
        lax.broadcast_shapes(typeof(pair[0]).shape, typeof(pair[1]).shape)
    except ValueError:
        return _false()
    return _all_equal(*pair, equal_nan=False)


def _false() -> Array:
    return asarray(np.bool_(False))


def iterable(y: Any) -> bool:
    """Whether `y` can be iterated over."""
    if hasattr(y, "ndim") and is_value(y):
        return y.ndim > 0  # an iterator would be made of all the parts
    try:
        iter(y)
    except TypeError:
        return False
    return True
