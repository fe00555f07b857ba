"""The numbered vectors R63 to R88: checkpoint and differentiation."""

from typing import Any

import numpy as np
import pytest

import tans
import tans.numpy as jnp
from tans import ad, freeze, grad, jit, jvp, lax, new_ref, ref, vjp

both = pytest.mark.parametrize("run", [lambda f: f, jit], ids=["eager", "jit"])


def close(a: Any, b: Any) -> None:
    """Compare values."""
    np.testing.assert_allclose(a, b, rtol=1e-5)


def test_r63_impure_checkpoint() -> None:
    r = new_ref(1.0)

    @tans.checkpoint
    def f(y: Any) -> Any:
        o = y * r[...]
        r[...] += 1
        return o

    with pytest.raises(ValueError, match="no_grad_no_remat"):
        grad(f)(2.0)
    assert r[...] == 1.0


def test_r64_no_grad_no_remat() -> None:
    r = new_ref(1.0, kind="no_grad_no_remat")

    @tans.checkpoint
    def f(y: Any) -> Any:
        o = y * r[...]
        r[...] += 1
        return jnp.sin(o)

    close(grad(f)(2.0), -0.416147)
    assert r[...] == 2.0


@both
def test_r65_internal_ref(run: Any) -> None:
    @tans.checkpoint
    def f(y: Any, x: Any) -> Any:
        r = new_ref(x)
        o = y * r[...]
        r[...] += 1
        return o

    assert run(grad(f))(2.0, 1.0) == 1.0


@both
def test_r66_internal_ref_gets_a_derivative(run: Any) -> None:
    @tans.checkpoint
    def f(y: Any) -> Any:
        r = new_ref(jnp.zeros_like(y))
        r[...] = jnp.sin(y)
        return r[...] ** 2

    close(run(grad(f))(2.0), np.sin(4.0))


@both
def test_r67_derivatives(run: Any) -> None:
    @run
    def f(x: Any) -> Any:
        r = new_ref(x)
        r[...] = jnp.sin(r[...]) * 2
        return r[...]

    close(grad(f)(1.0), 1.0806046)
    close(jvp(f, (1.0,), (1.0,)), (1.6829419, 1.0806046))
    close(grad(grad(f))(1.0), -1.6829419)
    close(tans.jacrev(f)(1.0), 1.0806046)


@both
def test_r68_plumbing_ref(run: Any) -> None:
    @run
    def f(x: Any, r: Any) -> Any:
        y = x + x
        r[...] += y
        return y

    r = new_ref(0.0)
    with pytest.raises(ValueError, match="non-differentiated ref"):
        grad(f)(1.0, r)

    def add(x: Any) -> Any:
        ref.addupdate(r, ..., x)
        return x

    with pytest.raises(ValueError, match="non-differentiated ref"):
        grad(run(add))(1.0)
    assert r[...] == 0.0


@both
def test_r69_stop_gradient(run: Any) -> None:
    @run
    def f(x: Any, r: Any) -> Any:
        y = x + x
        r[...] += lax.stop_gradient(y)
        return y

    r = new_ref(0.0)
    assert grad(f)(1.0, r) == 2.0
    assert r[...] == 2.0


def test_r70_grad_with_respect_to_a_ref() -> None:
    with pytest.raises(TypeError, match=r"vjp.*with_refs"):
        grad(lambda r: r[...] ** 2)(new_ref(2.0))


def test_r72_vjp_of_a_ref() -> None:
    y, f_vjp = vjp(lambda r: r[...] ** 2, new_ref(2.0))
    g = new_ref(100.0)
    assert y == 4.0
    (out,) = f_vjp.with_refs(g)(1.0)
    assert repr(out) == "GradRef()"
    assert g[...] == 104.0
    with pytest.raises(ValueError, match="ref"):
        f_vjp(1.0)


def test_r73_contents_at_entry() -> None:
    def f(r: Any) -> Any:
        r[...] = jnp.sin(r[...])
        return r[...] ** 2

    x = new_ref(2.0)
    _, f_vjp = vjp(f, x)
    close(x[...], 0.9092974)
    g = new_ref(0.0)
    f_vjp.with_refs(g)(1.0)
    close(g[...], -0.7568025)


