"""`einsum`: sizes of one, index lists in all forms, and orders of contraction."""

import numpy as np
import pytest

import tans_numpy as jnp

ROW = np.arange(3.0).reshape(1, 3)
X = np.arange(6.0).reshape(2, 3)


@pytest.mark.parametrize(
    ("subscripts", "operands"),
    [
        ("ij,ij->", (ROW, X)), ("ij,ij->i", (X, ROW)), ("ij,ij->j", (ROW, X)),
        ("ij,jk", (X[:, :1], np.arange(12.0).reshape(3, 4))),
        ("ij,kj->ik", (X[:, :1], X)), ("i,i,i->", (X[0, :1], X[0], X[1, :1])),
        ("iij,ij->j", (np.ones((2, 2, 3)), ROW)), ("ij,ji->", (ROW, np.ones((3, 1)))),
    ],
)  # fmt: skip
def test_sizes_of_one_broadcast_and_are_summed(subscripts, operands):
    out = jnp.einsum(subscripts, *operands)
    np.testing.assert_allclose(out, np.einsum(subscripts, *operands), rtol=1e-6)


ONE, THREE = np.array([[5.0]]), np.arange(1.0, 10).reshape(3, 3)


@pytest.mark.parametrize(
    ("subscripts", "operands"),
    [
        ("ii", (ONE,)), ("ii->i", (ONE,)), ("iij->j", (ROW[None],)), ("iij->ij", (ROW[None],)),
        ("iii->", (ONE[None],)), ("ii,i", (ONE, X[0])), ("ii,ij->ij", (ONE, X)),
        ("ii,ij->j", (ONE, X)), ("ii,jj", (ONE, THREE)), ("iij,ij->i", (ROW[None], X)),
        ("ii,i->", (THREE, ONE[0])), ("ii,i->i", (THREE, ONE[0])), ("i,ii,i->", (X[0], ONE, X[1])),
    ],
)  # fmt: skip
def test_repeated_indices_of_size_one_broadcast(subscripts, operands):
    out = jnp.einsum(subscripts, *operands)
    np.testing.assert_allclose(out, np.einsum(subscripts, *operands), rtol=1e-6)


@pytest.mark.parametrize("shape", [(1, 3), (3, 1)])
def test_a_diagonal_is_as_long_as_the_larger_of_its_sizes(shape):
    x = np.arange(7.0, 10.0).reshape(shape)  # which NumPy refuses
    np.testing.assert_array_equal(jnp.einsum("ii->i", x), [7, 0, 0])
    np.testing.assert_array_equal(jnp.einsum("ii,i->i", x, np.ones(3)), [7, 0, 0])
    assert jnp.einsum("ii", x) == 7


@pytest.mark.parametrize("labels", [[0, -1], ["b", "a"], [7, 3]])
def test_dimensions_of_unnamed_outputs_are_in_the_order_of_their_labels(labels):
    np.testing.assert_array_equal(jnp.einsum(X, labels), X.T)
    np.testing.assert_array_equal(jnp.einsum(X, labels, labels), X)


def test_labels_that_have_no_order_are_refused():
    with pytest.raises(TypeError, match=r"indices .* compared .* Number them"):
        jnp.einsum(X, [0, "a"])


def test_paths_of_index_lists_and_of_no_optimization():
    assert jnp.einsum_path(X, [0, 1], X.T, [1, 2])[0] == [(0, 1)]
    assert jnp.einsum_path("ij,jk,kl", X, X.T, X, optimize=False)[0] == [(0, 1), (0, 1)]
    assert jnp.einsum_path("ij->ji", X, optimize=False)[0] == [(0,)]
    np.testing.assert_allclose(jnp.einsum("ij,kj", X, X, optimize=None), X @ X.T)


def test_steps_of_three_operands_and_wrong_shardings_are_refused():
    with pytest.raises(NotImplementedError, match=r"optimize=.*at most two operands"):
        jnp.einsum("ij,jk,kl", X, X.T, X, optimize=[(0, 1, 2)])
    with pytest.raises(TypeError, match=r"out_sharding=3 of type int, expected a PartitionSpec"):
        jnp.einsum("ij->ji", X, out_sharding=3)
