"""scan: derivatives, residuals, batching, dead code, effects."""

import numpy as np
import pytest

from tans_autodiff import grad, jacfwd, jacrev, jvp, linear_transpose, linearize, vjp
from tans_batching import vmap
from tans_core import dce_jaxpr
from tans_lax.contractions import dot
from tans_lax.control_flow.fori_loop import fori_loop
from tans_lax.control_flow.scan import scan, scan_p
from tans_lax.elementwise.arithmetic import add, mul
from tans_lax.elementwise.trigonometric import sin, tanh
from tans_lax.reductions import reduce_sum
from tans_xla import jit, make_jaxpr


def scans(jaxpr):
    return [e for e in jaxpr.eqns if e.primitive is scan_p]


def total(x):
    return reduce_sum(x, tuple(range(x.ndim)))


def rnn(w, xs, c):
    def body(c, x):
        h = tanh(add(dot(c, w), x))
        return h, h

    return scan(body, c, xs)


def data():
    r = np.random.RandomState(0)
    return (
        r.randn(3, 3).astype(np.float32),
        r.randn(5, 3).astype(np.float32),
        r.randn(3).astype(np.float32),
    )


def unrolled(w, xs, c):
    ys = []
    for i in range(xs.shape[0]):
        c = np.tanh(c @ w + xs[i])
        ys.append(c)
    return c, np.stack(ys)


def loss(w, xs, c):
    c, ys = rnn(w, xs, c)
    return add(total(c), total(sin(ys)))


def reference_loss(w, xs, c):
    c, ys = unrolled(w, xs, c)
    return c.sum() + np.sin(ys).sum()


def numerical(f, args, i, eps=1e-6):
    args = [np.asarray(a, np.float64) for a in args]
    out = np.zeros_like(args[i])
    for at in np.ndindex(out.shape):
        up, down = [a.copy() for a in args], [a.copy() for a in args]
        up[i][at] += eps
        down[i][at] -= eps
        out[at] = (f(*up) - f(*down)) / (2 * eps)
    return out


@pytest.mark.parametrize("argnum", [0, 1, 2])
def test_gradient_equals_central_differences(argnum: int):
    args = data()
    got = jit(grad(loss, argnums=argnum))(*args)
    np.testing.assert_allclose(got, numerical(reference_loss, args, argnum), rtol=2e-4, atol=2e-4)


def test_forward_and_reverse_agree():
    args = data()
    dots = tuple(np.ones_like(a) for a in args)
    _, forward = jvp(loss, args, dots)
    _, back = vjp(loss, *args)
    cts = back(np.float32(1))
    want = sum(np.vdot(c, d) for c, d in zip(cts, dots, strict=True))
    np.testing.assert_allclose(forward, want, rtol=2e-5)


def test_gradient_of_a_scan_is_one_scan_each_way():
    jaxpr = make_jaxpr(grad(loss, argnums=(0, 1, 2)))(*data())
    forward, backward = scans(jaxpr)
    assert not forward.params["reverse"]
    assert backward.params["reverse"]
    assert forward.params["length"] == backward.params["length"] == 5


def test_vjp_residuals_of_rnn_are_two_stacks():
    # Vector L1: w is an argument, xs are not needed.
    w, xs, c = data()
    _, back = vjp(lambda w, xs, c: rnn(w, xs, c)[0], w, xs, c)
    shapes = sorted(x.shape for x in back.opaque_residuals)
    assert shapes == [(5, 3), (5, 3)]


def test_vjp_hoists_loop_invariant_residuals():
    # Vector L2.
    def f(w, xs, c):
        return scan(lambda c, x: (add(mul(c, sin(w)), x), None), c, xs)[0]

    _, back = vjp(f, np.float32(2), np.ones(5, np.float32), np.float32(1))
    assert sorted(x.shape for x in back.opaque_residuals) == [(), (), (5,)]


def test_constants_are_not_stacked():
    def f(c, w):
        return total(scan(lambda c, _: (mul(c, w), None), c, None, length=4)[0])

    w = np.full(3, 2, np.float32)
    jaxpr = make_jaxpr(grad(f))(np.ones(3, np.float32), w)
    assert all(v.aval.shape == (3,) for e in scans(jaxpr) for v in e.outvars)
    np.testing.assert_allclose(grad(f)(np.ones(3, np.float32), w), [16, 16, 16])


