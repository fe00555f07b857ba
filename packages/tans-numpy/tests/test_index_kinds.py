"""Rare kinds of index: integers of a few bits, masked arrays, axes without elements, `in`."""

import numpy as np
import pytest

import tans_numpy as jnp
import tans_random as random
from tans_core import dtypes
from tans_core.errors import TracerBoolConversionError
from tans_lax import dynamic_slice
from tans_xla import jit

FEW_BITS = [jnp.int2, jnp.int4, jnp.uint2, jnp.uint4]
X = jnp.arange(300)


@pytest.mark.parametrize("dtype", FEW_BITS)
@pytest.mark.parametrize("wrap", [lambda f: f, jit], ids=["eager", "jit"])
def test_integers_of_a_few_bits_are_indices(dtype, wrap):
    i = jnp.array([1, 0], dtype)
    assert wrap(lambda i: X[i])(i).tolist() == [1, 0]
    assert wrap(lambda i: X[i[0]])(i) == 1
    assert wrap(lambda i: X.at[i].add(1))(i)[:3].tolist() == [1, 2, 2]
    assert wrap(lambda i: jnp.take(X, i))(i).tolist() == [1, 0]
    assert wrap(lambda i: jnp.take_along_axis(X, i, 0))(i).tolist() == [1, 0]
    assert wrap(lambda i: jnp.put_along_axis(X, i, 7, 0, inplace=False))(i)[:3].tolist() == [
        7, 7, 2,
    ]  # fmt: skip
    assert wrap(lambda i: dynamic_slice(X, (i[0],), (2,)))(i).tolist() == [1, 2]
    assert wrap(lambda i: jnp.bincount(i, length=2))(i).tolist() == [1, 1]
    assert jnp.repeat(X[:2], i).tolist() == [0]
    assert np.zeros(3)[np.array([1])] == jnp.zeros(3)[np.array([1], dtype)]


def test_negative_integers_of_a_few_bits_count_from_the_end():
    assert X[jnp.array([-1], jnp.int4)].tolist() == [299]
    assert dynamic_slice(X, (jnp.array(-2, jnp.int4),), (2,)).tolist() == [298, 299]


def test_masked_indices_are_refused():
    masked = np.ma.array([0, 1], mask=[True, False])
    for read in (lambda: X[masked], lambda: X.at[masked].set(1), lambda: jnp.take(X, masked)):
        with pytest.raises(ValueError, match=r"masked array of shape \(2,\).*x\.filled"):
            read()


@pytest.mark.parametrize("method", ["set", "add", "multiply", "divide", "min", "power"])
def test_writes_to_an_axis_without_elements_are_dropped(method):
    x = jnp.zeros((0, 3))
    assert getattr(x.at[jnp.array([0, 0])], method)(2.0).shape == (0, 3)
    assert getattr(jnp.zeros((2, 0)).at[0, jnp.array([1, 2])], method)(2.0).shape == (2, 0)
    with pytest.raises(ValueError, match=r"indexed shape \(2, 3\)"):
        getattr(x.at[jnp.array([0, 0])], method)(jnp.ones(4))
    for index in (0, jnp.array(0)):
        with pytest.raises(IndexError, match="size 0"):
            getattr(x.at[index], method)(2.0)


def test_fill_values_are_numbers():
    with pytest.raises(TypeError, match=r"fill_value='a' of type str, expected a number"):
        X.at[900].get(mode="fill", fill_value="a")


def test_in_looks_for_scalars_in_vectors():
    assert 2 in X
    assert -2 not in X
    assert jnp.float32(2.0) in X
    for x in (jnp.ones((2, 2)), jnp.float32(2.0)):
        with pytest.raises(ValueError, match=r"expected a vector. Write \(array == x\)\.any"):
            1.0 in x  # noqa: B015
    for value in ("a", None, [1]):
        with pytest.raises(TypeError, match=r"x in array: argument 0 is"):
            value in X  # noqa: B015
    with pytest.raises(TracerBoolConversionError):
        jit(lambda x: 2 in x)(X)


@pytest.mark.parametrize("order", [jnp.sort, jnp.argsort, jnp.unique, jnp.round, jnp.floor])
def test_keys_are_no_numbers(order):
    with pytest.raises(TypeError, match=r"key<fry>.*expected numbers"):
        order(random.split(random.key(0), 3))


@pytest.mark.parametrize("function", [jnp.sin, jnp.add, jnp.sort, jnp.floor])
def test_tangents_of_integers_are_no_numbers(function):
    zeros = np.zeros(2, dtypes.float0)
    with pytest.raises(TypeError, match=r"float0.*expected"):
        function(zeros, 1) if function is jnp.add else function(zeros)


def test_keys_compare_with_sizes_of_one():
    keys = random.split(random.key(0), 2)
    expected = np.eye(2, dtype=bool)
    for compare in (lambda a, b: a == b, jit(lambda a, b: a == b)):
        np.testing.assert_array_equal(compare(keys[:, None], keys[None]), expected)
        np.testing.assert_array_equal(compare(keys[:, None], keys), expected)
    np.testing.assert_array_equal(keys[:, None] != keys, ~expected)
    assert jnp.isin(keys[:1], keys).tolist() == [True]


@pytest.mark.parametrize("function", [jnp.add, jnp.equal, jnp.multiply, jnp.arctan2])
def test_arithmetic_of_keys_is_a_type_error(function):
    with pytest.raises(TypeError, match=r"given .*key<fry>.* expected numbers"):
        function(random.key(0), 1)
