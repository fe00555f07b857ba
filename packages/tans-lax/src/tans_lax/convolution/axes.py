"""Folding of one axis into another and back, as grouping and batching of convolutions need."""

from typing import Any

import tans_lax as lax
from tans_core import typeof

type Value = Any


def fold_axis(x: Value, source: int, target: int) -> Value:
    """Merge axis `source` into another, as its slower part.

    Args:
      x: any shape.
      source: the axis to remove, counted in `x`.
      target: the axis to merge into, counted without `source`.
    """
    shape = list(typeof(x).shape)
    size = shape.pop(source)
    order = [axis for axis in range(len(shape) + 1) if axis != source]
    order.insert(target, source)
    shape[target] *= size
    return lax.reshape(lax.transpose(x, tuple(order)), tuple(shape))


def split_axis(x: Value, axis: int, size: int) -> Value:
    """Split an axis into a slower part of `size`, which takes its place, and the rest."""
    shape = list(typeof(x).shape)
    shape[axis : axis + 1] = [size, shape[axis] // size if size else 0]
    return lax.reshape(x, tuple(shape))
