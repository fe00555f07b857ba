"""Sizes as values of a program."""

from collections.abc import Sequence
from typing import Any

import numpy as np

import tans_lax as lax
from tans_xla.sizes import Size, has_symbolic, is_symbolic

type Value = Any  # an array, a NumPy scalar or a tracer


def size_value(size: Size, dtype: Any) -> Value:
    """Return a size as a scalar of a dtype; that of a symbolic size is computed by the program."""
    if not is_symbolic(size):
        return np.dtype(dtype).type(size)
    return lax.convert_element_type(size.__jax_array__(), dtype)


def scaled_size(size: Size, factor: Any, dtype: Any) -> Value:
    """Return a size times a number as a scalar of a dtype."""
    if not is_symbolic(size):
        return np.dtype(dtype).type(size * factor)
    return lax.mul(size_value(size, dtype), np.dtype(dtype).type(factor))


def size_vector(sizes: Sequence[Size], dtype: Any) -> Value:
    """Return sizes as a vector of a dtype."""
    if not has_symbolic(sizes):
        return np.array(sizes, dtype)
    return lax.stack([size_value(size, dtype) for size in sizes])
