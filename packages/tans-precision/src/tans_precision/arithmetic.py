"""What a precision means on a platform: types of operands and sums, and the number of passes."""

from typing import Any, Final, NamedTuple

import numpy as np

from tans_lax import DotAlgorithm, DotAlgorithmPreset, Precision
from tans_lax.contractions.precision import canonicalize_precision


class Arithmetic(NamedTuple):
    """How a product is computed.

    Attributes:
      operands: format that parts of operands are rounded to.
      sums: format of the sums.
      passes: products of parts: 1, 3, 6 or 9.
    """

    operands: str
    sums: str
    passes: int = 1


# Cost in passes of bfloat16 operands; of float32 and float64 the rates of current accelerators.
_RATES: Final = {"f8e4m3fn": 0.5, "f8e5m2": 0.5, "bf16": 1.0, "f16": 1.0, "tf32": 2.0}
_WIDE_COST: Final = {"f32": 16.0, "f64": 32.0}
_KINDS: Final = {"bfloat16": "bf16", "float16": "f16", "float32": "f32", "float64": "f64"}
_F32: Final = Arithmetic("f32", "f32")
_LEVELS: Final = {
    "cpu": [_F32, _F32, _F32],
    "tpu": [Arithmetic("bf16", "f32", passes) for passes in (1, 3, 6)],
    "gpu": [Arithmetic("tf32", "f32"), Arithmetic("tf32", "f32"), _F32],
}

CANDIDATES: Final = (
    *("BF16_BF16_BF16", "F16_F16_F16", "BF16_BF16_F32", "F16_F16_F32", "TF32_TF32_F32"),
    *("BF16_BF16_F32_X3", "BF16_BF16_F32_X6", "TF32_TF32_F32_X3", "BF16_BF16_F32_X9"),
    *("F32_F32_F32", "F64_F64_F64"),
)


def arithmetic_of(precision: Any, platform: str) -> Arithmetic:
    """Return what a precision means on a platform ("cpu", "gpu" or "tpu").

    Raises:
      ValueError: not a precision, or one whose types depend on the operands (8-bit presets).
    """
    canonical: Any = canonicalize_precision(precision)
    if canonical is None or canonical is DotAlgorithmPreset.DEFAULT:
        canonical = (Precision.DEFAULT, Precision.DEFAULT)
    if type(canonical) is tuple:
        return _LEVELS[platform][min(level.value for level in canonical)]
    if isinstance(canonical, DotAlgorithm):
        operands, sums = (_KINDS.get(np.dtype(t).name) for t in canonical[1:3])
        if operands is None or sums is None or canonical[0] != canonical[1]:
            raise _unknown(precision)
        return Arithmetic(operands, sums, canonical.num_primitive_operations)
    if canonical.is_f8:
        raise _unknown(precision)
    operands, _, sums, *passes = canonical.name.lower().split("_")
    return Arithmetic(operands, sums, int(passes[0][1:]) if passes else 1)


def _unknown(precision: Any) -> ValueError:
    return ValueError(
        f"audit: given the candidate {precision}, whose arithmetic depends on the operands; "
        "expected levels, algorithms of one type or presets of 16 bits and more. Leave it out."
    )


def cost(arithmetic: Arithmetic) -> float:
    """Return the nominal cost of a product: 1 for one pass of bfloat16 operands."""
    base = _WIDE_COST.get(arithmetic.operands) or _RATES[arithmetic.operands] * arithmetic.passes
    return base - 0.1 * (arithmetic.sums in ("f16", "bf16"))