def test_r74_one_ref_twice() -> None:
    _, f_vjp = vjp(lambda a, b: a * b, 2.0, 3.0)
    g = new_ref(0.0)
    f_vjp.with_refs(g, g)(1.0)
    assert g[...] == 5.0


def test_r75_dont_want() -> None:
    _, f_vjp = vjp(lambda w, x: w @ x, jnp.ones((2, 2)), jnp.ones(2))

    def pull(ct: Any) -> Any:
        return f_vjp.with_refs(ad.GradValue(), ad.DontWant())(ct)

    dw, dx = pull(jnp.ones(2))
    assert dw.tolist() == [[1, 1], [1, 1]]
    assert repr(dx) == "DidntWant()"
    assert str(tans.make_jaxpr(lambda ct: pull(ct)[0])(jnp.ones(2))).count("dot_general") == 1


def test_r76_wrong_entries() -> None:
    _, f_vjp = vjp(lambda x: x * 2.0, 1.0)
    for entries in (
        (new_ref(jnp.zeros(3)),),
        (new_ref(0),),
        (new_ref(0.0), new_ref(0.0)),
        (None,),
    ):
        with pytest.raises(ValueError, match="with_refs"):
            f_vjp.with_refs(*entries)(1.0)


def test_r77_sparse() -> None:
    g = new_ref(jnp.zeros(10))
    take = jit(lambda x, i: x[i])
    for i in (3, 5, 3):
        _, f_vjp = vjp(take, jnp.arange(10.0), i)
        f_vjp.with_refs(g, ad.DontWant())(1.0)
    assert g[...].tolist() == [0, 0, 0, 2, 0, 1, 0, 0, 0, 0]
    _, f_vjp = vjp(lambda x: lax.dynamic_slice(x, (jnp.int32(3),), (1,)), jnp.arange(10.0))
    text = str(tans.make_jaxpr(lambda g, ct: f_vjp.with_refs(g)(ct) and None)(g, jnp.ones(1)))
    assert "+=" in text
    assert "f32[10] " not in text.replace("Ref{f32[10]} ", "")


def test_r78_gather() -> None:
    _, f_vjp = vjp(lambda x: x[jnp.array([3, 5, 3])], jnp.arange(10.0))
    g = new_ref(jnp.zeros(10))
    f_vjp.with_refs(g)(jnp.arange(1.0, 4.0))
    assert (g[3], g[5]) == (4, 2)


@both
def test_r79_stash(run: Any) -> None:
    @tans.custom_vjp
    def stash(r: Any, x: Any) -> Any:
        return x

    def bwd(r: Any, g: Any) -> Any:
        r[...] = g
        return None, g

    stash.defvjp(lambda r, x: (x, r), bwd)
    r = new_ref(0.0)
    close(run(grad(lambda x: jnp.sin(stash(r, x))))(1.0), 0.5403023)
    close(r[...], 0.5403023)


def test_r80_refused_in_custom_vjp() -> None:
    def make(primal: Any, fwd: Any) -> Any:
        f = tans.custom_vjp(primal)
        f.defvjp(fwd, lambda r, g: (None, g))
        return f

    r = new_ref(0.0)
    fresh = make(lambda r, x: x, lambda r, x: (x, new_ref(x)))
    with pytest.raises(ValueError, match="reference"):
        grad(lambda x: fresh(r, x))(1.0)
    returning = make(lambda r, x: r, lambda r, x: (x, r))
    with pytest.raises(ValueError, match=r"Ref\{float32\[\]\} as output"):
        returning(r, 1.0)
    two = tans.custom_vjp(lambda a, b, x: x)
    two.defvjp(lambda a, b, x: (x, None), lambda res, g: (None, None, g))
    with pytest.raises(ValueError, match="as a and b"):
        two(r, r, 1.0)


