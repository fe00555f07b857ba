"""associative_scan."""

import numpy as np
import pytest

from tans_autodiff import grad
from tans_batching import vmap
from tans_lax.control_flow.associative_scan import associative_scan
from tans_lax.elementwise.arithmetic import add, max, mul
from tans_lax.reductions import reduce_sum
from tans_lax.slicing import index_in_dim
from tans_xla import jit


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 5, 8, 13])
@pytest.mark.parametrize("reverse", [False, True])
def test_prefix_sums(n: int, reverse: bool):
    x = np.arange(2.0 * n, dtype=np.float32).reshape(n, 2)
    want = np.cumsum(x[::-1], 0)[::-1] if reverse else np.cumsum(x, 0)
    np.testing.assert_array_equal(jit(lambda x: associative_scan(add, x, reverse=reverse))(x), want)


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
def test_axis(axis: int):
    x = np.arange(24, dtype=np.int32).reshape(2, 3, 4)
    np.testing.assert_array_equal(associative_scan(add, x, axis=axis), np.cumsum(x, axis))


def test_trees_and_operators_that_do_not_commute():
    def affine(f, g):  # composition of x -> a x + b
        return {"a": mul(f["a"], g["a"]), "b": add(mul(g["a"], f["b"]), g["b"])}

    a, b = np.array([2.0, 3, 0.5, 1], np.float32), np.array([1.0, 0, 4, 2], np.float32)
    got = associative_scan(affine, {"a": a, "b": b})
    x, want = 0.0, []
    for i in range(4):
        x = a[i] * x + b[i]
        want.append(x)
    np.testing.assert_allclose(got["b"], want)


def test_signs_of_zeros_are_kept():
    out = associative_scan(max, np.full(3, -0.0, np.float32))
    assert np.signbit(np.asarray(out)).all()


def test_gradient():
    # Vector A26.
    f = lambda x: index_in_dim(associative_scan(mul, x), -1, 0, keepdims=False)  # noqa: E731
    np.testing.assert_allclose(grad(f)(np.array([1, 2, 3], np.float32)), [6, 3, 2])


def test_vmap():
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    np.testing.assert_array_equal(
        vmap(lambda x: associative_scan(add, x), in_axes=1, out_axes=1)(x), np.cumsum(x, 0)
    )


@pytest.mark.parametrize(
    ("call", "error", "fact"),
    [
        (lambda: associative_scan(3, np.ones(3)), TypeError, "fn=3"),
        (lambda: associative_scan(add, np.float32(1)), ValueError, "axis=0"),
        (lambda: associative_scan(add, np.ones(3), axis=1), ValueError, "axis=1"),
        (lambda: associative_scan(add, ()), ValueError, "no arrays"),
        (
            lambda: associative_scan(lambda a, b: a, (np.ones(3), np.ones(4))),
            ValueError,
            r"elems\[1\]",
        ),
        (lambda: associative_scan(lambda a, b: (a, b), np.ones(5)), TypeError, "structure"),
        (
            lambda: associative_scan(lambda a, b: reduce_sum(a, (0,)), np.ones(4, np.float32)),
            TypeError,
            "vmap",
        ),
    ],
)
def test_bad_input_is_refused(call, error, fact):
    with pytest.raises(error, match=fact):
        call()
