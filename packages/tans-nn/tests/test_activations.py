"""Activations against NumPy and SciPy in double precision, with first and second derivatives."""

import numpy as np
import pytest
from scipy import special

import tans_nn as nn
import tans_numpy as jnp
from tans_autodiff import grad, jvp, vjp
from tans_batching import vmap
from tans_xla import jit, make_jaxpr

RTOL = {"bfloat16": 2e-2, "float32": 3e-6, "float64": 1e-13}


def _relu6(x):
    return np.clip(x, 0, 6)


def _selu(x):
    return 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(np.minimum(x, 0)))


def _squareplus(x):
    r = np.sqrt(x * x + 4)
    return np.where(x > 0, (x + r) / 2, 2 / (r + np.abs(x)))


def _sparse_plus(x):
    return np.where(x <= -1, 0, np.where(x >= 1, x, (x + 1) ** 2 / 4))


def _gelu_tanh(x):
    return x * special.expit(2 * np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))


def _gelu_exact(x):
    return nn.gelu(x, approximate=False)


ORACLES = {
    "relu": lambda x: np.maximum(x, 0),
    "relu6": _relu6,
    "sigmoid": special.expit,
    "softplus": lambda x: np.logaddexp(x, 0),
    "soft_sign": lambda x: x / (1 + np.abs(x)),
    "silu": lambda x: x * special.expit(x),
    "swish": lambda x: x * special.expit(x),
    "mish": lambda x: x * np.tanh(np.logaddexp(x, 0)),
    "elu": lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))),
    "celu": lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))),
    "leaky_relu": lambda x: np.where(x >= 0, x, 0.01 * x),
    "hard_tanh": lambda x: np.clip(x, -1, 1),
    "hard_sigmoid": lambda x: _relu6(x + 3) / 6,
    "hard_silu": lambda x: x * _relu6(x + 3) / 6,
    "selu": _selu,
    "gelu": _gelu_tanh,
    "gelu_exact": lambda x: x * special.ndtr(x),
    "squareplus": _squareplus,
    "log_sigmoid": special.log_expit,
    "sparse_plus": _sparse_plus,
    "sparse_sigmoid": lambda x: np.clip((x + 1) / 2, 0, 1),
    "identity": lambda x: x,
    "tanh": np.tanh,
}
SMOOTH = [
    "sigmoid", "softplus", "silu", "mish", "gelu", "gelu_exact", "squareplus", "log_sigmoid",
    "tanh", "soft_sign", "elu", "selu", "celu",
]  # fmt: skip
SHAPES = [(), (0,), (2, 3, 2)]


def activation(name):
    return _gelu_exact if name == "gelu_exact" else getattr(nn, name)


@pytest.mark.parametrize("dtype", ["bfloat16", "float32", "float64"])
@pytest.mark.parametrize("name", ORACLES)
def test_values_equal_the_oracle(name, dtype, x64):
    for shape in SHAPES:
        x = jnp.asarray(np.random.default_rng(0).normal(size=shape) * 3, dtype)
        y = activation(name)(x)
        expected = ORACLES[name](np.asarray(x, np.float64))
        assert y.dtype == x.dtype
        np.testing.assert_allclose(
            np.asarray(y, np.float64), expected, rtol=RTOL[dtype], atol=RTOL[dtype] / 10
        )


@pytest.mark.parametrize("name", ORACLES)
def test_jit_and_vmap_change_nothing(name):
    f = activation(name)
    x = jnp.linspace(-4.0, 4.0, 6).reshape(2, 3)
    expected = np.stack([f(row) for row in x])
    np.testing.assert_allclose(jit(f)(x), expected, rtol=1e-6)
    np.testing.assert_allclose(vmap(f)(x), expected, rtol=1e-6)


