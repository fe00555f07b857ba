"""Derivatives of slices: the inner-product identity, in forward and reverse mode."""

import numpy as np
import pytest

import tans_autodiff as autodiff
import tans_lax as lax
from tans_xla import jit, make_jaxpr

RNG = np.random.default_rng(0)


def sample(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def identity_holds(fun, *xs):
    """Check <y_bar, J x_dot> == <J^T y_bar, x_dot>."""
    x_dots = [sample(*x.shape) for x in xs]

    def both(xs, x_dots, y_bar):
        _, y_dot = autodiff.jvp(fun, tuple(xs), tuple(x_dots))
        _, pullback = autodiff.vjp(fun, *xs)
        return y_dot, pullback(y_bar)

    y_bar = sample(*np.shape(fun(*xs)))
    y_dot, x_bars = jit(both)(xs, x_dots, y_bar)
    left = np.vdot(y_bar, np.asarray(y_dot))
    right = sum(np.vdot(np.asarray(b), d) for b, d in zip(x_bars, x_dots, strict=True))
    np.testing.assert_allclose(left, right, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("strides", [None, (1, 1), (2, 3), (3, 1)])
@pytest.mark.parametrize(
    ("starts", "limits"), [((0, 0), (5, 7)), ((1, 2), (4, 7)), ((2, 3), (2, 6))]
)
def test_slice(starts, limits, strides):
    identity_holds(lambda x: lax.slice(x, starts, limits, strides), sample(5, 7))


@pytest.mark.parametrize("start", [0, 2, 9, -1])
def test_dynamic_slice(start):
    identity_holds(lambda x: lax.dynamic_slice(x, (np.int32(start), 1), (2, 3)), sample(4, 5))


@pytest.mark.parametrize("start", [0, 2, 9])
def test_dynamic_update_slice(start):
    fun = lambda x, u: lax.dynamic_update_slice(x, u, (start, 0))  # noqa: E731
    identity_holds(fun, sample(4, 5), sample(2, 3))
    constant = sample(4, 5)
    identity_holds(lambda u: lax.dynamic_update_slice(constant, u, (start, 0)), sample(2, 3))


def test_transpose_of_a_slice_is_one_pad():
    fun = autodiff.grad(lambda x: lax.reduce_sum(lax.slice(x, (1,), (6,), (2,)), (0,)))
    jaxpr = make_jaxpr(fun)(sample(7))
    assert [e.primitive.name for e in jaxpr.eqns].count("pad") == 1
    np.testing.assert_array_equal(jit(fun)(sample(7)), [0, 1, 0, 1, 0, 1, 0])


def test_second_derivative_of_a_dynamic_slice():
    fun = lambda x: lax.reduce_sum(lax.integer_pow(lax.dynamic_slice(x, (1,), (2,)), 3), (0,))  # noqa: E731
    hessian = jit(autodiff.hessian(fun))(np.arange(4.0, dtype=np.float32))
    np.testing.assert_allclose(hessian, np.diag([0.0, 6.0, 12.0, 0.0]))