def test_reverse_product():
    # Vector A25.
    def f(xs):
        return scan(lambda c, x: (mul(c, x), None), np.float32(1), xs, reverse=True)[0]

    np.testing.assert_allclose(grad(f)(np.array([1, 2, 3], np.float32)), [6, 3, 2])


def test_linear_transpose_of_a_static_loop():
    # Vector A19: the counter is not linear.
    f = lambda x: fori_loop(0, 3, lambda i, c: add(c, c), x)  # noqa: E731
    np.testing.assert_allclose(linear_transpose(f, np.float32(1))(np.float32(1))[0], 8)


def test_loop_with_counter_differentiates():
    # Vector A13.
    def f(x):
        return fori_loop(0, 3, lambda i, c: mul(c, x), np.float32(1))

    np.testing.assert_allclose(grad(f)(np.float32(2)), 12)
    np.testing.assert_allclose(grad(grad(f))(np.float32(2)), 12)


def test_second_derivatives_agree():
    w, xs, c = data()
    f = lambda c: loss(w, xs, c)  # noqa: E731
    a = jacfwd(jacrev(f))(c)
    b = jacrev(jacfwd(f))(c)
    np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(a, np.swapaxes(a, 0, 1), rtol=1e-3, atol=1e-4)


def test_linearize_equals_jvp():
    args = data()
    dots = tuple(np.ones_like(a) for a in args)
    out, f_jvp = linearize(loss, *args)
    want_out, want = jvp(loss, args, dots)
    np.testing.assert_allclose(out, want_out, rtol=1e-6)
    np.testing.assert_allclose(f_jvp(*dots), want, rtol=1e-5)


@pytest.mark.parametrize("unroll", [1, 2, True])
def test_gradient_of_unrolled_scan(unroll):
    def f(xs):
        return scan(lambda c, x: (mul(c, x), sin(c)), np.float32(1), xs, unroll=unroll)

    def g(xs):
        c, ys = f(xs)
        return add(c, total(ys))

    xs = np.array([1.0, 2.0, 3.0, 0.5, 1.5], np.float32)

    def reference(xs):
        c, s = 1.0, 0.0
        for x in xs:
            s += np.sin(c)
            c *= x
        return c + s

    np.testing.assert_allclose(grad(g)(xs), numerical(reference, [xs], 0), rtol=1e-4)


@pytest.mark.parametrize("in_axes", [(None, 0, None), (0, None, None), (None, 1, 0), (2, 0, 1)])
def test_vmap_equals_a_loop(in_axes):
    w, xs, c = data()
    full = []
    for x, ax in zip((w, xs, c), in_axes, strict=True):
        if ax is None:
            full.append(x)
        else:
            full.append(np.stack([x * (i + 1) for i in range(4)], axis=ax))
    got = vmap(rnn, in_axes=in_axes)(*full)
    for i in range(4):
        one = [
            x if ax is None else np.take(x, i, axis=ax) for x, ax in zip(full, in_axes, strict=True)
        ]
        for a, b in zip(got, rnn(*one), strict=True):
            np.testing.assert_allclose(np.asarray(a)[i], b, rtol=1e-5, atol=1e-6)


def test_vmap_of_grad():
    w, xs, c = data()
    cs = np.stack([c, 2 * c])
    got = jit(vmap(grad(loss), in_axes=(None, None, 0)))(w, xs, cs)
    want = np.stack([grad(loss)(w, xs, one) for one in cs])
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


def test_dead_carries_and_results_are_removed():
    def f(a, b, xs):
        def body(c, x):
            a, b = c
            return (add(a, x), mul(b, a)), (sin(b), a)

        (a, b), _ = scan(body, (a, b), xs)
        return a

    one = np.float32(1)
    jaxpr = make_jaxpr(f)(one, one, np.ones(3, np.float32))
    small, used = dce_jaxpr(jaxpr, [True])
    (eqn,) = scans(small)
    assert used == [True, False, True]
    assert len(eqn.outvars) == 1
    assert len(eqn.params["jaxpr"].eqns) == 1


def test_integer_carry_has_no_tangent():
    def f(x):
        (_, y), _ = scan(
            lambda c, _: ((add(c[0], 1), mul(c[1], x)), None), (0, np.float32(1)), None, length=3
        )
        return y

    np.testing.assert_allclose(grad(f)(np.float32(3)), 27)
