"""Putting dimensions back and repeating along them, on values of one program."""

import operator
from typing import Any, Final

import numpy as np

import tans_lax as lax
from tans_core import ArrayImpl, typeof
from tans_lax.mesh.specs import partitions_like

type Array = Any

_FAR: Final = 1 << 30


def sizes_of(shape: Any) -> Any:
    """Return the sizes in a shape: an int, a sequence or a vector of known integers."""
    if isinstance(shape, tuple | list):
        return shape
    if type(shape) is ArrayImpl and shape.ndim == 1 and shape.dtype.kind in "iu":
        shape = np.asarray(shape)
    if isinstance(shape, np.ndarray):
        return shape.tolist() if shape.ndim else [shape.item()]
    return (shape,)


def keep_dims(reduced: Array, shape: tuple[int, ...], axes: tuple[int, ...]) -> Array:
    """Put dimensions of size 1 back where `axes` of an array with `shape` were reduced."""
    dims = tuple(1 if i in axes else n for i, n in enumerate(shape))
    kept = tuple(i for i in range(len(shape)) if i not in axes)
    return lax.broadcast_in_dim(reduced, dims, kept)


def repeat_to(x: Any, shape: tuple[int, ...], out_sharding: Any = None) -> Any:
    """Repeat a value along leading dimensions to a shape that it broadcasts to, or return it."""
    have = typeof(x).shape
    if have == shape:
        return x
    places = tuple(range(len(shape) - len(have), len(shape)))
    return lax.broadcast_in_dim(x, shape, places, out_sharding=out_sharding)


def repeat_cases(which: Any, *cases: Any, shape: tuple[int, ...]) -> list[Any]:
    """Repeat what is chosen from, and what chooses unless it is a scalar, to a shape.

    What is repeated lies on the mesh like the first case that is not.
    """
    avals = [typeof(x) for x in cases]
    full = [a for a in avals if a.shape == shape and a.is_sharded]
    sharding = full[0].sharding if full and not full[0].sharding.spec.unreduced else None
    repeated = [repeat_to(x, shape, sharding) for x in cases]
    if typeof(which).shape:
        which = repeat_to(which, shape, sharding and partitions_like(repeated[0]))
    return [which, *repeated]


def diagonal_offset(k: Any) -> int:
    """Return the number of a diagonal as an int that can be added to rows; far ones are near."""
    return max(-_FAR, min(operator.index(k), _FAR))
