"""Algorithms of convolutions. StableHLO has attributes for those of matrix products only.

An algorithm is applied by storing the operands and the sums in its types, and by the lowest level
that is at least as exact as its passes. Where there is none, it is refused.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple, NoReturn

from tans_core import ShapedArray
from tans_core.dtypes import SMALL_FLOATS
from tans_lax.contractions.algorithms import DotAlgorithm, DotAlgorithmPreset
from tans_lax.contractions.lowering import refuse_complex
from tans_lax.contractions.precision import CanonicalPrecision, Precision

_P = DotAlgorithmPreset


class ConvPlan(NamedTuple):
    """How a convolution is computed.

    Attributes:
      storage: dtype that both operands are cast to, or None for their own.
      sums: dtype of the result of the operation, or None for that of the result.
      levels: precision levels.
    """

    storage: Any
    sums: Any
    levels: CanonicalPrecision


# The lowest level that is as exact, where levels mean passes of bfloat16 (TPU), and where they mean
# TF32 (GPU). On CPUs all levels are float32.
_TPU_LEVELS: Final = {
    _P.BF16_BF16_F32_X3: Precision.HIGH,
    _P.BF16_BF16_F32_X6: Precision.HIGHEST,
    _P.TF32_TF32_F32: Precision.HIGH,
    _P.TF32_TF32_F32_X3: Precision.HIGHEST,
    _P.F32_F32_F32: Precision.HIGHEST,
}
_GPU_LEVELS: Final = {
    _P.BF16_BF16_F32_X3: Precision.HIGHEST,
    _P.BF16_BF16_F32_X6: Precision.HIGHEST,
    _P.BF16_BF16_F32_X9: Precision.HIGHEST,
    _P.TF32_TF32_F32: Precision.HIGH,
    _P.TF32_TF32_F32_X3: Precision.HIGHEST,
    _P.F32_F32_F32: Precision.HIGHEST,
}


def conv_plan(
    precision: CanonicalPrecision,
    platforms: Sequence[str],
    operands: Sequence[ShapedArray],
    out: ShapedArray,
) -> ConvPlan:
    """Return how to compute a convolution with a precision.

    Args:
      precision: canonical precision.
      platforms: platforms that are lowered for.
      operands: types of the input and the kernel.
      out: type of the result.

    Raises:
      ValueError: an algorithm that convolutions can't follow here.
    """
    if not isinstance(precision, DotAlgorithm | DotAlgorithmPreset):
        return ConvPlan(None, None, precision)
    if precision is _P.DEFAULT:
        return ConvPlan(None, None, None)
    lhs, rhs = operands
    refuse_complex("conv_general_dilated", precision, lhs.dtype, rhs.dtype)
    if isinstance(precision, DotAlgorithm):
        _refuse(f"{precision}", "a level or a DotAlgorithmPreset. Name the nearest preset.")
    if precision.is_f8:
        if not {lhs.dtype, rhs.dtype} <= set(SMALL_FLOATS):
            _refuse(
                f"{precision} and operands of dtype {lhs.dtype} and {rhs.dtype}",
                "two 8-bit floats. Convert them with astype.",
            )
        return ConvPlan(None, None, None)
    levels = _levels(precision, platforms)
    storage = precision.supported_lhs_types
    narrow = precision.name.startswith(("F16", "BF16")) and "_X" not in precision.name
    assert storage is not None
    sums = precision.supported_output_types(storage[0], storage[0])
    wanted = out.dtype if sums is None or out.dtype in sums else sums[0]
    return ConvPlan(storage[0] if narrow or lhs.dtype not in storage else None, wanted, levels)


def _levels(precision: DotAlgorithmPreset, platforms: Sequence[str]) -> CanonicalPrecision:
    """Return the highest of the levels that the platforms need for an algorithm's passes."""
    if precision.name in ("F16_F16_F16", "F16_F16_F32", "BF16_BF16_BF16", "BF16_BF16_F32"):
        return None
    if precision is _P.F64_F64_F64:
        return (Precision.HIGHEST, Precision.HIGHEST)
    needed = []
    for platform in platforms:
        levels = _TPU_LEVELS if platform == "tpu" else _GPU_LEVELS
        if precision not in levels:
            _refuse(
                f"{precision} for {platform}, where no level is as exact",
                "another one. Give 'highest' for the most exact that there is.",
            )
        needed.append(levels[precision])
    level = max(needed, key=lambda level: level.value)
    return (level, level)


def _refuse(given: str, expected: str) -> NoReturn:
    raise ValueError(f"conv_general_dilated: given precision {given}; expected {expected}")
