"""Derivatives of elementwise operations: differences, the inner-product identity, special points.

All functions are differentiated in one compiled program in double precision; each test reads its
part of the results.
"""

import numpy as np
import pytest

import tans_autodiff as autodiff
import tans_lax as lax
from tans_core import config_module as config
from tans_xla import jit, make_jaxpr

H = 1e-5
SMOOTH = {
    "neg": (lax.neg, -2, 2),
    "abs": (lax.abs, 0.5, 2),
    "add": (lambda x: lax.add(x, lax.square(x)), -2, 2),
    "sub": (lambda x: lax.sub(lax.square(x), x), -2, 2),
    "mul": (lambda x: lax.mul(x, lax.sin(x)), -2, 2),
    "div": (lambda x: lax.div(lax.sin(x), x), 0.5, 2),
    "rem": (lambda x: lax.rem(lax.mul(7.0, x), lax.square(x)), 1.1, 1.3),
    "square": (lax.square, -2, 2),
    "integer_pow": (lambda x: lax.integer_pow(x, 5), -2, 2),
    "reciprocal": (lax.reciprocal, 0.5, 2),
    "pow": (lambda x: lax.pow(x, lax.square(x)), 0.5, 2),
    "pow of scalars": (lambda x: lax.add(lax.pow(x, 2.5), lax.pow(1.5, x)), 0.5, 2),
    "pow of integers": (lambda x: lax.pow(x, np.int32(3)), 0.5, 2),
    "sqrt": (lax.sqrt, 0.5, 2),
    "rsqrt": (lax.rsqrt, 0.5, 2),
    "cbrt": (lax.cbrt, 0.5, 2),
    "one_minus_square": (lax.one_minus_square, -2, 2),
    "exp": (lax.exp, -2, 2),
    "exp2": (lax.exp2, -2, 2),
    "expm1": (lax.expm1, -2, 2),
    "log": (lax.log, 0.5, 2),
    "log1p": (lax.log1p, 0.5, 2),
    "log2": (lax.log2, 0.5, 2),
    "logistic": (lax.logistic, -3, 3),
    "sin": (lax.sin, -2, 2),
    "cos": (lax.cos, -2, 2),
    "tan": (lax.tan, -1, 1),
    "asin": (lax.asin, -0.9, 0.9),
    "acos": (lax.acos, -0.9, 0.9),
    "atan": (lax.atan, -2, 2),
    "atan2": (lambda x: lax.atan2(lax.square(x), x), 0.5, 2),
    "sinh": (lax.sinh, -2, 2),
    "cosh": (lax.cosh, -2, 2),
    "tanh": (lax.tanh, -2, 2),
    "asinh": (lax.asinh, -2, 2),
    "acosh": (lax.acosh, 1.5, 3),
    "atanh": (lax.atanh, -0.8, 0.8),
    "erf": (lax.erf, -2, 2),
    "erfc": (lax.erfc, -2, 2),
    "erf_inv": (lax.erf_inv, -0.8, 0.8),
    "lgamma": (lax.lgamma, 1.2, 4),
    "digamma": (lax.digamma, 1.2, 4),
    "polygamma": (lambda x: lax.polygamma(1.0, x), 1.2, 4),
    "zeta": (lambda x: lax.zeta(2.5, x), 1.2, 4),
    "select": (lambda x: lax.select(lax.gt(x, 0.0), lax.sin(x), lax.cos(x)), 0.5, 2),
    "clamp": (lambda x: lax.clamp(-1.0, lax.square(x), x), 1.5, 2),
    "max": (lambda x: lax.max(lax.sin(x), lax.cos(x)), 0.9, 1.1),
    "stage": (lambda x: lax.stage(lax.square(x)), -2, 2),
    "copy": (lambda x: lax.copy_p.bind(lax.square(x)), -2, 2),
    "barrier": (lambda x: lax.optimization_barrier((lax.square(x), x))[0], -2, 2),
}
# Their second derivatives take long to compile and are other rows of this table.
ONCE = ("lgamma", "polygamma", "zeta")
HOLOMORPHIC = [
    "neg",
    "add",
    "mul",
    "div",
    "square",
    "integer_pow",
    "reciprocal",
    "sqrt",
    "rsqrt",
    "exp",
    "exp2",
    "expm1",
    "log",
    "log1p",
    "log2",
    "logistic",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "acosh",
    "atanh",
    "select",
]


