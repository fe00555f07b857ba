"""Symbolic zeros as rules meet them, and the marks of linear operands."""

from typing import Any

from tans_core.accumulators import GradAccum
from tans_core.zeros import LinearInput, Zero
from tans_lax.rows import instantiate_zeros as instantiate_zeros

__all__ = ["Zero", "instantiate_zeros", "is_undefined_primal"]


def is_undefined_primal(x: Any) -> bool:
    """Whether an operand of a transpose rule is linear: an accumulator rather than a value."""
    return isinstance(x, GradAccum | LinearInput)