@pytest.mark.parametrize("name", ORACLES)
def test_forward_and_reverse_derivatives_agree_with_differences(name, x64):
    f = activation(name)
    x = np.array([-3.7, -1.3, -0.4, 0.3, 0.9, 2.2, 5.1])
    x_dot, y_bar = np.random.default_rng(1).normal(size=(2, 7))
    _, y_dot = jvp(f, (x,), (x_dot,))
    (x_bar,) = vjp(f, x)[1](jnp.asarray(y_bar))
    np.testing.assert_allclose(np.vdot(y_bar, y_dot), np.vdot(x_bar, x_dot), rtol=1e-12)
    h = 1e-6
    difference = (np.asarray(f(x + h * x_dot)) - np.asarray(f(x - h * x_dot))) / (2 * h)
    np.testing.assert_allclose(y_dot, difference, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", SMOOTH)
def test_second_derivatives_agree_with_differences_of_the_first(name, x64):
    slope = vmap(grad(activation(name)))
    x = np.array([-3.7, -1.3, -0.4, 0.3, 0.9, 2.2, 5.1])
    h = 1e-6
    difference = (np.asarray(slope(x + h)) - np.asarray(slope(x - h))) / (2 * h)
    np.testing.assert_allclose(
        vmap(grad(grad(activation(name))))(x), difference, rtol=1e-6, atol=1e-9
    )


@pytest.mark.parametrize("x", [-20.0, 20.0])
def test_second_derivative_of_softplus_keeps_its_digits_where_it_saturates(x):
    expected = special.expit(x) * special.expit(-x)
    np.testing.assert_allclose(grad(grad(nn.softplus))(jnp.float32(x)), expected, rtol=1e-6)
    np.testing.assert_allclose(grad(grad(nn.log_sigmoid))(jnp.float32(x)), -expected, rtol=1e-6)


@pytest.mark.parametrize("x", [-1e4, -30.0, 30.0, 1e4])
def test_rational_activations_keep_their_digits_where_they_saturate(x):
    x32, r = jnp.float32(x), np.sqrt(x * x + 4)
    np.testing.assert_allclose(nn.squareplus(x32), _squareplus(np.float64(x)), rtol=1e-6)
    np.testing.assert_allclose(grad(nn.squareplus)(x32), _squareplus(x) / r, rtol=1e-6)
    np.testing.assert_allclose(grad(grad(nn.squareplus))(x32), 2 / r**3, rtol=1e-5)
    np.testing.assert_allclose(grad(nn.soft_sign)(x32), (1 + abs(x)) ** -2, rtol=1e-6)


def test_gelu_keeps_its_digits_in_the_lower_tail():
    x = np.float32(-6.0)
    np.testing.assert_allclose(nn.gelu(x, approximate=False), -6 * special.ndtr(-6.0), rtol=2e-5)
    np.testing.assert_allclose(nn.gelu(x), _gelu_tanh(-6.0), rtol=1e-5)


def test_kinks_have_slope_0():
    assert grad(nn.relu)(0.0) == 0
    assert grad(nn.relu6)(0.0) == 0
    assert grad(nn.relu6)(6.0) == 0


def test_root_of_relu_has_slope_0_below_0_in_both_modes():
    def f(x):
        return jnp.sqrt(nn.relu(x))

    assert grad(f)(-10.0) == 0
    assert jvp(f, (-10.0,), (1.0,))[1] == 0


def test_squareplus_in_its_smoothness():
    np.testing.assert_allclose(nn.squareplus(jnp.array([-1.0, 0.0, 2.0]), 0), [0, 0, 2])
    x, b, h = 1.5, 2.0, 1e-3
    difference = (nn.squareplus(x, b + h) - nn.squareplus(x, b - h)) / (2 * h)
    np.testing.assert_allclose(grad(nn.squareplus, 1)(x, b), difference, rtol=1e-3)


def test_log1mexp_and_its_slope(x64):
    x = np.array([1e-12, 0.1, 0.6931, 0.6932, 5.0, 50.0])
    np.testing.assert_allclose(nn.log1mexp(x), np.log(-np.expm1(-x)), rtol=1e-12, atol=1e-20)
    np.testing.assert_allclose(vmap(grad(nn.log1mexp))(x), 1 / np.expm1(x), rtol=1e-12)


def test_glu_splits_and_gates():
    x = jnp.arange(12.0).reshape(2, 6)
    np.testing.assert_allclose(nn.glu(x), x[:, :3] * special.expit(np.asarray(x[:, 3:])), rtol=1e-6)
    np.testing.assert_allclose(nn.glu(x, 0), x[:1] * special.expit(np.asarray(x[1:])), rtol=1e-6)


def test_glu_of_an_odd_size_names_shape_and_axis():
    with pytest.raises(ValueError, match=r"\(2, 3\).*axis 1"):
        nn.glu(jnp.ones((2, 3)))


def test_lists_are_refused():
    with pytest.raises(TypeError, match="relu"):
        nn.relu([1.0, 2.0])


@pytest.mark.parametrize(("name", "count"), [("gelu", 9), ("softplus", 1), ("relu", 3)])
def test_programs_are_short(name, count):
    assert len(make_jaxpr(getattr(nn, name))(jnp.ones((2, 4))).eqns) <= count


@pytest.mark.parametrize(
    ("x", "b", "dtype", "weak"),
    [
        (np.ones(3, int), 2.0, "float32", True), (np.ones(3, int), 2, "float32", False),
        (np.ones(3, bool), 4, "float32", False), (2, 4, "float32", True),
        (np.ones(3, np.float16), 2.0, "float16", False),
    ],
)  # fmt: skip
def test_types_of_squareplus_are_those_of_a_sum(x, b, dtype, weak):
    found = nn.squareplus(x, b)
    assert (found.dtype, found.weak_type) == (dtype, weak)
