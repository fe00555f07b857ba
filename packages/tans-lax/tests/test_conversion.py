"""Conversions of dtype by value and by bits."""

import itertools
import warnings

import ml_dtypes
import numpy as np
import pytest

import tans_autodiff as autodiff
import tans_batching as batching
import tans_lax as lax
from tans_core import config_module as config
from tans_xla import jit, make_jaxpr

DTYPES = ["float32", "bfloat16", "float16", "complex64", "int8", "uint32", "bool"]


def dtype_of(name):
    return np.dtype(getattr(ml_dtypes, name, name))


@pytest.mark.parametrize("source", DTYPES)
def test_values_convert_as_in_numpy(source):
    x = np.array([[0, 1, 3], [100, 2, 0]]).astype(dtype_of(source))

    def all_of(x):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return [lax.convert_element_type(x, dtype_of(name)) for name in DTYPES]

    for name, got in zip(DTYPES, jit(all_of)(x), strict=True):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            want = x.astype(dtype_of(name))
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got, want, name)


def test_scalars_and_empty_arrays_convert():
    assert lax.convert_element_type(2.7, int).tolist() == 2
    assert not lax.convert_element_type(2.7, float).weak_type
    assert lax.convert_element_type(np.zeros((0, 2)), "int8").shape == (0, 2)


def test_nothing_is_recorded_when_the_type_is_right():
    x = np.ones(3, np.float32)
    assert not make_jaxpr(lambda x: lax.convert_element_type(x, np.float32))(x).eqns


def test_complex_to_real_warns_and_takes_the_real_part():
    with pytest.warns(np.exceptions.ComplexWarning):
        assert lax.convert_element_type(np.complex64(1 + 2j), np.float32).tolist() == 1
    assert lax.convert_element_type(np.complex64(2j), bool).tolist() is True


def test_unknown_and_refused_dtypes():
    with pytest.raises(TypeError):
        lax.convert_element_type(1.0, "foo")
    with pytest.warns(UserWarning, match="64"):
        assert lax.convert_element_type(1.0, np.float64).dtype == np.float32
    with config.enable_x64(True):
        assert lax.convert_element_type(1.0, np.float64).dtype == np.float64


def test_bits_are_kept():
    x = np.array([[1.0, -2.5], [0.0, np.inf]], np.float32)
    np.testing.assert_array_equal(lax.bitcast_convert_type(x, np.int32), x.view(np.int32))
    halves = lax.bitcast_convert_type(x, np.uint16)
    assert halves.shape == (2, 2, 2)
    np.testing.assert_array_equal(halves, x.view(np.uint16).reshape(2, 2, 2))
    np.testing.assert_array_equal(lax.bitcast_convert_type(halves, np.float32), x)
    assert lax.bitcast_convert_type(x, np.float32).dtype == np.float32


def test_bitcast_refuses_what_has_no_bits_in_common():
    x = np.ones((2, 3), np.float32)
    for operand, dtype in ((x, bool), (x, np.complex64), (x > 0, np.int8)):
        with pytest.raises(TypeError, match=r"given.*expected"):
            lax.bitcast_convert_type(operand, dtype)
    with pytest.raises(ValueError, match="last dimension of size 4"):
        lax.bitcast_convert_type(x.astype(np.int8), np.int32)


def test_derivatives_pass_through_float_dtypes_only():
    pull = autodiff.vjp(lambda x: lax.convert_element_type(x, np.float32), np.float16(3))[1]
    (x_bar,) = pull(np.float32(2))
    assert (x_bar.dtype, float(x_bar)) == (np.float16, 2)


def test_no_derivative_passes_through_integers():
    fn = jit(lambda x: lax.convert_element_type(lax.convert_element_type(x, int), float))
    assert float(autodiff.grad(fn)(1.5)) == 0


def test_derivatives_through_complex_numbers_are_real():
    def times_i(x):
        return lax.mul(lax.convert_element_type(x, np.complex64), 2 + 1j)

    (x_bar,) = autodiff.vjp(times_i, np.float32(1))[1](np.complex64(1j))
    assert (x_bar.dtype, float(x_bar)) == (np.float32, -1)


@pytest.mark.parametrize(("dim", "narrow"), list(itertools.product((0, 1, 2), (False, True))))
def test_batching_of_bitcast(dim, narrow):
    x = np.arange(24, dtype=np.uint16).reshape(2, 4, 3) if narrow else np.ones((2, 4, 3), np.int32)
    if narrow:
        x = np.moveaxis(np.arange(24, dtype=np.uint16).reshape(4, 3, 2), 0, dim)
    target = np.uint32 if narrow else np.int8
    got = batching.vmap(lambda x: lax.bitcast_convert_type(x, target), dim)(x)
    each = [
        np.asarray(lax.bitcast_convert_type(np.take(x, i, dim), target))
        for i in range(x.shape[dim])
    ]
    np.testing.assert_array_equal(got, np.stack(each))