def tangent_of(fn):
    return lambda x, t: autodiff.jvp(fn, (x,), (t,))[1]


def derivatives(fn, x, t, ct, twice=True):
    _, y_dot = autodiff.jvp(fn, (x,), (t,))
    (x_bar,) = autodiff.vjp(fn, x)[1](ct)
    difference = lax.div(
        lax.sub(fn(lax.add(x, lax.mul(H, t))), fn(lax.sub(x, lax.mul(H, t)))), 2 * H
    )
    if not twice:
        return y_dot, difference, y_dot, difference, x_bar
    slope = tangent_of(fn)
    second = autodiff.jvp(lambda x: slope(x, t), (x,), (t,))[1]
    second_difference = lax.div(
        lax.sub(slope(lax.add(x, lax.mul(H, t)), t), slope(lax.sub(x, lax.mul(H, t)), t)), 2 * H
    )
    return y_dot, difference, second, second_difference, x_bar


def compiled_once(fn):
    return jit(fn, compiler_options={"xla_backend_optimization_level": 0})


@pytest.fixture(scope="module")
def results():
    rng = np.random.default_rng(0)
    points, fns = {}, {}
    for name, (fn, low, high) in SMOOTH.items():
        points[name] = tuple(rng.uniform(low, high, 3) if i == 0 else rng.normal(size=3)
                             for i in range(3))  # fmt: skip
        fns[name] = fn
    with config.enable_x64(True):
        run = compiled_once(lambda p: {k: derivatives(fns[k], *p[k], k not in ONCE) for k in fns})
        out = {k: [np.asarray(v) for v in vs] for k, vs in run(points).items()}
    return points, out


