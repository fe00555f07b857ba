"""What functions of matrices ask of their operands."""

from typing import Any

from tans_core import typeof

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
