"""Loops and branches under every kind of derivative."""

import numpy as np
import pytest

import tans_lax as lax
from tans_autodiff import custom_jvp, grad, jvp, linear_transpose, linearize
from tans_batching import vmap
from tans_xla import jit, make_jaxpr
from tans_xla.callbacks import debug_callback, effects_barrier

f32 = np.float32


def power_loop(x):
    """x to the fourth, by a while loop of three steps."""
    step = lambda s: (lax.add(s[0], 1), lax.mul(s[1], x))  # noqa: E731
    return lax.while_loop(lambda s: lax.lt(s[0], 3), step, (0, lax.mul(x, 1.0)))[1]


def test_while_loop_has_forward_derivatives_only():
    y, y_dot = jvp(power_loop, (2.0,), (1.0,))
    assert (float(y), float(y_dot)) == (16.0, 32.0)
    assert float(linearize(power_loop, 2.0)[1](1.0)) == 32.0
    with pytest.raises(ValueError, match="scan"):
        grad(power_loop)(2.0)


def test_while_loop_over_integers_does_not_block_grad():
    count = lambda x: lax.while_loop(lambda n: lax.lt(n, 3), lambda n: lax.add(n, 1), 0)  # noqa: E731
    f = lambda x: lax.mul(lax.convert_element_type(count(x), "float32"), x)  # noqa: E731
    assert float(grad(f)(2.0)) == 3.0


def test_fori_loop_with_python_bounds_is_a_scan():
    f = lambda x: lax.fori_loop(0, 3, lambda i, c: lax.mul(c, x), lax.mul(x, 1.0))  # noqa: E731
    assert float(grad(f)(2.0)) == 32.0
    assert "scan[" in str(make_jaxpr(grad(f))(2.0))


def test_traced_bound_is_refused():
    f = lambda x, n: lax.fori_loop(0, n, lambda i, c: lax.mul(c, x), lax.mul(x, 1.0))  # noqa: E731
    with pytest.raises(ValueError, match="scan"):
        jit(grad(f))(2.0, 3)


def test_cumulative_sum_by_scan():
    def cumsum(xs):
        def step(c, x):
            c = lax.add(c, x)
            return c, c

        return lax.scan(step, f32(0), xs)[1]

    xs = np.arange(4, dtype=f32)
    weights = np.array([1, 2, 3, 4], f32)
    f = lambda xs: lax.dot(cumsum(xs), weights)  # noqa: E731
    np.testing.assert_array_equal(grad(f)(xs), [10, 9, 7, 4])


def test_product_by_scan_and_by_associative_scan():
    xs = np.array([1, 2, 3], f32)
    loop = lambda xs: lax.scan(lambda c, x: (lax.mul(c, x), None), f32(1), xs)[0]  # noqa: E731
    np.testing.assert_array_equal(grad(loop)(xs), [6, 3, 2])
    last = lambda xs: lax.index_in_dim(lax.associative_scan(lax.mul, xs), 2, keepdims=False)  # noqa: E731
    np.testing.assert_array_equal(grad(last)(xs), [6, 3, 2])


@pytest.mark.parametrize("wrap", [lambda f: f, jit])
def test_cond(wrap):
    f = wrap(lambda x: lax.cond(lax.gt(x, 0.0), lax.square, lax.neg, x))
    assert [float(grad(f)(x)) for x in (3.0, -3.0)] == [6.0, -1.0]


def test_gradient_of_a_scan_is_one_scan_each_way(primitives):
    f = lambda x: lax.scan(lambda c, _: (lax.sin(c), None), x, None, length=5)[0]  # noqa: E731
    assert primitives(make_jaxpr(grad(f))(1.0))["scan"] == 2


def test_batched_rule_with_a_branch_transposes():
    @custom_jvp
    def f(x):
        return lax.mul(x, 2.0)

    @f.defjvp
    def rule(primals, tangents):
        (x,), (t,) = primals, tangents
        scale = lambda t: lax.mul(t, 2.0)  # noqa: E731
        return f(x), lax.cond(lax.gt(x, 0.0), scale, lax.neg, t)

    xs = np.array([1, -1], f32)
    total = lambda xs: lax.reduce_sum(vmap(f)(xs), (0,))  # noqa: E731
    np.testing.assert_array_equal(grad(total)(xs), [2, -1])


def test_batched_branch_transposes():
    flags = np.array([True, False])
    branch = lambda p, x: lax.cond(p, lambda x: lax.mul(x, 3.0), lax.neg, x)  # noqa: E731
    f = lambda xs: vmap(branch)(flags, xs)  # noqa: E731
    (ct,) = linear_transpose(f, np.ones(2, f32))(np.ones(2, f32))
    np.testing.assert_array_equal(ct, [3, -1])


@pytest.mark.parametrize("wrap", [lambda f: f, jit], ids=["eager", "jit"])
def test_effects_in_a_loop_happen_once_per_step_under_grad(wrap):
    calls = []

    def loop(c):
        def body(c, _):
            debug_callback(lambda v: calls.append(float(v)), c)
            return lax.sin(c), None

        return lax.scan(body, c, None, length=5)[0]

    wrap(grad(loop))(1.0)
    effects_barrier()
    assert len(calls) == 5
