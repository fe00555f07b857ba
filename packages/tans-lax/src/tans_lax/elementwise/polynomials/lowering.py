"""Lowering of polynomials: Horner's rule."""

from typing import Any, Final

from tans_core import Primitive
from tans_lax.elementwise.arithmetic import add, mul
from tans_lax.elementwise.polynomials import polynomial_p
from tans_xla.lowering import lower_as

type Value = Any


def _horner(x: Value, *coeffs: Value) -> Value:
    *lower, total = coeffs
    for coeff in reversed(lower):
        total = add(mul(total, x), coeff)
    return total


LOWERING: Final[dict[Primitive, Any]] = {polynomial_p: lower_as(_horner)}
