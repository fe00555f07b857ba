"""Checks of arguments that the indexing functions share."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import tans_lax as lax
from tans_core import Array, is_evaluating, typeof
from tans_core.dtype_queries import issubdtype
from tans_xla import device_put

type Value = Any  # an array, a Python scalar or a tracer


def as_jax(x: Value) -> Value:
    """Return `x` as an array or tracer."""
    if isinstance(x, Array):
        return x
    return device_put(x) if is_evaluating() else np.asarray(x)


def widened(indices: Value) -> Value:
    """Return integers of a few bits as int32, other values as they are."""
    dtype = typeof(indices).dtype
    if not isinstance(dtype, np.dtype) or dtype.kind != "V" or not issubdtype(dtype, np.integer):
        return indices
    if isinstance(indices, Array):
        return lax.convert_element_type(indices, np.dtype(np.int32))
    return indices.astype(np.int32)


def check_arrays(name: str, *args: Any) -> None:
    """Refuse lists and tuples."""
    for k, x in enumerate(args):
        if isinstance(x, Sequence):
            raise TypeError(
                f"{name}: given a {type(x).__name__} as argument {k}, expected an array or a "
                "scalar. Convert it first: jnp.array(x)."
            )


def check_not_inplace(name: str, inplace: bool) -> None:
    """Refuse to write in place."""
    if inplace:
        raise ValueError(
            f"{name}: given inplace=True, expected inplace=False: arrays are immutable. Pass "
            "inplace=False and use the result."
        )


def canonical_axis(name: str, axis: int, ndim: int) -> int:
    """Return an axis counted from the start."""
    if not -ndim <= axis < ndim:
        raise ValueError(
            f"{name}: given axis {axis}, expected one of {-ndim} to {ndim - 1} for an array with "
            f"{ndim} dimensions."
        )
    return axis % ndim


def fill_scalar(value: Any) -> Any:
    """Return a fill value as a Python scalar, the key of caches."""
    if value is None:
        return None
    if isinstance(value, str | bytes):
        raise TypeError(
            f"given fill_value={value!r} of type {type(value).__name__}, expected a number."
        )
    if np.ndim(value):
        raise ValueError(
            f"given a fill_value of shape {np.shape(value)}, expected a scalar. To "
            "fill with an array, use jnp.where on the result."
        )
    value = np.asarray(value).item()
    # One object for nan, which does not equal itself: the fill value is a key of caches.
    return math.nan if isinstance(value, float) and value != value else value
