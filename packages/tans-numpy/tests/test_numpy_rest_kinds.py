"""Polynomials, histograms and sums of products that a wide sweep of calls found."""

import ml_dtypes
import numpy as np
import pytest

import tans_numpy as jnp


def test_polynomials_with_a_coefficient_for_each_place():
    p = np.arange(6, dtype=np.float32).reshape(3, 2)
    for x in (np.array([2, 3], np.float32), np.float32(2), np.ones((4, 1), np.float32)):
        np.testing.assert_allclose(jnp.polyval(p, x), np.polyval(p, x))
        np.testing.assert_allclose(jnp.polyval(p, x, unroll=1), np.polyval(p, x))
    with pytest.raises(ValueError, match="polyval: given the scalar"):
        jnp.polyval(2.0, 1.0)


@pytest.mark.parametrize("dtype", [np.int32, np.float32, np.complex64])
def test_characteristic_polynomials(dtype):
    a = np.array([[2, 1, 0], [1, 3, 1], [0, 1, 4]]).astype(dtype)
    found = jnp.poly(a)
    assert found.dtype == np.complex64
    np.testing.assert_allclose(found, np.poly(a.astype(complex)), rtol=1e-4)
    with pytest.raises(ValueError, match="poly: given an array of shape"):
        jnp.poly(a[:2])


def test_the_polynomial_without_zeros_is_a_scalar():
    assert (jnp.poly(jnp.zeros(0)).shape, jnp.poly(jnp.zeros(0)).item()) == ((), 1.0)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_histograms_of_half_precision_keep_it(dtype):
    x = jnp.arange(4).astype(dtype)
    assert jnp.histogram_bin_edges(x, bins=np.array([0, 1, 2])).dtype == dtype
    counts, edges, _ = jnp.histogram2d(x, x, bins=2, density=True)
    assert counts.dtype == edges.dtype == dtype
    counts, edges = jnp.histogram(x, bins=np.array([0.0, 1.0, 5.0]), weights=jnp.ones(4, jnp.int32))
    assert counts.dtype == edges.dtype == dtype
    assert counts.tolist() == [1, 3]
    weights = jnp.ones(4, jnp.float32)
    assert {v.dtype for v in jnp.histogram(x, weights=weights)} == {np.dtype(np.float32)}
    assert {v.dtype for v in jnp.histogram2d(x, x, weights=weights)} == {np.dtype(np.float32)}


@pytest.mark.parametrize("subscripts", ["ii", "ij->j", "ij->", "ii->i"])
def test_sums_of_booleans_are_disjunctions(subscripts):
    x = np.array([[False, True], [False, False]])
    found = jnp.einsum(subscripts, x)
    assert found.dtype == np.bool_
    np.testing.assert_array_equal(found, np.einsum(subscripts, x))


@pytest.mark.parametrize(("dtype", "wanted"), [("int32", "bfloat16"), ("int32", "int8")])
def test_products_of_integers_are_not_narrowed(dtype, wanted):
    x = jnp.ones((2, 2), dtype)
    with pytest.raises(TypeError, match="expected one that is not narrower"):
        jnp.matmul(x, x, preferred_element_type=wanted)
    assert jnp.matmul(x, x, preferred_element_type="float32").dtype == np.float32


@pytest.mark.parametrize("name", ["atleast_1d", "atleast_2d", "atleast_3d"])
def test_lists_are_no_arrays_to_lift(name):
    with pytest.raises(TypeError, match=f"{name}: "):
        getattr(jnp, name)([1, 2])
