"""Choosing elements: where, clip, select, nonzero and relatives."""

from collections.abc import Sequence
from typing import Any

import numpy as np

import tans_lax as lax
from tans_core import eval_trace, state, typeof
from tans_core.dtype_queries import iinfo, issubdtype
from tans_numpy.dims import repeat_cases
from tans_numpy.operands import (
    ArrayLike,
    broadcast_shapes,
    check_arraylike,
    promote_dtypes,
)
from tans_numpy.searching import nonzero
from tans_numpy.ufuncs.arithmetic import maximum, minimum
from tans_numpy.ufuncs.comparison import as_bool
from tans_xla import composite

type Array = Any


@composite
def _where(condition: Any, x: Any, y: Any) -> Array:
    check_arraylike("where", condition, x, y)
    condition = as_bool(condition)
    x, y = promote_dtypes("where", x, y)
    shapes = [typeof(v).shape for v in (condition, x, y)]
    shape = broadcast_shapes("where", *shapes)
    return lax.select_n(*repeat_cases(condition, y, x, shape=shape))


def where(
    condition: ArrayLike,
    x: ArrayLike | None = None,
    y: ArrayLike | None = None,
    /,
    *,
    size: int | None = None,
    fill_value: Any = None,
) -> Any:
    """Choose between two arrays, element by element; with one argument, find the true elements.

    Args:
      condition: booleans (or numbers, which count when they differ from zero).
      x, y: arrays that broadcast with `condition`; taken where it is True and False.
      size: with one argument, static number of indices to return.
      fill_value: with `size`, index to pad with.

    Returns:
      The chosen elements; or with one argument what `nonzero` returns.

    Raises:
      ValueError: only one of `x` and `y` is given.

    Example:
      >>> where(jnp.array([True, False]), 1.0, 2.0)
      Array([1., 2.], dtype=float32, weak_type=True)
    """
    if x is None and y is None:
        return nonzero(condition, size=size, fill_value=fill_value)
    if x is None or y is None or size is not None or fill_value is not None:
        raise ValueError(
            "where: given one of x and y, or size= together with them; expected both x and y, or "
            "neither. Use where(condition, x, y) or nonzero(condition, size=n)."
        )
    return _where(condition, x, y)


@composite
def _clip(a: Any, lo: Any, hi: Any) -> Array:
    given = [v for v in (a, lo, hi) if v is not None]
    check_arraylike("clip", *given)
    if any(issubdtype(typeof(v).dtype, np.complexfloating) for v in given):
        raise ValueError(
            "clip: given complex operands, expected real ones: complex numbers have no order. "
            "Clip the real and imaginary parts."
        )
    if lo is not None:
        a = maximum.inline(a, lo)
    return a if hi is None else minimum.inline(a, hi)


def _bound(bound: Any, dtype: Any, is_lower: bool) -> Any:
    """Return an integer bound as a number that `dtype` can hold, or None if it never binds."""
    if type(bound) is not int or not issubdtype(dtype, np.integer):
        return bound
    info = iinfo(dtype)
    if is_lower:
        return None if bound < info.min else dtype.type(bound) if bound <= info.max else bound
    return None if bound > info.max else dtype.type(bound) if bound >= info.min else bound


def clip(
    arr: ArrayLike | None = None, /, min: ArrayLike | None = None, max: ArrayLike | None = None,
) -> Array:  # fmt: skip
    """Limit elements to an interval.

    Args:
      arr: any shape, real.
      min, max: bounds that broadcast with `arr`; None means unbounded. Integer bounds that the
        dtype of `arr` can't hold are applied as NumPy does.

    Raises:
      ValueError: complex operands.
    """
    if type(min) is int or type(max) is int:
        dtype = getattr(arr, "dtype", None)
        if dtype is not None and dtype.kind not in "fc" and not typeof(arr).weak_type:
            min, max = _bound(min, dtype, True), _bound(max, dtype, False)
    compiled, inline = _clip.compiled, _clip.inline  # pyright: ignore[reportFunctionMemberAccess]
    return (compiled if state.trace is eval_trace else inline)(arr, min, max)


@composite
def select(
    condlist: Sequence[ArrayLike], choicelist: Sequence[ArrayLike], default: Any = 0
) -> Array:
    """Take each element from the first choice whose condition holds.

    Args:
      condlist: boolean arrays.
      choicelist: as many arrays that broadcast with them.
      default: value where no condition holds.

    Raises:
      ValueError: the lists are empty or of different length.
    """
    if len(condlist) != len(choicelist) or not condlist:
        raise ValueError(
            f"select: given {len(condlist)} conditions and {len(choicelist)} choices, expected "
            "as many of both and at least one."
        )
    out = default
    for condition, choice in zip(reversed(condlist), reversed(choicelist), strict=True):
        out = where(condition, choice, out)
    return out