@both
def test_r81_microbatches(run: Any) -> None:
    def model(ws: Any, x: Any) -> Any:
        return lax.scan(lambda x, w: (x @ w, None), x, ws)[0]

    def loss(ws: Any, x: Any) -> Any:
        return jnp.mean(model(ws, x))

    def accumulate(ws: Any, batches: Any) -> Any:
        acc = new_ref(jnp.zeros_like(ws))

        def step(c: Any, x: Any) -> Any:
            value, f_vjp = vjp(lambda ws: loss(ws, x), ws)
            f_vjp.with_refs(acc)(1.0)
            return c, value

        _, losses = lax.scan(step, 0, batches)
        return freeze(acc), losses

    total, losses = run(accumulate)(jnp.ones((3, 4, 4)), jnp.ones((5, 7, 4)))
    np.testing.assert_allclose(total, np.full((3, 4, 4), 20.0), rtol=1e-5)
    np.testing.assert_allclose(losses, np.full(5, 64.0), rtol=1e-5)


@both
def test_r82_scan_over_an_internal_ref(run: Any) -> None:
    @run
    def f(xs: Any) -> Any:
        r = new_ref(xs)
        return lax.scan(lambda c, x: (c + x[...] ** 2, None), 0.0, r)[0]

    assert grad(f)(jnp.arange(3.0)).tolist() == [0, 2, 4]


@both
def test_r83_scan_closing_over_an_internal_ref(run: Any) -> None:
    @run
    def f(x: Any) -> Any:
        r = new_ref(x)
        lax.scan(lambda c, _: (c, r.set(jnp.sin(r[...]))), 0, None, length=2)
        return r[...]

    close(grad(f)(2.0), -0.25563914)


@both
def test_r84_while(run: Any) -> None:
    @run
    def f(x: Any) -> Any:
        r = new_ref(x)
        lax.while_loop(lambda i: i < 2, lambda i: (r.set(r[...] * 2), i + 1)[1], 0)
        return r[...]

    assert jvp(f, (2.0,), (1.0,)) == (8.0, 4.0)
    with pytest.raises(ValueError):  # noqa: PT011  (the text depends on the place of the loop)
        grad(f)(2.0)


@both
def test_r85_cond(run: Any) -> None:
    @run
    def f(x: Any, p: Any) -> Any:
        r = new_ref(x)
        lax.cond(p, lambda: r.set(r[...] * 2), lambda: r.set(r[...] * 3))
        return r[...]

    assert grad(f)(1.0, True) == 2.0
    assert grad(f)(1.0, False) == 3.0


@both
def test_r86_overwritten(run: Any) -> None:
    @run
    def f(x: Any) -> Any:
        r = new_ref(x)
        r[0] = 2.0
        return freeze(r).sum()

    assert grad(f)(jnp.arange(3.0)).tolist() == [0, 1, 1]


def test_r87_linear_transpose() -> None:
    double = tans.linear_transpose(lambda x: freeze(new_ref(x)) * 2.0, 1.0)
    assert double(1.0) == (2.0,)


@both
def test_r88_counted_once(run: Any) -> None:
    counter = new_ref(0)

    @run
    def f(x: Any) -> Any:
        def step(y: Any, _: Any) -> Any:
            counter[...] += 1
            return jnp.sin(y), None

        return lax.scan(step, x, None, length=3)[0]

    grad(f)(1.0)
    assert counter[...] == 3


@both
def test_second_derivatives_of_internal_refs(run: Any) -> None:
    @run
    def cube(x: Any) -> Any:
        r = new_ref(x)
        r[...] *= x * x
        return r[...].sum()

    x = jnp.arange(1.0, 4.0)
    close(tans.jacfwd(cube)(x), 3 * x**2)
    close(tans.jacrev(cube)(x), 3 * x**2)
    close(tans.hessian(cube)(x), np.diag(6 * np.asarray(x)))


def test_jvp_of_a_ref() -> None:
    r = new_ref(2.0)

    def f(r: Any) -> Any:
        r[...] = r[...] ** 2
        return r[...]

    r_dot = new_ref(1.0)
    assert jvp(f, (r,), (r_dot,)) == (4.0, 4.0)
    assert (r[...], r_dot[...]) == (4.0, 4.0)
    with pytest.raises(TypeError, match="a ref of tangents"):
        jvp(f, (r,), (1.0,))
    with pytest.raises(TypeError, match="a ref of tangents"):
        jvp(lambda x: x, (1.0,), (r_dot,))
