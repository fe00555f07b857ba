"""Rounding to narrow floats, to nearest and ties to even, by arithmetic in double precision."""

from typing import Any, Final, NamedTuple

import numpy as np


class Format(NamedTuple):
    """A binary float format.

    Attributes:
      digits: bits of the significand, the implicit one included.
      least: exponent of the smallest normal number.
      greatest: largest finite number.
    """

    digits: int
    least: int
    greatest: float


FORMATS: Final = {
    "f8e4m3fn": Format(4, -6, 448.0),
    "f8e5m2": Format(3, -14, 57344.0),
    "bf16": Format(8, -126, (2 - 2.0**-7) * 2.0**127),
    "f16": Format(11, -14, 65504.0),
    "tf32": Format(11, -126, (2 - 2.0**-10) * 2.0**127),
    "f32": Format(24, -126, (2 - 2.0**-23) * 2.0**127),
}


def rounded(x: Any, kind: str) -> np.ndarray:
    """Round to a float format.

    Args:
      x: array of any shape.
      kind: "bf16", "f16", "tf32", "f32", "f8e4m3fn", "f8e5m2", or "f64", which changes nothing.

    Returns:
      float64 array of numbers that the format has; too large ones are infinite.

    Raises:
      ValueError: no such format.

    Example:
      >>> rounded([1.004, 1.0], "bf16").tolist()
      [1.0078125, 1.0]
    """
    wide = np.asarray(x, np.float64)
    if kind == "f64":
        return wide
    if kind not in FORMATS:
        raise ValueError(
            f"rounded: given kind={kind!r}, expected one of {', '.join(FORMATS)} or f64. "
            "Name the format, not the dtype."
        )
    digits, least, greatest = FORMATS[kind]
    # The leading bit stands for 2 ** (exponent - 1); NumPy may warn of an exponent of inf or nan.
    _, exponent = np.frexp(np.where(np.isfinite(wide), wide, 0.0))
    quantum = np.ldexp(1.0, np.maximum(exponent - 1, least) - (digits - 1))
    with np.errstate(invalid="ignore"):
        found = np.rint(wide / quantum) * quantum
    return np.where(np.abs(found) > greatest, np.copysign(np.inf, wide), found)


def split(x: np.ndarray, kind: str, count: int) -> list[np.ndarray]:
    """Write `x` as a sum of numbers of a format, each the rounded rest: x = x0 + x1 + ..."""
    parts: list[np.ndarray] = []
    rest = np.asarray(x, np.float64)
    for _ in range(count):
        part = rounded(rest, kind)
        parts.append(part)
        with np.errstate(invalid="ignore"):
            rest = np.where(np.isfinite(part), rest - part, 0.0)
    return parts