@pytest.mark.parametrize("name", SMOOTH)
def test_tangents_agree_with_differences_and_with_cotangents(name, results):
    points, out = results
    y_dot, difference, second, second_difference, x_bar = out[name]
    _, t, ct = points[name]
    np.testing.assert_allclose(y_dot, difference, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(second, second_difference, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(np.dot(ct, y_dot), np.dot(x_bar, t), rtol=1e-12, atol=1e-12)


@pytest.fixture(scope="module")
def complex_results():
    rng = np.random.default_rng(1)
    points = {}
    for name in HOLOMORPHIC:
        _, low, high = SMOOTH[name]
        z = rng.uniform(max(low, 0.2), high, 3) + 1j * rng.uniform(0.2, 0.7, 3)
        points[name] = (z, *(rng.normal(size=3) + 1j * rng.normal(size=3) for _ in "ab"))
    fns = {name: SMOOTH[name][0] for name in HOLOMORPHIC}
    fns["select"] = lambda z: lax.select(lax.gt(lax.real(z), 0.0), lax.sin(z), lax.cos(z))
    with config.enable_x64(True):
        run = compiled_once(lambda p: {k: derivatives(fns[k], *p[k], k not in ONCE) for k in fns})
        out = {k: [np.asarray(v) for v in vs] for k, vs in run(points).items()}
    return points, out


@pytest.mark.parametrize("name", HOLOMORPHIC)
def test_complex_derivatives(name, complex_results):
    points, out = complex_results
    y_dot, difference, second, second_difference, x_bar = out[name]
    _, t, ct = points[name]
    np.testing.assert_allclose(y_dot, difference, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(second, second_difference, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(np.dot(ct, y_dot), np.dot(x_bar, t), rtol=1e-12, atol=1e-12)


def slopes(fn, *xs):
    """Gradient at each point of a list, in single precision."""
    total = lambda *xs: lax.reduce_sum(fn(*xs), (0,))  # noqa: E731
    args = [np.asarray(x, np.float32) for x in xs]
    grads = jit(autodiff.grad(total, argnums=tuple(range(len(xs)))))(*args)
    return [g.tolist() for g in grads]


NAN = pytest.approx(np.nan, nan_ok=True)
INF = np.inf


@pytest.mark.parametrize(
    ("fn", "xs", "expected"),
    [
        (lax.abs, ([-1, 0, -0.0, 1],), ([-1, 1, 1, 1],)),
        (lax.sign, ([0, 2],), ([0, 0],)),
        (lax.sqrt, ([0],), ([INF],)),
        (lax.rsqrt, ([0],), ([-INF],)),
        (lax.cbrt, ([0],), ([INF],)),
        (lax.max, ([1, 2, 0, np.nan], [1, 1, 1, 1]), ([0.5, 1, 0, 0], [0.5, 0, 1, 0])),
        (lax.min, ([1, 2, 0, np.nan], [1, 1, 1, 1]), ([0.5, 0, 1, 0], [0.5, 1, 0, 0])),
        (lambda x: lax.clamp(0.0, x, 1.0), ([-1, 0, 0.5, 1, 2],), ([0, 0, 1, 0, 0],)),
        (lax.clamp, ([0, 0], [2, 0], [1, 1]), ([0, 0], [0, 0], [1, 0])),
        (lax.pow, ([0, 0, 0], [0, 1, 2]), ([0, 1, 0], [0, 0, 0])),
        (lax.pow, ([-2], [2]), ([-4], [NAN])),
        (lambda x: lax.pow(x, 0.0), ([0, 1, INF],), ([0, 0, 0],)),
        (lambda x: lax.pow(x, np.int32(0)), ([0],), ([0],)),
        (lambda x: lax.integer_pow(x, 0), ([0],), ([0],)),
        (lambda x: lax.integer_pow(x, 1), ([0],), ([1],)),
        (lambda x: lax.integer_pow(x, 2), ([0],), ([0],)),
        (lambda x: lax.integer_pow(x, -1), ([0],), ([-INF],)),
        (lambda y: lax.pow(0.0, y), ([0, 2],), ([0, 0],)),
        (lambda y: lax.pow(-1.0, y), ([0, 2],), ([NAN, NAN],)),
        (lambda y: lax.pow(lax.full_like(y, 0), y), ([0, 2],), ([0, 0],)),
        (lax.log, ([0, -1],), ([INF, -1],)),
        (lax.log1p, ([-1],), ([INF],)),
        (lax.div, ([0], [0]), ([INF], [NAN])),
        (lax.logistic, ([-1000, 0, 1000],), ([0, 0.25, 0],)),
        (lax.tanh, ([-100, 0, 100],), ([0, 1, 0],)),
        (lax.acos, ([1],), ([-INF],)),
        (lax.asin, ([1],), ([INF],)),
        (lax.atan2, ([0], [0]), ([NAN], [NAN])),
        (lax.floor, ([1.5],), ([0],)),
        (lax.ceil, ([1.5],), ([0],)),
        (lax.round, ([1.5],), ([0],)),
        (lax.rem, ([-5], [3]), ([1], [1])),
        (lambda x: lax.nextafter(x, 2.0), ([1],), ([1],)),
        (lax.erf_inv, ([1],), ([INF],)),
        (lax.lgamma, ([0],), ([-INF],)),
        (lambda x: lax.select(lax.gt(x, 0.0), x, lax.neg(x)), ([0],), ([-1],)),
        (lambda x: lax.mul(x, lax.stop_gradient(x)), ([3],), ([3],)),
        (lambda x: lax.reduce_precision(x, 5, 10), ([1.5],), ([1],)),
    ],
)
def test_slopes_at_special_points(fn, xs, expected):
    for got, want in zip(slopes(fn, *xs), expected, strict=True):
        assert [pytest.approx(w, nan_ok=True) if isinstance(w, float) else w for w in want] == got


def exact(fn, x):
    return fn(np.asarray(x, np.float64))


@pytest.mark.parametrize(
    ("fn", "xs", "slope"),
    [
        (lax.logistic, [-87, -80, -20, 20, 80], lambda x: 1 / (2 + 2 * np.cosh(x))),
        (lax.tanh, [-30, -9, 9, 30], lambda x: 1 / np.cosh(x) ** 2),
        (lax.expm1, [-40, -20], np.exp),
        (lax.asin, [0.99999, -0.9999999], lambda x: 1 / np.sqrt((1 - x) * (1 + x))),
        (lax.atanh, [0.99999, -0.9999999], lambda x: 1 / ((1 - x) * (1 + x))),
        (lax.acosh, [1.0001, 1e25], lambda x: 1 / (np.sqrt(x - 1) * np.sqrt(x + 1))),
        (lax.asinh, [1e25, -1e25, 1e-20], lambda x: 1 / np.hypot(1, x)),
        (lax.erfc, [4, 8], lambda x: -2 / np.sqrt(np.pi) * np.exp(-x * x)),
    ],
)
def test_slopes_are_accurate_where_functions_saturate(fn, xs, slope):
    points = np.asarray(xs, np.float32)
    np.testing.assert_allclose(slopes(fn, xs)[0], exact(slope, points), rtol=1e-5)


@pytest.mark.parametrize("x", [-87, -80, -20, -1, 1, 20, 80])
def test_the_second_derivative_of_logistic_is_accurate_where_it_saturates(x):
    expected = -np.tanh(x / 2) / (2 + 2 * np.cosh(x))
    found = autodiff.grad(autodiff.grad(lax.logistic))(np.float32(x))
    assert float(found) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_slopes_of_logistic_beyond_the_range_of_exp(dtype):
    for order in (autodiff.grad(lax.logistic), autodiff.grad(autodiff.grad(lax.logistic))):
        assert [float(order(dtype(x))) for x in (-1000, 1000)] == [0, 0]


@pytest.mark.parametrize("x", [-14, -12, -4, 4, 12])
def test_slopes_of_logistic_in_float16_where_its_exponential_overflows(x):
    found = float(autodiff.grad(lax.logistic)(np.float16(x)))
    # Slopes that small are multiples of 6e-8.
    assert found == pytest.approx(1 / (2 + 2 * np.cosh(x)), rel=2e-3, abs=6e-8)


def test_higher_derivatives_of_tanh_and_logistic():
    third = autodiff.grad(autodiff.grad(autodiff.grad(lax.tanh)))
    second = autodiff.grad(autodiff.grad(lax.tanh))
    assert float(third(1.0)) == pytest.approx(0.62162673, rel=1e-5)
    assert float(second(100.0)) == 0
    assert float(second(9.0)) == pytest.approx(-2 * np.tanh(9) / np.cosh(9) ** 2, rel=1e-5)
    curvature = autodiff.grad(autodiff.grad(lax.logistic))
    assert float(curvature(20.0)) == pytest.approx(-2.0611536e-9, rel=1e-5)


def test_complex_conventions():
    grad, z = autodiff.grad, np.complex64(1 + 2j)
    assert complex(grad(lambda z: lax.real(lax.mul(z, lax.conj(z))))(z)) == 2 - 4j
    assert complex(grad(lax.imag)(z)) == -1j
    assert complex(grad(lax.conj, holomorphic=True)(z)) == 1
    assert complex(grad(lambda z: lax.square(lax.abs(z)))(np.complex64(3 + 4j))) == 6 - 8j
    assert complex(grad(lax.abs)(np.complex64(0))) == 0
    assert complex(autodiff.vjp(lambda z: lax.mul(z, 2 + 1j), z)[1](np.complex64(1j))[0]) == -1 + 2j
    assert complex(autodiff.vjp(lax.conj, z)[1](np.complex64(1j))[0]) == -1j
    y, y_dot = autodiff.jvp(lax.square, (z,), (np.complex64(1j),))
    assert (complex(y), complex(y_dot)) == (-3 + 4j, -4 + 2j)


def test_sign_of_complex_numbers_turns_with_the_tangent():
    y_dot = autodiff.jvp(lax.sign, (np.complex64(3 + 4j),), (np.complex64(1j),))[1]
    h = 1e-6
    sign = lambda z: z / np.abs(z)  # noqa: E731
    expected = (sign(3 + 4j + h * 1j) - sign(3 + 4j - h * 1j)) / (2 * h)
    assert complex(y_dot) == pytest.approx(expected, abs=1e-6)


def test_repeated_operands_get_the_sum_of_the_cotangent():
    x, y = np.ones((2, 3), np.float32), np.float32(2)
    for fn in (lax.add, lax.mul, lax.sub, lax.div, lax.max, lax.atan2):
        x_bar, y_bar = autodiff.vjp(fn, x, y)[1](np.ones((2, 3), np.float32))
        full = autodiff.vjp(fn, x, np.full((2, 3), y))[1](np.ones((2, 3), np.float32))
        np.testing.assert_allclose(x_bar, full[0], rtol=1e-6)
        np.testing.assert_allclose(y_bar, np.sum(full[1]), rtol=1e-6)
    row = x[:1]
    assert autodiff.vjp(lax.add, x, row)[1](x)[1].tolist() == [[2, 2, 2]]


def test_transposition_passes_through_stop_gradient():
    double = autodiff.linear_transpose(lambda x: lax.mul(2.0, lax.stop_gradient(x)), 1.0)
    assert [float(x) for x in double(3.0)] == [6]


def test_non_linear_functions_are_not_transposed():
    with pytest.raises((NotImplementedError, TypeError)):
        autodiff.linear_transpose(lax.sin, 1.0)(1.0)


def test_orders_of_polygamma_and_zeta_have_no_derivative():
    for fn in (lax.polygamma, lax.zeta):
        with pytest.raises(ValueError, match="stop_gradient"):
            autodiff.grad(fn)(2.0, 3.0)


def test_gradients_record_few_equations():
    counts = {
        name: len(make_jaxpr(autodiff.grad(fn))(1.0).eqns)
        for name, fn in {
            "sin": lax.sin,
            "tanh": lax.tanh,
            "logistic": lax.logistic,
            "mul": lambda x: lax.mul(x, 2.0),
            "relu": lambda x: lax.max(x, 0.0),
        }.items()
    }
    assert counts == {"sin": 3, "tanh": 3, "logistic": 3, "mul": 2, "relu": 9}


def relu(x):
    return lax.select(lax.gt(x, 0.0), x, lax.full_like(x, 0))


@pytest.mark.parametrize(
    "fn",
    [
        lax.sqrt, lax.rsqrt, lax.cbrt, lax.log, lax.log2, lax.reciprocal,
        lambda x: lax.div(1.0, x), lambda x: lax.pow(x, 0.5), lambda x: lax.pow(x, -0.5),
        lambda x: lax.acos(lax.sub(1.0, x)), lambda x: lax.atanh(lax.sub(1.0, x)),
    ],
)  # fmt: skip
def test_forward_and_reverse_mode_agree_where_an_inner_slope_is_0(fn):
    forward = autodiff.jvp(lambda x: fn(relu(x)), (-10.0,), (1.0,))[1]
    backward = autodiff.grad(lambda x: fn(relu(x)))(-10.0)
    assert (float(forward), float(backward)) == (0, 0)
