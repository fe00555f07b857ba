"""Values of operations that arrange, make, join and part arrays, against NumPy."""

import ml_dtypes
import numpy as np
import pytest

import tans_lax as lax
from tans_xla import jit

DTYPES = ["float32", "bfloat16", "complex64", "int8", "bool"]


def array(shape, dtype="float32"):
    size = int(np.prod(shape))
    if dtype == "bool":
        return (np.arange(size) % 3 == 0).reshape(shape)
    return np.arange(size).astype(dtype).reshape(shape)


@pytest.mark.parametrize("dtype", DTYPES)
def test_arrangements(dtype):
    x = array((2, 3, 4), dtype)
    one = array((2, 1, 3), dtype)
    pairs = {
        "transpose": (lax.transpose(x, (2, 0, 1)), x.transpose(2, 0, 1)),
        "reshape": (lax.reshape(x, (6, 4)), x.reshape(6, 4)),
        "reshape permuted": (
            lax.reshape(x, (8, 3), (0, 2, 1)),
            x.transpose(0, 2, 1).reshape(8, 3),
        ),
        "rev": (lax.rev(x, (0, 2)), x[::-1, :, ::-1]),
        "squeeze": (lax.squeeze(one, (1,)), one[:, 0]),
        "squeeze negative": (lax.squeeze(one, (-2,)), one[:, 0]),
        "expand_dims": (lax.expand_dims(x, (0, -1)), x[None, ..., None]),
        "broadcast": (lax.broadcast(x, (2,)), np.broadcast_to(x, (2, 2, 3, 4))),
        "broadcast_in_dim": (
            lax.broadcast_in_dim(one, (5, 2, 4, 3), (1, 2, 3)),
            np.broadcast_to(one, (5, 2, 4, 3)),
        ),
        "broadcast_to_rank": (lax.broadcast_to_rank(x, 5), x[None, None]),
        "broadcast_like": (lax.broadcast_like(x[0], x), np.broadcast_to(x[0], x.shape)),
        "collapse": (lax.collapse(x, 1), x.reshape(2, 12)),
    }
    for name, (got, want) in pairs.items():
        assert got.dtype == want.dtype, name
        np.testing.assert_array_equal(got, want, name)


@pytest.mark.parametrize("dtype", DTYPES)
def test_joins_and_parts(dtype):
    x, y = array((2, 3), dtype), array((2, 1), dtype)
    np.testing.assert_array_equal(lax.concatenate([x, y, x], 1), np.concatenate([x, y, x], 1))
    np.testing.assert_array_equal(lax.stack([x, x], -1), np.stack([x, x], -1))
    for reps in [(2, 3), (1, 0)]:
        np.testing.assert_array_equal(lax.tile(x, reps), np.tile(x, reps))
    for got, want in zip(lax.split(x, (1, 0, 2), 1), np.split(x, (1, 1), 1), strict=True):
        np.testing.assert_array_equal(got, want)
    for got, want in zip(lax.unstack(x, 1), np.moveaxis(x, 1, 0), strict=True):
        np.testing.assert_array_equal(got, want)


def padded(x, value, config):
    """Pad one dimension after the other, by index."""
    for axis, (low, high, inner) in enumerate(config):
        x = np.moveaxis(x, axis, 0)
        n = x.shape[0]
        spread = np.full((n + max(n - 1, 0) * inner, *x.shape[1:]), value, x.dtype)
        spread[:: inner + 1] = x
        front = np.full((max(low, 0), *x.shape[1:]), value, x.dtype)
        back = np.full((max(high, 0), *x.shape[1:]), value, x.dtype)
        x = np.concatenate([front, spread, back])
        x = x[max(-low, 0) : len(x) - max(-high, 0)]
        x = np.moveaxis(x, 0, axis)
    return x


@pytest.mark.parametrize(
    "config",
    [
        ((0, 0, 0), (0, 0, 0)), ((1, 2, 0), (0, 3, 0)), ((0, 0, 2), (1, 0, 1)),
        ((-1, 0, 0), (0, -2, 0)), ((-1, 2, 1), (3, -1, 2)),
    ],
)  # fmt: skip
def test_pad(config):
    x = array((2, 3)) + 1
    np.testing.assert_array_equal(lax.pad(x, 9.0, config), padded(x, 9, config))


def test_pad_of_scalars_and_empty_arrays():
    assert lax.pad(np.float32(3), 0.0, ()).tolist() == 3
    assert lax.pad(array((0,)), 7.0, ((1, 1, 3),)).tolist() == [7, 7]


@pytest.mark.parametrize("dtype", ["float32", "int32", "uint8", "bfloat16", "complex64"])
def test_creation(dtype):
    kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
    np.testing.assert_array_equal(lax.iota(dtype, 4), np.arange(4).astype(kind))
    want = np.broadcast_to(np.arange(3), (2, 3)).astype(kind)
    np.testing.assert_array_equal(lax.broadcasted_iota(dtype, (2, 3), 1), want)
    np.testing.assert_array_equal(lax.full((2, 2), 3, dtype), np.full((2, 2), 3, kind))
    like = lax.full_like(want, 2)
    assert like.dtype == kind
    np.testing.assert_array_equal(like, np.full((2, 3), 2, kind))
    assert lax.empty((2, 0), dtype).shape == (2, 0)


