"""Derivatives of the incomplete gamma functions.

Write P(a, x) for `igamma`. Its derivative in x is the density p = x**(a - 1) exp(-x) / gamma(a),
with p_a / p = log(x) - digamma(a) and p_x / p = (a - 1) / x - 1. Hence

    d/dx P_a = p_a,
    d/dx g = -(p_a / p) - g (p_x / p)    for `random_gamma_grad`, g = -P_a / p.

In a, both are sums of terms that `expansions` carries along; these are differentiated term by term,
in forward mode and at once, so that the result is a factor of the tangent and reverse mode works.
A third derivative in a works in forward mode only, since the number of terms is not known before.
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from tans_core import Primitive, trace_to_jaxpr, typeof
from tans_core.context import JVPContext
from tans_core.jaxpr import eval_closed
from tans_core.rules import ContextRule
from tans_lax.conversion import convert_element_type
from tans_lax.creation import full_like
from tans_lax.elementwise.arithmetic import add, div, mul, neg, sub
from tans_lax.elementwise.exponential import exp, log
from tans_lax.elementwise.incomplete_gamma import (
    expansions,
    igamma_grad_a,
    igamma_grad_a_p,
    igamma_p,
    igammac_p,
    random_gamma_grad,
    random_gamma_grad_p,
)
from tans_lax.elementwise.special import digamma, lgamma
from tans_lax.elementwise.tangents import mul_tangent
from tans_lax.rows import Rule, jvp_of, not_linear
from tans_lax.shape import broadcast_to_shape

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


def _slope_in_a(program: Callable[..., Value]) -> Callable[..., Value]:
    """Return d/da of a program of (a, x), as a contribution that takes `ctx` first."""

    def part(ctx: JVPContext, t: Value, a: Value, x: Value) -> Value:
        out = typeof(mul(a, x))
        dtype = np.dtype(np.float32) if out.dtype.itemsize < 4 else out.dtype
        a, x = (convert_element_type(broadcast_to_shape(v, out.shape), dtype) for v in (a, x))
        body = trace_to_jaxpr(lambda a, x: [program(a, x)], [typeof(a), typeof(x)])
        body, _ = ctx.jvp_jaxpr(body, (True, False), instantiate=True)
        _, slope = eval_closed(body, a, x, full_like(a, 1))
        return mul_tangent(t, convert_element_type(slope, out.dtype))

    return part


def _log_density_slope_a(a: Value, x: Value) -> Value:
    return sub(log(x), digamma(a))


def _lower_slope_part_x(t: Value, a: Value, x: Value) -> Value:
    return mul_tangent(t, mul(_density(a, x), _log_density_slope_a(a, x)))


def _sample_slope_part_x(t: Value, a: Value, x: Value) -> Value:
    by_x = sub(div(sub(a, 1.0), x), 1.0)
    return mul_tangent(t, neg(add(mul(random_gamma_grad(a, x), by_x), _log_density_slope_a(a, x))))


def _with_slope_in_a(
    primitive: Primitive, program: Callable[..., Value], part_x: Callable[..., Value]
) -> ContextRule[Any]:
    part_a = _slope_in_a(program)

    def rule(ctx: JVPContext, primals: Any, tangents: Any, **params: Any) -> Any:
        parts = (lambda t, a, x: part_a(ctx, t, a, x)), part_x
        return jvp_of(primitive, *parts)(primals, tangents, **params)

    return ContextRule(rule)


JVP: Final[dict[Primitive, Rule]] = {
    igamma_p: jvp_of(igamma_p, _lower_part_a, _lower_part_x),
    igammac_p: jvp_of(igammac_p, _upper_part_a, _upper_part_x),
    igamma_grad_a_p: _with_slope_in_a(igamma_grad_a_p, expansions.lower_slope, _lower_slope_part_x),
    random_gamma_grad_p: _with_slope_in_a(
        random_gamma_grad_p, expansions.sample_slope, _sample_slope_part_x
    ),
}

TRANSPOSE: Final[dict[Primitive, Rule]] = dict.fromkeys(
    (igamma_p, igammac_p, igamma_grad_a_p, random_gamma_grad_p), not_linear
)
