"""Algorithms of matrix products: the types of their parts and sums, and the named presets."""

import enum
from typing import Any, Final, NamedTuple, override

import ml_dtypes
import numpy as np


class DotAlgorithm(NamedTuple):
    """Types and number of passes of a matrix product; the backend must support the combination.

    Attributes:
      lhs_precision_type: dtype that elements of the left operand are rounded to.
      rhs_precision_type: the same for the right operand.
      accumulation_type: dtype of the sums.
      lhs_component_count: parts that each left element is split into.
      rhs_component_count: the same for the right operand.
      num_primitive_operations: products of parts that are formed.
      allow_imprecise_accumulation: whether sums may be kept in fewer bits.
    """

    lhs_precision_type: Any
    rhs_precision_type: Any
    accumulation_type: Any
    lhs_component_count: int = 1
    rhs_component_count: int = 1
    num_primitive_operations: int = 1
    allow_imprecise_accumulation: bool = False


_F8_KINDS: Final = [
    "e4m3b11fnuz",
    "e4m3fn",
    "e4m3fnuz",
    "e5m2",
    "e5m2fnuz",
    "e3m4",
    "e4m3",
    "e8m0fnu",
]
_F8: Final = tuple(np.dtype(getattr(ml_dtypes, f"float8_{kind}")) for kind in _F8_KINDS)
_BF16, _F16, _F32, _F64 = (
    np.dtype(t) for t in (ml_dtypes.bfloat16, np.float16, np.float32, np.float64)
)


class DotAlgorithmPreset(enum.Enum):
    """Named algorithms: types of the left operand, the right operand and the sums, then passes."""

    DEFAULT = 1
    ANY_F8_ANY_F8_F32 = 2
    ANY_F8_ANY_F8_F32_FAST_ACCUM = 3
    ANY_F8_ANY_F8_ANY = 4
    ANY_F8_ANY_F8_ANY_FAST_ACCUM = 5
    F16_F16_F16 = 6
    F16_F16_F32 = 7
    BF16_BF16_BF16 = 8
    BF16_BF16_F32 = 9
    BF16_BF16_F32_X3 = 10
    BF16_BF16_F32_X6 = 11
    BF16_BF16_F32_X9 = 12
    TF32_TF32_F32 = 13
    TF32_TF32_F32_X3 = 14
    F32_F32_F32 = 15
    F64_F64_F64 = 16

    @override
    def __repr__(self) -> str:
        return f"{type(self).__name__}.{self.name}"

    @override
    def __str__(self) -> str:
        return self.name

    @property
    def is_f8(self) -> bool:
        """Whether the preset takes 8-bit floats as they are."""
        return "F8" in self.name

    @property
    def supported_lhs_types(self) -> tuple[np.dtype, ...] | None:
        """Dtypes that operands may be stored in; others are cast to the first. None means any."""
        return _STORAGE[self]

    @property
    def supported_rhs_types(self) -> tuple[np.dtype, ...] | None:
        """As `supported_lhs_types`."""
        return _STORAGE[self]

    @property
    def accumulation_type(self) -> np.dtype | None:
        """Dtype of the sums; None when the backend chooses."""
        return _ACCUMULATION.get(self)

    def supported_output_types(self, lhs_dtype: Any, rhs_dtype: Any) -> tuple[np.dtype, ...] | None:
        """Return the dtypes the product may have, the preferred one first; None means any.

        Args:
          lhs_dtype: storage dtype of the left operand.
          rhs_dtype: storage dtype of the right operand.
        """
        outputs = _OUTPUTS.get(self)
        narrow = _NARROW_OUTPUT.get(self)
        if outputs is not None and narrow is not None and lhs_dtype == rhs_dtype == narrow:
            return (*outputs, narrow)
        return outputs


