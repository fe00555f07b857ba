"""linear_call, custom_linear_solve and custom_root: derivatives that are given, not derived."""

import numpy as np
import pytest

import tans_lax as lax
from tans_autodiff import (
    custom_linear_solve,
    custom_root,
    grad,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linear_call,
    linear_transpose,
)
from tans_batching import vmap
from tans_xla import jit

f32 = np.float32
A = np.array([[2, 1], [0, 3]], f32)


def total(x):
    return lax.reduce_sum(x, (0,))


def newton(f, x):
    def step(x):
        y, slope = jvp(f, (x,), (lax.full_like(x, 1.0),))
        return lax.sub(x, lax.div(y, slope))

    return lax.while_loop(lambda x: lax.gt(lax.abs(f(x)), 1e-6), step, x)


def square_root(a):
    return custom_root(
        lambda x: lax.sub(lax.square(x), a), 1.0, newton, lambda g, y: lax.div(y, g(1.0))
    )


def test_A38_square_root():
    assert float(square_root(2.0)) == pytest.approx(1.4142135, abs=1e-6)
    assert float(grad(square_root)(2.0)) == pytest.approx(0.35355338, abs=1e-6)
    assert float(jvp(square_root, (2.0,), (1.0,))[1]) == pytest.approx(0.35355338, abs=1e-6)


@pytest.mark.parametrize("wrap", [jit, lambda f: lambda a: vmap(f)(np.array([a], f32))])
def test_root_under_other_transformations(wrap):
    for f in (square_root, grad(square_root), grad(grad(square_root))):
        np.testing.assert_allclose(np.ravel(wrap(f)(2.0)), np.ravel(f(2.0)), rtol=1e-5)
    assert float(grad(grad(square_root))(4.0)) == pytest.approx(-1 / 32, rel=1e-5)


def test_root_with_extra_results_and_containers():
    def f(a):
        def equation(x):
            return {"u": lax.sub(x["u"], a), "v": lax.sub(x["v"], x["u"])}

        guess = {"u": 0.0, "v": 0.0}
        x, steps = custom_root(
            equation,
            guess,
            lambda f, x: ({"u": a, "v": a}, 3),
            lambda g, y: {"u": y["u"], "v": lax.add(y["v"], y["u"])},
            has_aux=True,
        )
        return lax.mul(x["u"], x["v"]), steps

    y, y_dot = jvp(lambda a: f(a)[0], (3.0,), (1.0,))
    assert (float(y), float(y_dot)) == (9.0, 6.0)
    assert int(f(3.0)[1]) == 3


def matrix_solve(a, b, transpose=True):
    def inverse(a):
        det = lax.sub(lax.mul(a[0], a[3]), lax.mul(a[1], a[2]))
        rows = [a[3], lax.neg(a[1]), lax.neg(a[2]), a[0]]
        return [lax.div(x, det) for x in rows]

    def product(a, x):
        u, v = x
        return (
            lax.add(lax.mul(a[0], u), lax.mul(a[1], v)),
            lax.add(lax.mul(a[2], u), lax.mul(a[3], v)),
        )

    other = [a[0], a[2], a[1], a[3]]
    return custom_linear_solve(
        lambda x: product(a, x),
        b,
        lambda _, b: product(inverse(a), b),
        (lambda _, b: product(inverse(other), b)) if transpose else None,
    )


def entries(a):
    places = [(0, 0), (0, 1), (1, 0), (1, 1)]
    return [lax.reduce_sum(lax.slice(a, (i, j), (i + 1, j + 1)), (0, 1)) for i, j in places]


def solution(a, b):
    sides = tuple(lax.index_in_dim(b, i, keepdims=False) for i in (0, 1))
    u, v = matrix_solve(entries(a), sides)
    return lax.concatenate([lax.reshape(u, (1,)), lax.reshape(v, (1,))], 0)


def test_A39_linear_solve():
    b = np.ones(2, f32)
    np.testing.assert_allclose(solution(A, b), [1 / 3, 1 / 3], rtol=1e-6)
    np.testing.assert_allclose(grad(lambda b: total(solution(A, b)))(b), [0.5, 1 / 6], rtol=1e-6)


