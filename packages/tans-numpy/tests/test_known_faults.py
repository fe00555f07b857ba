"""Faults that other implementations have, each as a small input with its right answer."""

import pickle

import numpy as np
import pytest

import tans_autodiff
import tans_numpy as jnp
from tans_xla import jit


def test_arange_beyond_the_dtype_raises_instead_of_wrapping():
    with pytest.raises(OverflowError, match="2147483648"):
        jnp.arange(2**31 - 2, 2**31 + 1)


def test_clip_bounds_are_checked_after_the_dtype_is_known():
    x = jnp.array([0, 7, 2**32 - 1], jnp.uint32)
    np.testing.assert_array_equal(jnp.clip(x, 5, 2**31 + 5), [5, 7, 2**31 + 5])


def test_clip_bounds_beyond_the_dtype_do_not_wrap():
    np.testing.assert_array_equal(jnp.clip(jnp.array([3, -2], jnp.int8), 0, 1000), [3, 0])


def test_swapped_bytes_are_converted():
    x = np.array([1.0, 2.0], ">f4")
    np.testing.assert_array_equal(jit(lambda x: x + 1)(x), [2.0, 3.0])
    np.testing.assert_array_equal(jnp.asarray(x), [1.0, 2.0])


def test_structured_dtypes_are_named():
    with pytest.raises(TypeError, match="'a'"):
        jnp.asarray(np.zeros(2, [("a", "f4")]))


@pytest.mark.parametrize("exponent", [0.0, 0])
def test_slope_of_the_zeroth_power_at_zero_is_zero(exponent):
    assert tans_autodiff.grad(lambda x: x**exponent)(0.0) == 0.0


def test_slope_of_powers_at_zero():
    np.testing.assert_array_equal(
        tans_autodiff.grad(lambda x: jnp.sum(jnp.vander(x, 3)))(jnp.array([0.0, 1.0])), [1.0, 3.0]
    )


def test_slopes_of_sinc_at_zero():
    first = tans_autodiff.grad(jnp.sinc)
    assert first(0.0) == 0.0
    np.testing.assert_allclose(tans_autodiff.grad(first)(0.0), -(np.pi**2) / 3, rtol=1e-6)


def test_mantissa_has_a_slope():
    slopes = tans_autodiff.grad(lambda x: jnp.sum(jnp.frexp(x)[0]))(jnp.array([1.0, 6.0]))
    np.testing.assert_array_equal(slopes, [0.5, 0.125])


def test_infinity_has_no_part_behind_the_point():
    np.testing.assert_array_equal(jnp.modf(jnp.array([-jnp.inf, 2.5]))[0], [-0.0, 0.5])


def test_descending_bins_count_from_the_right_side():
    x, bins = np.array([1, 5, 2, 4]), np.array([4, 3, 1])
    for right in (False, True):
        np.testing.assert_array_equal(
            jnp.digitize(x, bins, right=right), np.digitize(x, bins, right=right)
        )


def test_half_precision_quantiles_are_computed_in_single():
    x = jnp.array([1.5, 0.5, 2.25], jnp.float16)
    assert jnp.quantile(x, 0.3) == np.float16(1.1)


@pytest.mark.parametrize("make", [jnp.float32, jnp.asarray, lambda x: jnp.array(x, jnp.float32)])
def test_constants_made_inside_of_a_derivative_rule_depend_on_no_tangent(make):
    @tans_autodiff.custom_jvp
    def f(x):
        return 2 * x

    f.defjvp(lambda primals, tangents: (make(3.0), tangents[0]))
    value, pull = tans_autodiff.vjp(f, 1.0)
    assert (float(value), float(pull(1.0)[0])) == (3, 1)
    assert float(jit(tans_autodiff.grad(f))(1.0)) == 1


def test_functions_and_scalar_types_are_pickled_by_name():
    public = {name: getattr(jnp, name) for name in jnp.__all__}
    for name, value in public.items():
        if callable(value):
            assert pickle.loads(pickle.dumps(value)) is value, name


def test_complex_places_of_an_interpolation_are_refused():
    with pytest.raises(ValueError, match="given x of dtype complex64"):
        jnp.interp(jnp.array([1 + 2j]), jnp.array([0.0, 1.0]), jnp.array([0.0, 1.0]))
    values = jnp.interp(jnp.array([0.5]), jnp.array([0.0, 1.0]), jnp.array([0.0, 1j]))
    np.testing.assert_array_equal(values, [0.5j])
