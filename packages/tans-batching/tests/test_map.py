"""map: equal to a loop for any batch size."""

import numpy as np
import pytest

import tans_lax as lax
from tans_batching import map as lax_map
from tans_xla import jit


@pytest.mark.parametrize("length", [0, 1, 6, 7])
@pytest.mark.parametrize("batch_size", [None, 0, 1, 3, 10])
def test_any_batch_size(length, batch_size):
    x = np.arange(2 * length, dtype="float32").reshape(length, 2)
    found = lax_map(lambda row: {"s": lax.mul(row, row)}, x, batch_size=batch_size)
    np.testing.assert_array_equal(found["s"], x * x)


def test_trees_of_arrays():
    xs = np.arange(4.0, dtype="float32"), np.ones((4, 2), "float32")
    found = lax_map(lambda pair: lax.mul(lax.broadcast(pair[0], (2,)), pair[1]), xs, batch_size=3)
    np.testing.assert_array_equal(found, np.arange(4.0)[:, None] * np.ones((4, 2)))


def test_the_function_is_traced_once_per_batch_shape():
    shapes = []

    def fun(x):
        shapes.append(x.shape)
        return x

    jit(lambda x: lax_map(fun, x, batch_size=3)).trace(np.ones((7, 2), "float32"))
    assert shapes == [(2,), (2,)]


@pytest.mark.parametrize(
    ("xs", "batch_size", "fact"),
    [
        ((np.ones(4), np.ones(3)), None, "xs"),
        ((np.ones(4), np.ones(3)), 2, r"xs\[0\] of shape \(4,\) and xs\[1\] of shape \(3,\)"),
        (np.ones(4), -1, "batch_size=-1"),
        ((), 2, "no arrays"),
        ((), None, "xs"),
    ],
)
def test_errors(xs, batch_size, fact):
    with pytest.raises(ValueError, match=fact):
        lax_map(lambda x: x, xs, batch_size=batch_size)