_P = DotAlgorithmPreset
_STORAGE: Final = {
    _P.DEFAULT: None,
    **{preset: _F8 for preset in _P if preset.is_f8},
    _P.F16_F16_F16: (_F16,),
    _P.F16_F16_F32: (_F16,),
    _P.BF16_BF16_BF16: (_BF16, _F32),
    _P.BF16_BF16_F32: (_BF16, _F32),
    _P.BF16_BF16_F32_X3: (_F32,),
    _P.BF16_BF16_F32_X6: (_F32,),
    _P.BF16_BF16_F32_X9: (_F32,),
    _P.TF32_TF32_F32: (_F32,),
    _P.TF32_TF32_F32_X3: (_F32,),
    _P.F32_F32_F32: (_F32,),
    _P.F64_F64_F64: (_F64,),
}
_ACCUMULATION: Final = {
    **{preset: _F32 for preset in _P if "_F32" in preset.name},
    _P.F16_F16_F16: _F16,
    _P.BF16_BF16_BF16: _BF16,
    _P.F64_F64_F64: _F64,
}
_OUTPUTS: Final = {
    **{preset: (dtype,) for preset, dtype in _ACCUMULATION.items() if not preset.is_f8},
    _P.ANY_F8_ANY_F8_F32: (_F32, _F16, _BF16, *_F8[:5]),
    _P.ANY_F8_ANY_F8_F32_FAST_ACCUM: (_F32, _F16, _BF16, *_F8[:5]),
}
_NARROW_OUTPUT: Final = {_P.F16_F16_F32: _F16, _P.BF16_BF16_F32: _BF16}
# Precision type, accumulation type and number of passes in the attribute's spelling.
_ATTRIBUTES: Final = {
    _P.F16_F16_F16: ("f16", "f16", 1),
    _P.F16_F16_F32: ("f16", "f32", 1),
    _P.BF16_BF16_BF16: ("bf16", "bf16", 1),
    _P.BF16_BF16_F32: ("bf16", "f32", 1),
    _P.BF16_BF16_F32_X3: ("bf16", "f32", 3),
    _P.BF16_BF16_F32_X6: ("bf16", "f32", 6),
    _P.BF16_BF16_F32_X9: ("bf16", "f32", 9),
    _P.TF32_TF32_F32: ("tf32", "f32", 1),
    _P.TF32_TF32_F32_X3: ("tf32", "f32", 3),
    _P.F32_F32_F32: ("f32", "f32", 1),
    _P.F64_F64_F64: ("f64", "f64", 1),
}
_ELEMENTS: Final = {_BF16: "bf16", _F16: "f16", _F32: "f32", _F64: "f64"} | {
    dtype: f"f8{dtype.name.removeprefix('float8_').upper()}" for dtype in _F8
}


def algorithm_text(
    algorithm: DotAlgorithm | DotAlgorithmPreset, lhs_dtype: Any = None, rhs_dtype: Any = None
) -> str:
    """Return the StableHLO attribute of an algorithm.

    Args:
      algorithm: a custom algorithm, or a preset other than DEFAULT.
      lhs_dtype: storage dtype of the left operand; read for 8-bit presets only.
      rhs_dtype: the same for the right operand.
    """
    if isinstance(algorithm, DotAlgorithm):
        lhs, rhs, accumulation = (_element(np.dtype(t)) for t in algorithm[:3])
        return _attribute(lhs, rhs, accumulation, *algorithm[3:])
    if algorithm.is_f8:
        imprecise = algorithm.name.endswith("_FAST_ACCUM")
        return _attribute(_element(lhs_dtype), _element(rhs_dtype), "f32", 1, 1, 1, imprecise)
    precision, accumulation, passes = _ATTRIBUTES[algorithm]
    return _attribute(precision, precision, accumulation, 1, 1, passes, False)


def _element(dtype: np.dtype) -> str:
    if dtype not in _ELEMENTS:
        raise TypeError(
            f"DotAlgorithm: given type {dtype}, expected a float dtype of at most 64 bits"
        )
    return _ELEMENTS[dtype]


def _attribute(
    lhs: str,
    rhs: str,
    accumulation: str,
    lhs_components: int,
    rhs_components: int,
    passes: int,
    imprecise: bool,
) -> str:
    return (
        f"#stablehlo.dot_algorithm<lhs_precision_type = {lhs}, rhs_precision_type = {rhs}, "
        f"accumulation_type = {accumulation}, lhs_component_count = {lhs_components}, "
        f"rhs_component_count = {rhs_components}, num_primitive_operations = {passes}, "
        f"allow_imprecise_accumulation = {str(bool(imprecise)).lower()}>"
    )
