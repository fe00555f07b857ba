"""Requests for the accuracy of transcendental functions."""

from dataclasses import dataclass
from enum import Enum


class AccuracyMode(Enum):
    """How accurate a transcendental function must be: as chosen by the compiler, or the best."""

    HIGHEST = 1
    DEFAULT = 2


@dataclass(frozen=True, slots=True)
class Tolerance:
    """Errors that a transcendental function may have.

    Args:
      atol: absolute error.
      rtol: relative error.
      ulps: error in units in the last place.

    Raises:
      ValueError: a bound is negative.

    Example:
      >>> Tolerance(rtol=1e-3).rtol
      0.001
    """

    atol: float = 0.0
    rtol: float = 0.0
    ulps: int = 0

    def __post_init__(self) -> None:
        if self.atol < 0 or self.rtol < 0 or self.ulps < 0:
            raise ValueError(
                f"Tolerance: given atol={self.atol}, rtol={self.rtol}, ulps={self.ulps}; expected "
                "bounds of at least 0. Leave out the bounds that do not matter."
            )
