"""Polynomials against NumPy in float64, with slopes in the variable and the coefficients."""

import numpy as np
import pytest

import tans_lax as lax
from tans_autodiff import grad, jvp, linear_transpose, vjp
from tans_batching import vmap
from tans_core.config import enable_x64
from tans_xla import jit, make_jaxpr

COEFFICIENTS = [0.5, -1.25, 2.0, 0.75]


def oracle(x, coeffs):
    return np.polynomial.polynomial.polyval(np.asarray(x, float), np.asarray(coeffs, float))


@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3, 5)], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "complex64", "int32"])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_values_equal_numpy(shape, dtype, count):
    with enable_x64(dtype == "float64"):
        x = (np.random.default_rng(0).standard_normal(shape) * 3).astype(dtype)
        coeffs = [np.dtype(dtype).type(c) for c in COEFFICIENTS[:count]]
        wide = complex if dtype == "complex64" else float
        expected = sum(c.astype(wide) * x.astype(wide) ** k for k, c in enumerate(coeffs))
        tolerance = {"float16": 1e-2, "float64": 1e-12}.get(dtype, 1e-5)
        for out in (lax.polynomial(x, coeffs), jit(lambda x: lax.polynomial(x, coeffs))(x)):
            assert out.shape == shape
            assert out.dtype == dtype
            np.testing.assert_allclose(out, expected, rtol=tolerance, atol=tolerance)
        mapped = vmap(lambda v: lax.polynomial(v, coeffs))(np.stack([x, x]))
        np.testing.assert_allclose(np.asarray(mapped)[1], expected, rtol=tolerance, atol=tolerance)


def test_one_equation_and_none_for_a_constant():
    program = make_jaxpr(lambda x: lax.polynomial(x, [1.0, 2.0]))(np.ones(3, np.float32))
    assert [e.primitive.name for e in program.jaxpr.eqns] == ["polynomial"]
    assert lax.polynomial(np.ones(2, np.float32), []).tolist() == [0.0, 0.0]


def test_slopes():
    with enable_x64(True):
        x = np.array([0.3, -1.2, 2.0])
        coeffs = np.array(COEFFICIENTS)
        total = lambda x, c: lax.reduce_sum(lax.polynomial(x, list(lax.unstack(c))), (0,))  # noqa: E731
        slopes = oracle(x, coeffs[1:] * np.arange(1, 4))
        np.testing.assert_allclose(grad(total)(x, coeffs), slopes, rtol=1e-12)
        powers = [np.sum(x**k) for k in range(4)]
        np.testing.assert_allclose(grad(total, 1)(x, coeffs), powers, rtol=1e-12)
        second = oracle(x, [2 * coeffs[2], 6 * coeffs[3]])
        found = grad(lambda x: lax.reduce_sum(grad(total)(x, coeffs), (0,)))(x)
        np.testing.assert_allclose(found, second, rtol=1e-12)
        x_dot, y_bar = np.array([1.0, 0.5, -2.0]), np.array([0.2, 1.0, 3.0])
        f = lambda x: lax.polynomial(x, COEFFICIENTS)  # noqa: E731
        forward = jvp(f, (x,), (x_dot,))[1]
        backward = vjp(f, x)[1](y_bar)[0]
        forward, backward = np.asarray(forward), np.asarray(backward)
        np.testing.assert_allclose(forward @ y_bar, backward @ x_dot, rtol=1e-12)


def test_what_is_not_linear_or_does_not_fit_is_refused():
    x = np.ones(3, np.float32)
    with pytest.raises(Exception, match="polynomial"):
        linear_transpose(lambda x: lax.polynomial(x, [1.0, 2.0, 3.0]), x)(x)
    with pytest.raises(TypeError, match="polynomial"):
        lax.polynomial(x, [np.float32(1), np.ones(2, np.float32)])