def test_weak_types_of_constants():
    assert lax.full((2,), 1.0).weak_type
    assert not lax.full((2,), 1.0, np.float32).weak_type
    assert lax.full_like(lax.full((2,), 1.0), 3).weak_type
    assert not lax.full_like(np.ones(2, np.float32), 3.0).weak_type
    one = lax.full((), 1.0)
    assert lax.stack([one, one]).weak_type
    assert not lax.stack([one, np.float32(1)]).weak_type
    assert lax.full_like(np.ones(2), 1.7, int).tolist() == [1, 1]
    assert lax.full_like(np.ones(2), 1, shape=(3,)).shape == (3,)
    assert lax.full((), True).dtype == bool


def test_integers_that_do_not_fit_are_refused():
    with pytest.raises(OverflowError):
        lax.full((2,), 300, "uint8")


def test_operations_that_do_nothing_return_the_operand():
    x = lax.full((2, 3), 1.0)
    unchanged = (
        lax.reshape(x, (2, 3)), lax.reshape(x, (2, 3), (0, 1)), lax.transpose(x, (0, 1)),
        lax.broadcast(x, ()), lax.broadcast_in_dim(x, (2, 3), (0, 1)), lax.squeeze(x, ()),
        lax.expand_dims(x, ()), lax.concatenate([x], 0), lax.broadcast_to_rank(x, 2),
    )  # fmt: skip
    assert all(y is x for y in unchanged)
    assert lax.reshape(np.ones(2), (2,)).weak_type is False


def test_shapes():
    assert lax.broadcast_shapes((2, 1), (3,), ()) == (2, 3)
    assert lax.broadcast_shapes() == ()
    assert lax.shape_as_value((2, 3)).tolist() == [2, 3]
    assert lax.shape_as_value(()).shape == (0,)
    with pytest.raises(ValueError, match="equal or 1"):
        lax.broadcast_shapes((2,), (3,))


X = np.ones((2, 3), np.float32)


@pytest.mark.parametrize(
    ("error", "fn"),
    [
        (TypeError, lambda: lax.reshape(X, (4,))),
        (TypeError, lambda: lax.reshape(X, (-1,))),
        (TypeError, lambda: lax.reshape(X, (6,), (0,))),
        (TypeError, lambda: lax.broadcast_in_dim(X, (2, 4), (0, 1))),
        (TypeError, lambda: lax.broadcast_in_dim(X, (2, 3), (0, 0))),
        (TypeError, lambda: lax.broadcast_in_dim(X, (2, 3, 4), (0,))),
        (TypeError, lambda: lax.broadcast(X, (-1,))),
        (TypeError, lambda: lax.transpose(X, (0, 0))),
        (TypeError, lambda: lax.transpose(X, (0,))),
        (ValueError, lambda: lax.squeeze(X, (0,))),
        (ValueError, lambda: lax.squeeze(X, (5,))),
        (ValueError, lambda: lax.expand_dims(X, (7,))),
        (ValueError, lambda: lax.expand_dims(X, (0, 0))),
        (ValueError, lambda: lax.collapse(X, 2, 0)),
        (TypeError, lambda: lax.rev(X, (5,))),
        (TypeError, lambda: lax.rev(X, (0, 0))),
        (TypeError, lambda: lax.concatenate([X, X.astype(np.int32)], 0)),
        (TypeError, lambda: lax.concatenate([X, X[0]], 0)),
        (TypeError, lambda: lax.concatenate([X, X], 2)),
        (TypeError, lambda: lax.concatenate([X, X[:1]], 1)),
        (ValueError, lambda: lax.concatenate([], 0)),
        (ValueError, lambda: lax.split(X, (1, 1), 1)),
        (ValueError, lambda: lax.split(X, (3,), 2)),
        (ValueError, lambda: lax.stack([], 0)),
        (ValueError, lambda: lax.stack([X], 3)),
        (ValueError, lambda: lax.stack([X, X[:1]])),
        (ValueError, lambda: lax.unstack(X, 2)),
        (TypeError, lambda: lax.tile(X, (2,))),
        (TypeError, lambda: lax.pad(X, 0, ((0, 0, 0),) * 2)),
        (TypeError, lambda: lax.pad(X, X, ((0, 0, 0),) * 2)),
        (ValueError, lambda: lax.pad(X, 0.0, ((0, 0, 0),))),
        (ValueError, lambda: lax.pad(X, 0.0, ((0, 0, -1),) * 2)),
        (ValueError, lambda: lax.pad(X, 0.0, ((-9, 0, 0),) * 2)),
        (TypeError, lambda: lax.iota("int32", -1)),
        (TypeError, lambda: lax.iota(bool, 2)),
        (ValueError, lambda: lax.broadcasted_iota("int32", (2,), 1)),
        (TypeError, lambda: lax.full((-1,), 2.0)),
        (TypeError, lambda: lax.full((2,), X)),
    ],
)  # fmt: skip
def test_errors(error, fn):
    with pytest.raises(error, match=r"given.*expected"):
        fn()


@pytest.mark.parametrize(
    ("fn", "operations"),
    [
        (lambda x: lax.reshape(x, (6,)), 1),
        (lambda x: lax.full_like(x, 2), 1),
        (lambda x: lax.stack([x, x], 1), 3),
        (lambda x: lax.split(x, (1, 2), 1), 2),
        (lambda x: lax.tile(x, (2, 2)), 2),
        (lambda x: lax.expand_dims(x, (0,)), 1),
    ],
)
def test_number_of_compiler_operations(fn, operations):
    lines = jit(fn).lower(X).as_text().splitlines()
    assert sum(" = " in line for line in lines) == operations
