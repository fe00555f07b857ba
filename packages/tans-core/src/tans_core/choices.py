"""The values that flags with a fixed set of choices may take."""

import enum
from typing import Final


class NumpyDtypePromotion(enum.StrEnum):
    """How operands of different dtypes combine."""

    STANDARD = "standard"
    STRICT = "strict"


class ExplicitX64Mode(enum.IntEnum):
    """What an explicit request for a 64-bit dtype does while x64 is off."""

    WARN = 1
    ERROR = 2
    ALLOW = 3


class LegacyPrngKeyState(enum.StrEnum):
    """What the use of a raw uint32 key does."""

    ALLOW = "allow"
    WARN = "warn"
    ERROR = "error"


MATMUL_PRECISIONS: Final = (
    *("default", "high", "highest", "bfloat16", "tensorfloat32", "float32"),
    *("fastest", "bfloat16_3x", "DEFAULT"),
    *("ANY_F8_ANY_F8_F32", "ANY_F8_ANY_F8_F32_FAST_ACCUM"),
    *("ANY_F8_ANY_F8_ANY", "ANY_F8_ANY_F8_ANY_FAST_ACCUM"),
    *("F16_F16_F16", "F16_F16_F32", "BF16_BF16_BF16", "BF16_BF16_F32"),
    *("BF16_BF16_F32_X3", "BF16_BF16_F32_X6", "BF16_BF16_F32_X9"),
    *("TF32_TF32_F32", "TF32_TF32_F32_X3", "F32_F32_F32", "F64_F64_F64"),
)
PRNG_IMPLEMENTATIONS: Final = (
    *("threefry2x32", "threefry4x32", "rbg", "unsafe_rbg", "philox2x32", "philox4x32"),
)
