"""Integrals of sampled functions."""

from typing import Any

import tans_numpy as jnp
from tans_numpy.operands import ArrayLike

__all__ = ("trapezoid",)


def trapezoid(y: ArrayLike, x: ArrayLike | None = None, dx: ArrayLike = 1.0, axis: int = -1) -> Any:
    """Integrate along a dimension by the trapezoid rule.

    Args:
      y: values, any shape; integers become floats.
      x: places of the values, broadcast against `y`, or [n] along `axis`; equal steps if None.
      dx: step between values where `x` is None.
      axis: the dimension.

    Returns:
      Array of the shape of `y` without `axis`.

    Example:
      >>> trapezoid(jnp.array([1.0, 2.0, 3.0])).item()
      4.0
    """
    return jnp.trapezoid(y, x, dx, axis)
