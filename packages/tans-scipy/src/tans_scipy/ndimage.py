"""Interpolation of arrays at coordinates."""

import functools
import itertools
import operator
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

import tans_lax as lax
import tans_numpy as jnp
from tans_core import dtypes, typeof
from tans_numpy.operands import ArrayLike, to_inexact
from tans_xla import composite

__all__ = ("map_coordinates",)

type Array = Any


def _mirror(index: Array, n: int) -> Array:
    last = n - 1
    return jnp.abs((index + last) % (2 * last) - last) if last else jnp.zeros_like(index)


def _reflect(index: Array, n: int) -> Array:
    return _mirror(2 * index + 1, 2 * n + 1) // 2


# Where indices outside lead; None: to the constant.
_MODES: Final[dict[str, Callable[[Array, int], Array] | None]] = {
    "constant": None,
    "nearest": lambda index, n: jnp.clip(index, 0, n - 1),
    "wrap": lambda index, n: index % n,
    "mirror": _mirror,
    "reflect": _reflect,
}


def map_coordinates(
    input: ArrayLike, coordinates: Sequence[ArrayLike], order: int, mode: str = "constant",
    cval: ArrayLike = 0.0,
) -> Array:  # fmt: skip
    """Interpolate an array at coordinates.

    Args:
      input: any shape of rank k.
      coordinates: k arrays of one shape, in units of indices.
      order: 0 for the nearest element, 1 for linear interpolation.
      mode: what lies outside: "constant", "nearest", "wrap", "mirror" or "reflect".
      cval: the constant.

    Returns:
      Array of the shape of the coordinates and the dtype of `input`.

    Raises:
      NotImplementedError: another order or mode.
      ValueError: the number of coordinates is not the rank of `input`.

    Example:
      >>> map_coordinates(jnp.arange(3.0), [jnp.array([0.5, 1.25])], 1).tolist()
      [0.5, 1.25]
    """
    if order not in (0, 1):
        raise NotImplementedError(
            f"map_coordinates: given order={order}, expected 0 or 1. Use order=1."
        )
    if mode not in _MODES:
        raise NotImplementedError(
            f"map_coordinates: given mode={mode!r}, expected one of {sorted(_MODES)}. Use "
            "'constant'."
        )
    parts = tuple(coordinates)
    if len(parts) != typeof(input).ndim:
        raise ValueError(
            f"map_coordinates: given {len(parts)} coordinates for an array of rank "
            f"{typeof(input).ndim}, expected one for each dimension. Stack them along the first "
            "dimension."
        )
    return _interpolate(input, parts, cval, order=order, mode=mode)


@composite(static_argnames=("order", "mode"))
def _interpolate(
    values: Any, coordinates: tuple[Any, ...], cval: Any, *, order: int, mode: str
) -> Array:
    values = jnp.asarray(values)
    coordinates = tuple(map(jnp.asarray, coordinates))
    dtype = values.dtype
    cval = jnp.asarray(cval, dtype)
    fix = _MODES[mode]
    choices = [
        [(_fixed(index, n, fix), weight) for index, weight in _neighbours(c, order)]
        for c, n in zip(coordinates, values.shape, strict=True)
    ]
    total: Any = None
    for corner in itertools.product(*choices):
        picked = values[tuple(index for (index, _), _ in corner)]
        if fix is None:
            inside = functools.reduce(operator.and_, (valid for (_, valid), _ in corner))
            picked = jnp.where(inside, picked, cval)
        for _, weight in corner:
            picked = picked if weight is None else weight * picked
        total = picked if total is None else total + picked
    if total is None:
        return values
    if not dtypes.is_inexact(dtype) and dtypes.is_inexact(total.dtype):
        total = lax.round(total)
    return total.astype(dtype)


def _neighbours(coordinate: Array, order: int) -> list[tuple[Array, Any]]:
    """Return the indices around a coordinate, with their weights."""
    coordinate = lax.convert_element_type(coordinate, to_inexact(coordinate.dtype))
    if order == 0:
        return [(lax.round(coordinate).astype(np.int32), None)]
    lower = lax.floor(coordinate)
    upper_weight = coordinate - lower
    index = lower.astype(np.int32)
    return [(index, 1 - upper_weight), (index + 1, upper_weight)]


def _fixed(index: Array, n: int, fix: Callable[[Array, int], Array] | None) -> tuple[Array, Any]:
    if fix is not None:
        return fix(index, n), None
    return jnp.clip(index, 0, n - 1), (index >= 0) & (index < n)
