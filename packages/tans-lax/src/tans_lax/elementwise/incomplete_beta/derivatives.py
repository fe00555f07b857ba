"""Derivative of the incomplete beta function in `x`: the density of the beta distribution."""

from typing import Any, Final, NoReturn

from tans_core import Primitive
from tans_lax.elementwise.arithmetic import add, mul, neg, sub
from tans_lax.elementwise.exponential import exp, log, log1p
from tans_lax.elementwise.incomplete_beta import regularized_incomplete_beta_p
from tans_lax.elementwise.special import lgamma
from tans_lax.elementwise.tangents import mul_tangent
from tans_lax.rows import Rule, jvp_of, not_linear

type Value = Any  # an array, a Python scalar or a tracer


def _part_x(t: Value, a: Value, b: Value, x: Value) -> Value:
    log_beta = sub(add(lgamma(a), lgamma(b)), lgamma(add(a, b)))
    powers = add(mul(sub(b, 1.0), log1p(neg(x))), mul(sub(a, 1.0), log(x)))
    return mul_tangent(t, exp(sub(powers, log_beta)))


def _no_shape_derivative(t: Value, a: Value, b: Value, x: Value) -> NoReturn:
    raise ValueError(
        "lax.betainc: given a tangent for the shapes a or b; expected them to be constant: no "
        "derivative in them is known. Apply stop_gradient to those operands."
    )


JVP: Final[dict[Primitive, Rule]] = {
    regularized_incomplete_beta_p: jvp_of(
        regularized_incomplete_beta_p, _no_shape_derivative, _no_shape_derivative, _part_x
    )
}
TRANSPOSE: Final[dict[Primitive, Rule]] = {regularized_incomplete_beta_p: not_linear}
