"""Derivatives of the incomplete gamma functions.

In `x` the derivative is the density ``x**(a - 1) exp(-x) / gamma(a)``.
"""

from typing import Any, Final

from tans_core import Primitive
from tans_lax.elementwise.arithmetic import mul, neg, sub
from tans_lax.elementwise.exponential import exp, log
from tans_lax.elementwise.incomplete_gamma import (
    igamma_grad_a,
    igamma_grad_a_p,
    igamma_p,
    igammac_p,
    random_gamma_grad_p,
)
from tans_lax.elementwise.special import lgamma
from tans_lax.elementwise.tangents import mul_tangent
from tans_lax.rows import Rule, jvp_of, not_differentiable, not_linear

type Value = Any  # an array, a Python scalar or a tracer


def _density(a: Value, x: Value) -> Value:
    return exp(sub(sub(mul(sub(a, 1.0), log(x)), x), lgamma(a)))


def _lower_part_a(t: Value, a: Value, x: Value) -> Value:
    return mul_tangent(t, igamma_grad_a(a, x))


def _lower_part_x(t: Value, a: Value, x: Value) -> Value:
    return mul_tangent(t, _density(a, x))


def _upper_part_a(t: Value, a: Value, x: Value) -> Value:
    return mul_tangent(t, neg(igamma_grad_a(a, x)))


def _upper_part_x(t: Value, a: Value, x: Value) -> Value:
    return mul_tangent(t, neg(_density(a, x)))


JVP: Final[dict[Primitive, Rule]] = {
    igamma_p: jvp_of(igamma_p, _lower_part_a, _lower_part_x),
    igammac_p: jvp_of(igammac_p, _upper_part_a, _upper_part_x),
    igamma_grad_a_p: not_differentiable("second derivatives of igamma in a are not known"),
    random_gamma_grad_p: not_differentiable("second derivatives of a gamma sample are not known"),
}

TRANSPOSE: Final[dict[Primitive, Rule]] = dict.fromkeys(
    (igamma_p, igammac_p, igamma_grad_a_p, random_gamma_grad_p), not_linear
)
