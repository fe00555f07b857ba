"""Types, refusals and special values of elementwise functions, by kinds found in a wide sweep."""

import numpy as np
import pytest

import tans_numpy as jnp
from tans_autodiff import grad
from tans_core import config

INT32 = np.dtype(np.int32)


@pytest.mark.parametrize("name", ["fabs", "copysign", "heaviside"])
def test_real_functions_refuse_complex_numbers(name):
    operands = [jnp.array([1j])] * (1 if name == "fabs" else 2)
    with pytest.raises(TypeError, match=f"{name}: given complex64.*jnp.real"):
        getattr(jnp, name)(*operands)


@pytest.mark.parametrize("name", ["signbit", "spacing", "hypot", "ldexp"])
def test_real_functions_refuse_complex_values(name):
    operands = [jnp.array([1j])] if name in ("signbit", "spacing") else [jnp.array([1j]), 2]
    with pytest.raises(ValueError, match=f"{name}: given complex64.*jnp.real"):
        getattr(jnp, name)(*operands)


@pytest.mark.parametrize("name", "power floor_divide fmod left_shift right_shift".split())
def test_booleans_count_as_integers(name):
    x = np.array([True, False])
    found = getattr(jnp, name)(x, np.array([True, True]))
    assert found.dtype == INT32
    np.testing.assert_array_equal(found, getattr(np, name)(x.astype(int), 1))


def test_division_of_booleans_by_zero_is_that_of_integers():
    assert jnp.floor_divide(np.array([True]), np.array([False])).tolist() == [-2]


@pytest.mark.parametrize("dtype", [np.uint8, np.int32])
def test_fmod_by_zero_is_zero(dtype):
    assert jnp.fmod(np.array([5], dtype), np.array([0], dtype)).tolist() == [0]


@pytest.mark.parametrize("dtype", [bool, np.int8, np.int32, np.uint8])
def test_bits_are_counted_in_the_absolute_value(dtype):
    x = np.array([0, 1, 3, 7, 100, -1, -2, -128]).astype(dtype)
    found = jnp.bitwise_count(x)
    assert found.dtype == np.uint8
    np.testing.assert_array_equal(found, np.bitwise_count(x))


def test_extrema_order_complex_numbers_and_skip_nan():
    x, y = np.array([1 + 1j, np.nan, 2]), np.array([1 + 2j, 3, np.nan])
    np.testing.assert_array_equal(jnp.fmax(x, y), np.fmax(x, y).astype(np.complex64))
    np.testing.assert_array_equal(jnp.fmin(x, y), np.fmin(x, y).astype(np.complex64))


def test_size_is_infinite_where_a_part_is():
    x = [complex(np.inf, np.nan), complex(np.nan, -np.inf), complex(-np.inf, 1), 3 + 4j]
    np.testing.assert_array_equal(jnp.abs(jnp.array(x)), np.abs(np.array(x)))


@pytest.mark.parametrize("name", ["log2", "log10"])
def test_logarithms_keep_the_sign_of_zero(name):
    found = np.asarray(getattr(jnp, name)(jnp.array([complex(1, -0.0), complex(1, 0.0)])))
    assert np.signbit(found.imag).tolist() == [True, False]
    assert np.isinf(np.asarray(getattr(jnp, name)(jnp.array([complex(np.inf, 0)]))).real).all()


def test_log10_is_as_near_as_float32_allows():
    x = np.array([2, 3, 10, 1000, 1e-3, 7e20], np.float32)
    np.testing.assert_allclose(jnp.log10(x), np.log10(x.astype(float)), rtol=1.2e-7)


def test_sinc_of_whole_numbers_is_zero_and_of_infinity_too():
    x = np.array([1, 2, -3, 1e6, np.inf, -np.inf], np.float32)
    assert jnp.sinc(x).tolist() == [0.0] * 6
    np.testing.assert_allclose(grad(jnp.sinc)(1.0), -1.0, rtol=1e-6)
    np.testing.assert_allclose(grad(jnp.sinc)(2.0), 0.5, rtol=1e-6)


@pytest.mark.parametrize("scale", ["", "2"])
def test_imaginary_part_of_logaddexp_is_a_logarithms(scale):
    x, y = np.array([1 + 3j, -2 - 3j]), np.array([1 + 4j, -2 - 4j])
    base = 2.0 if scale else np.e
    expected = np.log(base**x + base**y) / np.log(base)
    found = getattr(jnp, f"logaddexp{scale}")(x, y)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize("name", ["i0", "sinc", "isreal", "heaviside"])
def test_weak_numbers_stay_weak(name):
    operands = (2,) if name != "heaviside" else (2.0, 3.0)
    assert getattr(jnp, name)(*operands).weak_type


def test_a_strong_sign_makes_a_strong_result():
    assert not jnp.copysign(3.5, np.float32(-2)).weak_type
    assert jnp.copysign(3.5, -2.0).weak_type


def test_rint_of_integers_is_the_default_float():
    with config.enable_x64(True):
        assert jnp.rint(np.array([1], np.int32)).dtype == np.float64
    assert jnp.rint(np.array([1], np.int8)).dtype == np.float32


@pytest.mark.parametrize("decimals", [1, -1])
def test_parts_of_complex_numbers_are_rounded_apart(decimals):
    x = np.array([-0.03 - 0.04j, 12.34 + 56.78j], np.complex64)
    found = np.asarray(jnp.round(x, decimals))
    np.testing.assert_allclose(found, np.round(x, decimals), rtol=1e-6)
    assert np.signbit(found[0].real)


def test_the_last_condition_counts():
    x = np.arange(5.0)
    found = jnp.piecewise(x, [x > 0, x > 2], [1, 2])
    np.testing.assert_array_equal(found, np.piecewise(x, [x > 0, x > 2], [1, 2]))


@pytest.mark.parametrize("name", ["add", "less", "power", "logical_and", "bitwise_or"])
def test_class_of_shapes_that_do_not_broadcast(name):
    function, kind = getattr(jnp, name), bool if name == "bitwise_or" else float
    with pytest.raises(TypeError, match=r"\(3,\), \(4,\), which do not broadcast"):
        function(np.ones(3, kind), np.ones(4, kind))
    with pytest.raises(ValueError, match=r"\(2, 3\), \(4,\), which do not broadcast"):
        function(np.ones((2, 3), kind), np.ones(4, kind))
