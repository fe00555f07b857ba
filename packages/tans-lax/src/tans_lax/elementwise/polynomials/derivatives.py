"""Derivatives of polynomials: in the variable, and in each coefficient."""

from collections.abc import Callable
from typing import Any, Final

from tans_core import Primitive
from tans_lax.creation import full_like
from tans_lax.elementwise.arithmetic import mul
from tans_lax.elementwise.polynomials import polynomial, polynomial_p
from tans_lax.elementwise.powers import integer_pow
from tans_lax.elementwise.tangents import mul_tangent
from tans_lax.rows import Rule, jvp_of, not_linear

type Value = Any  # an array, a Python scalar or a tracer


def _part_x(t: Value, x: Value, *coeffs: Value) -> Value:
    slopes = [mul(full_like(c, k), c) for k, c in enumerate(coeffs) if k]
    return mul_tangent(t, polynomial(x, slopes))


def _part_of(power: int) -> Callable[..., Value]:
    def part(t: Value, x: Value, *coeffs: Value) -> Value:
        del coeffs
        return mul_tangent(t, integer_pow(x, power) if power else full_like(x, 1))

    return part


def _polynomial_jvp(primals: Any, tangents: Any, **params: Any) -> Any:
    parts = [_part_of(k) for k in range(len(primals) - 1)]
    return jvp_of(polynomial_p, _part_x, *parts)(primals, tangents, **params)


JVP: Final[dict[Primitive, Rule]] = {polynomial_p: _polynomial_jvp}
TRANSPOSE: Final[dict[Primitive, Rule]] = {polynomial_p: not_linear}
