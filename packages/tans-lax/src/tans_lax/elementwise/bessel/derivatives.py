"""Derivative of the Bessel function: i0e' = i1e - sign(x) i0e."""

from typing import Any, Final

from tans_core import Primitive
from tans_lax.elementwise.arithmetic import mul, sign, sub
from tans_lax.elementwise.bessel import bessel_i0e_p
from tans_lax.elementwise.special import bessel_i1e
from tans_lax.rows import Rule, jvp_of_output, not_linear

type Value = Any  # an array, a Python scalar or a tracer


def _i0e_part(t: Value, out: Value, x: Value) -> Value:
    return mul(t, sub(bessel_i1e(x), mul(sign(x), out)))


JVP: Final[dict[Primitive, Rule]] = {bessel_i0e_p: jvp_of_output(bessel_i0e_p, _i0e_part)}
TRANSPOSE: Final[dict[Primitive, Rule]] = {bessel_i0e_p: not_linear}
