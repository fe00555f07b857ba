"""Putting dimensions back and repeating along them, on values of one program."""

from typing import Any

import tans_lax as lax
from tans_core import typeof

type Array = Any


def keep_dims(reduced: Array, shape: tuple[int, ...], axes: tuple[int, ...]) -> Array:
    """Put dimensions of size 1 back where `axes` of an array with `shape` were reduced."""
    dims = tuple(1 if i in axes else n for i, n in enumerate(shape))
    kept = tuple(i for i in range(len(shape)) if i not in axes)
    return lax.broadcast_in_dim(reduced, dims, kept)


def repeat_to(x: Any, shape: tuple[int, ...]) -> Any:
    """Repeat a value along leading dimensions to a shape that it broadcasts to, or return it."""
    have = typeof(x).shape
    if have == shape:
        return x
    return lax.broadcast_in_dim(x, shape, tuple(range(len(shape) - len(have), len(shape))))
