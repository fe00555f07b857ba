"""What functions of matrices ask of their operands."""

from typing import Any

import numpy as np

import tans_numpy as jnp
from tans_core import typeof
from tans_numpy.operands import ArrayLike, promote_dtypes_inexact

type Array = Any


def check_square(name: str, a: Array) -> int:
    """Return the size of square matrices.

    Raises:
      ValueError: the last two dimensions differ.
    """
    dims = typeof(a).shape
    if len(dims) < 2 or dims[-1] != dims[-2]:
        raise ValueError(
            f"{name}: given an array of shape {dims}, expected square matrices [..., n, n]. "
            "Transpose or slice it."
        )
    return dims[-1]


def inexact_square(name: str, a: ArrayLike) -> Array:
    """Return square matrices [..., n, n] of an inexact dtype.

    Raises:
      ValueError: the last two dimensions differ.
    """
    (a,) = promote_dtypes_inexact(name, a)
    a = jnp.asarray(a)
    check_square(name, a)
    return a


def as_complex(a: Array) -> Array:
    """Return an array in the complex dtype of its precision."""
    return a.astype(np.result_type(a.dtype, np.complex64))
