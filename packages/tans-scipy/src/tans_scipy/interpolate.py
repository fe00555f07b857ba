"""Interpolation of values on a grid."""

from collections.abc import Sequence
from itertools import product
from typing import Any

import tans_numpy as jnp
from tans_core import typeof
from tans_numpy.operands import ArrayLike, check_arraylike, promote_dtypes_inexact

__all__ = ("RegularGridInterpolator",)

type Array = Any


class RegularGridInterpolator:
    """Interpolates values on a rectangular grid, whose lines need not be equally spaced.

    Args:
      points: one vector of ascending coordinates for each dimension.
      values: values on the grid [n_1, ..., n_d, ...]; integers become floats.
      method: "linear" or "nearest".
      bounds_error: must be False: arrays that are traced can't raise.
      fill_value: value outside the grid; None extrapolates.

    Raises:
      ValueError: unknown method, or shapes that do not fit.
      NotImplementedError: `bounds_error` is True.

    Example:
      >>> f = RegularGridInterpolator((jnp.arange(3.0),), jnp.array([0.0, 1.0, 4.0]))
      >>> f(jnp.array([[1.5]])).tolist()
      [2.5]
    """

    def __init__(
        self,
        points: Sequence[ArrayLike],
        values: ArrayLike,
        method: str = "linear",
        bounds_error: bool = False,
        fill_value: float | None = jnp.nan,
    ) -> None:
        if method not in ("linear", "nearest"):
            raise ValueError(
                f"RegularGridInterpolator: given method={method!r}, expected 'linear' or 'nearest'."
            )
        if bounds_error:
            raise NotImplementedError(
                "RegularGridInterpolator: given bounds_error=True, expected False. Compare with "
                "the first and last coordinates yourself, or use fill_value=nan."
            )
        check_arraylike("RegularGridInterpolator", values, *points)
        (values,) = promote_dtypes_inexact("RegularGridInterpolator", values)
        sizes = tuple(typeof(p).size for p in points)
        if len(points) > typeof(values).ndim or sizes != typeof(values).shape[: len(points)]:
            raise ValueError(
                f"RegularGridInterpolator: given {sizes} coordinates for values of shape "
                f"{typeof(values).shape}, expected one for each line of the grid."
            )
        self.method, self.fill_value, self.bounds_error = method, fill_value, bounds_error
        self.values = jnp.asarray(values)
        lines = promote_dtypes_inexact("RegularGridInterpolator", *points, values)[:-1]
        self.grid = tuple(jnp.asarray(line) for line in lines)

    def __call__(self, xi: ArrayLike, method: str | None = None) -> Array:
        """Return the values at some places.

        Args:
          xi: coordinates [..., d], or a tuple of d arrays that broadcast.
          method: as for the class; that of the object if None.

        Returns:
          Array of the shape ``xi.shape[:-1]`` and the further dimensions of the values.

        Raises:
          ValueError: another number of coordinates.
        """
        method = self.method if method is None else method
        if method not in ("linear", "nearest"):
            raise ValueError(
                f"RegularGridInterpolator: given method={method!r}, expected 'linear' or 'nearest'."
            )
        if isinstance(xi, tuple):
            xi = jnp.stack(jnp.broadcast_arrays(*xi), -1)
        (places,) = promote_dtypes_inexact("RegularGridInterpolator", jnp.asarray(xi))
        places = places[:, None] if places.ndim == 1 and len(self.grid) == 1 else places
        if places.shape[-1] != len(self.grid):
            raise ValueError(
                f"RegularGridInterpolator: given places of shape {places.shape}, expected "
                f"{len(self.grid)} coordinates in the last dimension."
            )
        lines = [self._locate(places[..., k], line) for k, line in enumerate(self.grid)]
        out = self._linear(lines) if method == "linear" else self._nearest(lines)
        if self.fill_value is None:
            return out
        outside = jnp.zeros(places.shape[:-1], bool)
        for k, line in enumerate(self.grid):
            outside |= (places[..., k] < line[0]) | (places[..., k] > line[-1])
        mask = outside.reshape(outside.shape + (1,) * (out.ndim - outside.ndim))
        filled = jnp.where(mask, self.fill_value, out)
        # Coordinates that are nan have no value.
        lost = jnp.any(jnp.isnan(places), -1).reshape(mask.shape)
        return jnp.where(lost, jnp.nan, filled)

    @staticmethod
    def _locate(x: Array, line: Array) -> tuple[Array, Array]:
        """Return the cell of each coordinate, and how far along it lies."""
        cell = jnp.clip(jnp.searchsorted(line, x, side="right") - 1, 0, max(line.shape[0] - 2, 0))
        width = line[jnp.minimum(cell + 1, line.shape[0] - 1)] - line[cell]
        return cell, jnp.where(width == 0, 0, (x - line[cell]) / jnp.where(width == 0, 1, width))

    def _linear(self, lines: list[tuple[Array, Array]]) -> Array:
        total: Any = 0
        for corner in product((0, 1), repeat=len(lines)):
            weight: Any = 1
            for side, (_, part) in zip(corner, lines, strict=True):
                weight = weight * (part if side else 1 - part)
            index = tuple(
                jnp.minimum(cell + side, n - 1)
                for side, (cell, _), n in zip(corner, lines, self.values.shape, strict=False)
            )
            value = self.values[index]
            total = total + value * weight.reshape(weight.shape + (1,) * (value.ndim - weight.ndim))
        return total

    def _nearest(self, lines: list[tuple[Array, Array]]) -> Array:
        index = tuple(
            jnp.minimum(jnp.where(part <= 0.5, cell, cell + 1), n - 1)
            for (cell, part), n in zip(lines, self.values.shape, strict=False)
        )
        return self.values[index]
