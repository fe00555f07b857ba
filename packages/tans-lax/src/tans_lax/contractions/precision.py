"""The precision argument of matrix products and convolutions.

A precision is stored in one of four canonical forms: None, a pair of `Precision`, a
`DotAlgorithmPreset` or a `DotAlgorithm`.
"""

import enum
from collections.abc import Sequence
from typing import Any, Final, Self, override

from tans_core import config
from tans_lax.contractions.algorithms import DotAlgorithm, DotAlgorithmPreset

type PrecisionLike = Any  # None, a level, a pair of levels, an algorithm, or the name of one
type CanonicalPrecision = tuple[Precision, Precision] | DotAlgorithmPreset | DotAlgorithm | None

_LEVEL_NAMES: Final = {
    "highest": 2,
    "float32": 2,
    "high": 1,
    "bfloat16_3x": 1,
    "tensorfloat32": 1,
    "default": 0,
    "bfloat16": 0,
    "fastest": 0,
    None: 0,
}


class Precision(enum.Enum):
    """How exactly an accelerator multiplies 32-bit floats; CPUs always use full precision.

    ``Precision("high")`` accepts each level's name and its aliases.
    """

    DEFAULT = 0
    HIGH = 1
    HIGHEST = 2

    @classmethod
    @override
    def _missing_(cls, value: object) -> Self | None:
        if isinstance(value, str | None) and value in _LEVEL_NAMES:
            return cls(_LEVEL_NAMES[value])
        return None

    @override
    def __repr__(self) -> str:
        return f"{type(self).__name__}.{self.name}"

    @override
    def __str__(self) -> str:
        return self.name


def canonicalize_precision(precision: PrecisionLike) -> CanonicalPrecision:
    """Return the canonical form of a precision argument; None reads the configured default.

    Raises:
      ValueError: not a precision.

    Example:
      >>> canonicalize_precision("high")
      (Precision.HIGH, Precision.HIGH)
    """
    if precision is None:
        precision = config.default_matmul_precision.value
        if precision is None:
            return None
    if isinstance(precision, DotAlgorithmPreset | DotAlgorithm):
        return precision
    if isinstance(precision, Precision):
        return (precision, precision)
    if isinstance(precision, str):
        return _from_name(precision)
    if isinstance(precision, Sequence) and len(precision) == 2:
        if all(isinstance(p, Precision) for p in precision):
            return (precision[0], precision[1])
        if all(isinstance(p, str) and p in _LEVEL_NAMES for p in precision):
            return (Precision(precision[0]), Precision(precision[1]))
    raise _not_a_precision(precision)


_parse_name: Final = config.default_matmul_precision.parse


def _parse_default(flag: str, value: PrecisionLike) -> PrecisionLike:
    """Accept as the default what the argument accepts; names are known before this is imported."""
    if value is None or isinstance(value, str):
        return _parse_name(flag, value)
    canonical = canonicalize_precision(value)
    return tuple(value) if type(value) is list else (value if canonical else None)


config.default_matmul_precision.parse = _parse_default


def _from_name(name: str) -> CanonicalPrecision:
    if name in _LEVEL_NAMES:
        return (Precision(name), Precision(name))
    if name in DotAlgorithmPreset.__members__:
        return DotAlgorithmPreset[name]
    raise _not_a_precision(name)


def _not_a_precision(given: Any) -> ValueError:
    levels = [name for name in _LEVEL_NAMES if name is not None]
    shown = given if isinstance(given, str) else repr(given)
    return ValueError(
        f"precision: given {shown}, expected None, one of the levels {levels}, a lax.Precision, "
        "a pair of either, a lax.DotAlgorithmPreset or its upper-case name, or a lax.DotAlgorithm. "
        "For full float32 products write precision='highest'."
    )
