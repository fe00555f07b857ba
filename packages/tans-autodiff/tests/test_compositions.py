"""Transformations compose: jit, vmap, checkpoint and grad in several orders over all bodies."""

import numpy as np
import pytest

import tans_lax as lax
from tans_autodiff import checkpoint, custom_jvp, custom_vjp, grad, jvp, linearize, vjp
from tans_batching import vmap
from tans_xla import jit

f32 = np.float32


def by_scan(x):
    return lax.scan(lambda c, k: (lax.sin(lax.mul(c, k)), None), x, np.array([1, 0.5, 2], f32))[0]


def by_cond(x):
    return lax.cond(lax.gt(x, 0.2), lax.sin, lambda x: lax.mul(x, x), x)


@custom_jvp
def with_jvp_rule(x):
    return lax.exp(lax.sin(x))


@with_jvp_rule.defjvp
def _with_jvp_rule(primals, tangents):
    y = with_jvp_rule(*primals)
    return y, lax.mul(tangents[0], lax.mul(y, lax.cos(primals[0])))


@custom_vjp
def with_vjp_rule(x):
    return lax.tanh(lax.mul(x, x))


with_vjp_rule.defvjp(
    lambda x: (lax.tanh(lax.mul(x, x)), x),
    lambda x, g: (lax.mul(g, grad(lambda x: lax.tanh(lax.mul(x, x)))(x)),),
)


def nested(x):
    return jit(lambda y: lax.mul(jit(lax.sin)(y), x))(lax.exp(x))


BODIES = [by_scan, by_cond, with_jvp_rule, with_vjp_rule, nested]
WRAPPERS = {
    "plain": lambda f: f,
    "jit": jit,
    "checkpoint jit": lambda f: checkpoint(jit(f)),
    "scan": lambda f: lambda x: lax.scan(lambda c, _: (f(c), None), x, None, length=1)[0],
}
POINTS = np.array([-0.4, 0.7], f32)


def slope_by_differences(f, x, h=1e-2):
    a, b = (float(f(f32(x + s * h))) for s in (1, -1))
    c, d = (float(f(f32(x + s * 2 * h))) for s in (1, -1))
    return (8 * (a - b) - (c - d)) / (12 * h)


@pytest.mark.parametrize("wrapper", WRAPPERS)
@pytest.mark.parametrize("body", BODIES, ids=lambda f: getattr(f, "__name__", "f"))
def test_first_derivatives(body, wrapper):
    f = WRAPPERS[wrapper](body)
    expected = [slope_by_differences(jit(body), x) for x in POINTS]
    found = {
        "grad": [grad(f)(x) for x in POINTS],
        "grad vmap": grad(lambda xs: lax.reduce_sum(vmap(f)(xs), (0,)))(POINTS),
        "jit vmap grad": jit(vmap(grad(f)))(POINTS),
        "vjp": [vjp(f, x)[1](f32(1))[0] for x in POINTS],
    }
    if body is not with_vjp_rule:
        found["jvp"] = [jvp(f, (x,), (f32(1),))[1] for x in POINTS]
        found["linearize"] = [linearize(f, x)[1](f32(1)) for x in POINTS]
    for how, values in found.items():
        np.testing.assert_allclose(values, expected, rtol=2e-3, atol=1e-3, err_msg=how)


@pytest.mark.parametrize("wrapper", WRAPPERS)
@pytest.mark.parametrize("body", BODIES, ids=lambda f: getattr(f, "__name__", "f"))
def test_second_derivatives(body, wrapper):
    f = WRAPPERS[wrapper](body)
    first = jit(grad(body))
    expected = [slope_by_differences(first, x) for x in POINTS]
    found = {
        "forward over reverse": jit(vmap(lambda x: jvp(grad(f), (x,), (f32(1),))[1]))(POINTS),
        "reverse over reverse": jit(vmap(grad(grad(f))))(POINTS),
    }
    if body is not with_vjp_rule:
        slope = lambda x: jvp(f, (x,), (f32(1),))[1]  # noqa: E731
        found["reverse over forward"] = jit(vmap(grad(slope)))(POINTS)
    for how, values in found.items():
        np.testing.assert_allclose(values, expected, rtol=2e-2, atol=5e-3, err_msg=how)
