"""Integers that no array has room for, and positions beyond the ends of arrays."""

import numpy as np
import pytest

import tans_lax as lax
import tans_numpy as jnp
from tans_xla import jit

X = np.arange(4.0, dtype=np.float32)
FAR = [2**31, 2**63, 2**70, -(2**31) - 1, -(2**70)]


@pytest.mark.parametrize("far", FAR)
def test_far_indices_are_outside_like_near_ones_where_a_mode_says_what_becomes_of_them(far):
    x, near = jnp.asarray(X), 9 if far > 0 else -9
    m = x.reshape(2, 2)
    for call in (
        lambda i: x.at[i].get(mode="fill"),
        lambda i: x.at[i].get(mode="clip"),
        lambda i: m.at[0, i].get(mode="fill"),
        lambda i: x.at[i].set(7.0),
        lambda i: m.at[i, 1].add(7.0),
        lambda i: m.at[i, jnp.array([0, 1])].multiply(7.0),
        lambda i: x.at[i].set(7.0, mode="clip"),
        lambda i: x[i:],
    ):
        np.testing.assert_array_equal(call(far), call(near))
        np.testing.assert_array_equal(jit(lambda call=call: call(far))(), call(near))


@pytest.mark.parametrize("far", FAR)
def test_far_indices_without_a_mode_are_refused(far):
    x = jnp.asarray(X)
    m = x.reshape(2, 2)
    for read in (lambda: x[far], lambda: m[0, far], lambda: m[far], lambda: x.at[far].get()):
        with pytest.raises(OverflowError, match=rf"given the index {far}, expected .*mode"):
            read()


def test_a_stride_beyond_the_end_takes_one_element():
    assert jnp.asarray(X)[:: 2**63].tolist() == [0]
    assert jnp.asarray(X)[:: -(2**63)].tolist() == [3]
    assert jnp.asarray(X)[1 :: 2**70].tolist() == [1]


@pytest.mark.parametrize(
    ("places", "expected"),
    [
        (9, [0, 1, 2, 3, 9]), (-99, [9, 0, 1, 2, 3]), ([1, 9], [0, 9, 1, 2, 3, 9]),
        ([99, -99], [9, 0, 1, 2, 3, 9]), ([5, 5], [0, 1, 2, 3, 9, 9]),
        ([-5, 4], [9, 0, 1, 2, 3, 9]),
    ],
)  # fmt: skip
def test_insert_beyond_an_end_is_at_the_end(places, expected):
    places = np.asarray(places) if isinstance(places, list) else places
    np.testing.assert_array_equal(jnp.insert(X, places, np.float32(9)), expected)


def test_insert_beyond_the_end_of_an_axis():
    found = jnp.insert(X.reshape(2, 2), 5, 7.0, axis=1)
    np.testing.assert_array_equal(found, [[0, 1, 7], [2, 3, 7]])


@pytest.mark.parametrize("far", FAR)
def test_a_diagonal_beyond_the_matrix_is_empty(far):
    ones = np.ones((2, 3), np.float32)
    near = 9 if far > 0 else -9
    np.testing.assert_array_equal(jnp.eye(2, 3, far), 0)
    np.testing.assert_array_equal(jnp.tril(ones, far), np.tril(ones, near))
    np.testing.assert_array_equal(jnp.triu(ones, far), np.triu(ones, near))
    np.testing.assert_array_equal(jnp.tri(2, 3, far), np.tri(2, 3, near))


def test_a_value_that_the_dtype_does_not_hold_is_refused():
    with pytest.raises(OverflowError, match=r"given.*2147483648.*expected.*int32.*Choose"):
        lax.full((2,), 2**31, np.int32)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("shape", [(1, 1), (2, 2), (3, 2, 2)])
def test_slogdet_of_small_matrices_of_half_precision(dtype, shape):
    a = jnp.asarray(np.random.default_rng(0).normal(size=shape), dtype)
    sign, log = jnp.linalg.slogdet(a)
    assert sign.dtype == log.dtype == a.dtype
    expected = np.linalg.slogdet(np.asarray(a, np.float64))
    np.testing.assert_array_equal(np.asarray(sign, float), expected[0])
    np.testing.assert_allclose(np.asarray(log, float), expected[1], rtol=1e-2, atol=1e-3)


ALIASES = """absolute acos acosh amax amin around asin asinh atan atan2 atanh bitwise_invert
bitwise_left_shift bitwise_right_shift conj degrees divide invert mod pow radians"""


@pytest.mark.parametrize("name", ALIASES.split())
def test_second_names_are_names(name):
    assert getattr(jnp, name).__name__ == getattr(jnp, name).__qualname__ == name


def test_second_names_are_the_same_functions():
    assert jnp.divide(1.0, 4.0) == 0.25
    assert jnp.amax(X, axis=0, keepdims=True).tolist() == [3]
    assert jnp.divide.inline is jnp.true_divide.inline