def test_derivatives_of_a_solve_with_respect_to_the_matrix():
    b = np.array([1, 2], f32)
    x = np.linalg.solve(A, b)
    expected = -np.einsum("ki,j->kij", np.linalg.inv(A), x)
    np.testing.assert_allclose(jacrev(solution)(A, b), expected, rtol=1e-5)
    np.testing.assert_allclose(jacfwd(solution)(A, b), expected, rtol=1e-5)
    second = hessian(lambda a: total(solution(a, b)))(A)
    np.testing.assert_allclose(second, np.swapaxes(np.swapaxes(second, 0, 2), 1, 3), rtol=1e-4)
    e = 1e-2
    shift = np.zeros((2, 2), f32)
    shift[0, 1] = e
    g = grad(lambda a: total(solution(a, b)))
    difference = (np.asarray(g(A + shift)) - np.asarray(g(A - shift))) / (2 * e)
    np.testing.assert_allclose(np.asarray(second)[:, :, 0, 1], difference, rtol=1e-2)


def test_a_solve_is_mapped_and_compiled():
    bs = np.arange(6, dtype=f32).reshape(3, 2)
    np.testing.assert_allclose(
        jit(vmap(solution, (None, 0)))(A, bs), np.linalg.solve(A, bs.T).T, rtol=1e-5
    )
    mapped = vmap(grad(lambda a, b: total(solution(a, b))), (None, 0))(A, bs)
    single = [grad(lambda a, b: total(solution(a, b)))(A, b) for b in bs]
    np.testing.assert_allclose(mapped, np.stack(single), rtol=1e-5)


def test_a_symmetric_solve_transposes_itself():
    def f(b, c):
        return custom_linear_solve(
            lambda x: lax.mul(c, x), b, lambda mv, b: lax.div(b, mv(1.0)), symmetric=True
        )

    assert list(map(float, grad(f, (0, 1))(3.0, 2.0))) == [0.5, -0.75]


def test_reverse_mode_needs_a_transposed_solve():
    f = lambda b: custom_linear_solve(lambda x: x, b, lambda _, b: b)  # noqa: E731
    assert float(jvp(f, (1.0,), (2.0,))[1]) == 2.0
    with pytest.raises(TypeError, match="no transpose_solve"):
        grad(f)(1.0)


def test_linear_call_has_the_given_transpose():
    def f(r, x):
        return linear_call(lax.mul, lambda r, ct: lax.mul(ct, 10.0), r, x)

    assert float(linear_transpose(lambda x: f(3.0, x), 1.0)(2.0)[0]) == 20.0
    assert list(map(float, grad(f, (0, 1))(3.0, 2.0))) == [2.0, 10.0]
    assert float(jvp(f, (3.0, 2.0), (1.0, 1.0))[1]) == 5.0
    assert float(jit(grad(f, 1))(3.0, 2.0)) == 10.0
    x = np.arange(3, dtype=f32)
    np.testing.assert_allclose(vmap(grad(f, 1), (None, 0))(3.0, x), [10.0] * 3)
    assert float(grad(lambda r: grad(f, 1)(r, 1.0))(3.0)) == 0.0


def test_linear_call_captures_traced_values():
    def f(c, x):
        return linear_call(lambda _, x: lax.mul(c, x), lambda _, ct: lax.mul(c, ct), (), x)

    assert list(map(float, grad(f, (0, 1))(3.0, 2.0))) == [2.0, 3.0]


@pytest.mark.parametrize(
    ("run", "error", "fact"),
    [
        (lambda: custom_root(1, 1.0, newton, newton), TypeError, "function"),
        (lambda: custom_root(lambda x: (x, x), 1.0, newton, newton), TypeError, r"f\(\) output"),
        (lambda: custom_root(lambda x: x, 1.0, lambda f, x: (x, x), newton), TypeError, "solve"),
        (
            lambda: custom_root(lambda x: x, 1.0, lambda f, x: x, newton, has_aux=True),
            TypeError,
            "a pair",
        ),
        (lambda: custom_linear_solve(lambda x: (x, x), 1.0, newton), ValueError, "matvec"),
        (
            lambda: custom_linear_solve(lambda x: x, 1.0, lambda f, x: (x, x)),
            ValueError,
            "match b",
        ),
        (
            lambda: custom_linear_solve(lambda x: x, 1.0, lambda f, x: x, has_aux=True),
            ValueError,
            "pair",
        ),
        (
            lambda: linear_call(lambda r, x: x, lambda r, t: (t, t), 1.0, 1.0),
            TypeError,
            "structure",
        ),
        (
            lambda: linear_call(lambda r, x: x, lambda r, t: np.ones(2, f32), 1.0, 1.0),
            TypeError,
            r"float32\[2\]",
        ),
    ],
)
def test_wrong_functions(run, error, fact):
    with pytest.raises(error, match=fact):
        run()
