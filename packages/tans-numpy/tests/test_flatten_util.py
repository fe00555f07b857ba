"""Pytrees as vectors."""

import numpy as np
import pytest

import tans_numpy as jnp
from tans_autodiff import grad
from tans_core import tree
from tans_numpy.flatten_util import ravel_pytree
from tans_xla import jit


@pytest.mark.parametrize(
    "value",
    [
        {"a": np.arange(3.0, dtype=np.float32), "b": [np.float32(2), np.zeros((2, 2), np.float32)]},
        (np.arange(3, dtype=np.int32), np.ones(2, np.float32)),
        [np.ones((0, 2), np.float32)],
        np.float32(1),
        (),
    ],
)
def test_unravelling_gives_back_leaves_and_their_dtypes(value):
    vector, unravel = ravel_pytree(value)
    assert vector.ndim == 1
    back = unravel(vector)
    assert tree.structure(back) == tree.structure(value)
    for x, y in zip(tree.leaves(back), tree.leaves(value), strict=True):
        assert x.dtype == y.dtype
        np.testing.assert_array_equal(x, y)


def test_functions_for_equal_layouts_are_equal():
    first, second = (ravel_pytree({"a": jnp.zeros(2)})[1] for _ in range(2))
    assert first == second
    assert hash(first) == hash(second)


def test_inside_jit_and_grad():
    vector, unravel = ravel_pytree({"a": jnp.arange(3.0), "b": jnp.float32(2.0)})

    def f(v):
        values = unravel(v)
        return jnp.sum(values["a"] ** 2) * values["b"]

    np.testing.assert_allclose(jit(grad(f))(vector), [0, 4, 8, 5])


def test_vectors_that_do_not_fit_are_refused():
    vector, unravel = ravel_pytree([jnp.zeros(2), jnp.ones(1)])
    with pytest.raises(ValueError, match=r"\(3,\)"):
        unravel(vector[:2])
    with pytest.raises(TypeError, match="float32"):
        unravel(vector.astype("int32"))
    with pytest.raises(TypeError, match="ravel_pytree"):
        ravel_pytree(["text"])
