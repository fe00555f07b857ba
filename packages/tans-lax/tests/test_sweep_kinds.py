"""Kinds of faults that a wide sweep of calls found."""

import ml_dtypes
import numpy as np
import pytest

import tans_lax as lax
from tans_xla import make_jaxpr

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


@pytest.mark.parametrize("dtype", [BFLOAT16, np.float32, np.int8])
def test_weak_initial_values_adopt_the_operands_dtype(dtype):
    x = np.ones(4, dtype)
    total = lax.reduce(x, 0, lax.add, (0,))
    assert (total.dtype, float(total)) == (dtype, 4.0)
    windows = lax.reduce_window(x, 0, lax.add, (2,))
    assert (windows.dtype, windows.tolist()) == (dtype, [2, 2, 2])


@pytest.mark.parametrize("init", [1, 0j, True])
def test_only_the_identity_of_a_fold_adopts_the_operands_dtype(init):
    with pytest.raises(TypeError, match="operand 0 has dtype float32"):
        lax.reduce(np.ones(3, np.float32), init, lax.max, (0,))


def test_an_identity_is_no_equation():
    jaxpr = make_jaxpr(lambda x: lax.reduce(x, 0, lax.add, (0,)))(np.ones(3, BFLOAT16))
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["reduce_sum"]


def test_a_float_does_not_start_a_sum_of_integers():
    with pytest.raises(TypeError, match="int32 but its initial value has dtype float32"):
        lax.reduce(np.ones(3, np.int32), 0.5, lax.add, (0,))


def test_full_takes_one_size():
    assert lax.full(3, 1, np.int8).tolist() == [1, 1, 1]


@pytest.mark.parametrize("name", ["igamma", "igammac"])
def test_all_of_the_mass_lies_at_zero_for_order_zero(name):
    x = np.array([0.0, 0.5, np.inf], np.float32)
    found = np.asarray(getattr(lax, name)(np.zeros(3, np.float32), x))
    assert np.isnan(found[0])
    assert found[1:].tolist() == [float(name == "igamma")] * 2


def test_one_minus_square_of_integers_wraps():
    assert lax.one_minus_square(np.array([0, 3], np.uint8)).tolist() == [1, 248]
    with pytest.raises(TypeError, match="bool"):
        lax.one_minus_square(np.ones(2, np.bool_))


@pytest.mark.parametrize("rank", [-1, 0, 2])
def test_a_lower_rank_changes_nothing(rank):
    assert lax.broadcast_to_rank(np.ones((2, 3), np.float32), rank).shape == (2, 3)


@pytest.mark.parametrize("coeffs", [(1.5, 2.0), np.array([1.5, 2.0], np.float32)])
@pytest.mark.parametrize("dtype", [np.int32, BFLOAT16, np.float16, np.float32])
def test_coefficients_take_the_dtype_of_the_operand(coeffs, dtype):
    found = lax.polynomial(np.arange(3).astype(dtype), coeffs)
    first = int(coeffs[0]) if dtype == np.int32 else 1.5
    assert (found.dtype, found.tolist()) == (dtype, [first, first + 2, first + 4])
    single = lax.polynomial(np.arange(3).astype(dtype), coeffs[:1])
    assert (single.dtype, single.tolist()) == (dtype, [first] * 3)


def test_a_polynomial_of_a_python_number_stays_weak():
    assert lax.polynomial(2.0, (1.5, 2)).weak_type
    assert not lax.polynomial(np.float32(2.0), (1.5, 2)).weak_type


def test_shapes_as_values_are_vectors_of_numpy():
    found = lax.shape_as_value((2, 3))
    assert isinstance(found, np.ndarray)
    assert (found.dtype, found.tolist()) == (np.int32, [2, 3])
    assert lax.shape_as_value(()).shape == (0,)


@pytest.mark.parametrize("name", ["approx_max_k", "approx_min_k"])
def test_approximate_searches_return_lists(name):
    found = getattr(lax, name)(np.array([1.0, 3.0, 2.0], np.float32), 1)
    assert isinstance(found, list)
    assert [v.tolist() for v in found] == [[3.0 if "max" in name else 1.0], [int("max" in name)]]


def test_broadcast_dimensions_in_any_order():
    x = np.arange(3, dtype=np.float32)[:, None]
    found = lax.broadcast_in_dim(x, (5, 3), (1, 0))
    assert found.tolist() == [[0, 1, 2]] * 5
    square = np.arange(4, dtype=np.float32).reshape(2, 2)
    assert lax.broadcast_in_dim(square, (2, 2), (1, 0)).tolist() == [[0, 2], [1, 3]]
    for dims in [(0, 0), (-1, 0), (0,), (0, 1, 1)]:
        with pytest.raises(TypeError, match="broadcast_in_dim: given"):
            lax.broadcast_in_dim(square, (2, 2), dims)


def test_stacks_are_of_one_shape():
    with pytest.raises(ValueError, match=r"lax\.stack: given operands"):
        lax.stack([np.ones(3), np.ones((3, 5))])


@pytest.mark.parametrize("allowed", [False, (False, True)])
def test_negative_starts_that_must_not_be(allowed):
    x = np.arange(9, dtype=np.float32).reshape(3, 3)
    with pytest.raises(ValueError, match="given the start index -1"):
        lax.dynamic_slice(x, (-1, 0), (2, 2), allow_negative_indices=allowed)
    with pytest.raises(ValueError, match="given the start index -1"):
        lax.dynamic_update_slice(x, x[:1, :1], (-1, 0), allow_negative_indices=allowed)
    assert lax.dynamic_slice(x, (0, 1), (2, 2), allow_negative_indices=allowed).tolist() == [
        [1, 2],
        [4, 5],
    ]


def test_complex_numbers_of_python_have_no_real_value():
    with pytest.raises(TypeError, match="given 1j"):
        lax.convert_element_type(1j, np.float32)
    assert lax.convert_element_type(1j, np.complex64).item() == 1j
    assert lax.convert_element_type(1j, np.bool_).item() is True
    with pytest.warns(np.exceptions.ComplexWarning):
        assert lax.convert_element_type(np.complex64(1j), np.float32).item() == 0
