"""Slices: values against NumPy, types, printed programs, and batching against a loop."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tans_lax as lax
from tans_core import ShapedArray, rules
from tans_core.context import AxisData
from tans_lax.slicing import Slice, ds, dynamic_slice_p, dynamic_update_slice_p, slice_p
from tans_xla import jit, make_jaxpr

DTYPES = [np.float32, ml_dtypes.bfloat16, np.complex64, np.int8, np.bool_]
X = np.arange(24, dtype=np.float32).reshape(4, 3, 2)
I32 = np.dtype(np.int32)


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: np.dtype(d).name)
def test_slice_equals_numpy(dtype):
    x = np.arange(24).reshape(4, 3, 2).astype(dtype)
    out = lax.slice(x, (1, 0, 0), (4, 3, 1), (2, 1, 1))
    assert out.dtype == x.dtype
    np.testing.assert_array_equal(np.asarray(out), x[1:4:2, :, :1])


@given(st.data())
@settings(max_examples=30, deadline=None)
def test_type_of_slice_equals_numpy_shape(data):
    shape = tuple(data.draw(st.lists(st.integers(0, 6), max_size=3)))
    starts = tuple(data.draw(st.integers(0, n)) for n in shape)
    limits = tuple(data.draw(st.integers(s, n)) for s, n in zip(starts, shape, strict=True))
    strides = tuple(data.draw(st.integers(1, 3)) for _ in shape)
    aval = rules.types[slice_p](
        ShapedArray(shape, np.float32), start_indices=starts, limit_indices=limits, strides=strides
    )
    index = tuple(map(slice, starts, limits, strides))
    assert aval.shape == np.zeros(shape)[index].shape


@pytest.mark.parametrize(
    ("starts", "limits", "strides"),
    [
        ((2,), (1,), None),
        ((-1,), (1,), None),
        ((0,), (5,), None),
        ((0,), (4,), (0,)),
        ((0, 0), (1, 1), None),
    ],
)
def test_bad_bounds_of_slice_raise_type_error(starts, limits, strides):
    with pytest.raises(TypeError, match=r"f32\[4\].*expected"):
        lax.slice(np.zeros(4, np.float32), starts, limits, strides)


def test_slice_in_dim_counts_from_the_end():
    np.testing.assert_array_equal(lax.slice_in_dim(X, -3, -1, axis=0), X[-3:-1])
    np.testing.assert_array_equal(lax.slice_in_dim(X, None, None, 2, axis=1), X[:, ::2])


def test_index_in_dim_takes_one_element_and_checks_it():
    np.testing.assert_array_equal(lax.index_in_dim(X, -1, 1, keepdims=False), X[:, -1])
    assert lax.index_in_dim(X, 1, 2).shape == (4, 3, 1)
    with pytest.raises(IndexError, match=r"7.*axis 0 of size 4"):
        lax.index_in_dim(X, 7)
    with pytest.raises(IndexError, match="axis 5"):
        lax.index_in_dim(X, 0, 5)


@pytest.mark.parametrize(("start", "expected"), [(4, 2), (-2, 3), (-9, 0), (0, 0), (1, 1)])
def test_dynamic_slice_wraps_once_then_clamps(start, expected):
    x = np.arange(5, dtype=np.int32)
    for out in (
        lax.dynamic_slice(x, (start,), (3 if expected != 3 else 2,)),
        jit(lambda x, i: lax.dynamic_slice(x, (i,), (3 if expected != 3 else 2,)))(x, start),
    ):
        assert np.asarray(out)[0] == expected


def test_dynamic_slice_takes_an_index_vector():
    out = jit(lambda x, i: lax.dynamic_slice(x, i, (1, 2, 2)))(X, np.array([3, 1, 0], np.int32))
    np.testing.assert_array_equal(out, X[3:, 1:])


def test_narrow_index_of_a_long_axis_is_widened():
    x = np.arange(300, dtype=np.int32)
    assert (
        int(lax.dynamic_index_in_dim(x, lax.convert_element_type(-1, np.int8), keepdims=False))
        == 299
    )


@pytest.mark.parametrize(
    ("indices", "sizes", "error"),
    [
        ((0,), (6,), TypeError),
        ((0, 0), (1,), ValueError),
        ((1.0,), (1,), TypeError),
        ((0,), (1, 1), TypeError),
    ],
)
def test_bad_windows_raise(indices, sizes, error):
    with pytest.raises(error, match="expected"):
        lax.dynamic_slice(np.zeros(5, np.float32), indices, sizes)


def test_indices_of_two_dtypes_raise():
    with pytest.raises(TypeError, match=r"i32.*u8"):
        make_jaxpr(lambda i, j: lax.dynamic_slice(X[0], (i, j), (1, 1)))(np.int32(0), np.uint8(0))


def test_dynamic_update_slice_moves_the_window_inside():
    x = np.arange(5, dtype=np.int32)
    out = lax.dynamic_update_slice(x, np.full(3, 7, np.int32), (4,))
    np.testing.assert_array_equal(out, [0, 1, 7, 7, 7])
    np.testing.assert_array_equal(
        lax.dynamic_update_index_in_dim(X, X[0, :, :] * 0, -1, 0),
        np.concatenate([X[:3], X[:1] * 0]),
    )


def test_update_of_another_dtype_or_rank_raises():
    with pytest.raises(TypeError, match="one dtype"):
        lax.dynamic_update_slice(np.zeros(3, np.float32), np.zeros(1, np.int32), (0,))
    with pytest.raises(TypeError, match="expected 1 sizes"):
        lax.dynamic_update_slice(np.zeros(3, np.float32), np.float32(0), (0,))


def test_static_starts_are_literals_and_cost_no_equations():
    jaxpr = make_jaxpr(lambda x, i: lax.dynamic_slice(x, (i, 0, -1), (1, 3, 1)))(X, np.int32(0))
    assert str(jaxpr).count(" = ") - str(jaxpr).count("slice_sizes=") <= 4
    names = [e.primitive.name for e in jaxpr.eqns]
    assert names == ["lt", "add", "select_n", "dynamic_slice"]


def test_a_slice_lowers_to_one_operation():
    text = jit(lambda x: lax.slice(x, (0, 1, 0), (4, 3, 2))).lower(X).as_text()
    assert text.count("stablehlo.") == 1


def test_weak_type_follows_the_operand():
    weak, strong = ShapedArray((3,), np.float32, True), ShapedArray((3,), np.float32)
    index = ShapedArray((), I32)
    assert rules.types[dynamic_slice_p](weak, index, slice_sizes=(2,)).weak_type
    for update in (weak, strong):
        assert not rules.types[dynamic_update_slice_p](weak, update, index).weak_type


def test_ds_prints_its_fields_and_checks_size_and_stride():
    assert repr(ds(None, 3)) == "Slice(start=0, size=3, stride=1)"
    assert ds(4) == Slice(0, 4, 1)
    with pytest.raises(ValueError, match="stride 0"):
        ds(0, 3, 0)
    with pytest.raises(ValueError, match="size -1"):
        ds(0, -1)
    for size in (2.0, True, jit(lambda: np.int32(2))()):
        with pytest.raises(TypeError, match="expected an int: the shape"):
            ds(0, size)


# ---- batching: one batched call equals a loop ---------------------------------------------------

BATCH = 3
AXIS = AxisData(BATCH)


def batched_equals_loop(primitive, args, dims, **params):
    def fun(*args):
        out, dim = rules.batching[primitive](AXIS, args, dims, **params)
        return lax.transpose(out, (dim, *[d for d in range(out.ndim) if d != dim]))

    got = np.asarray(jit(fun)(*args))
    one = jit(lambda *args: primitive.bind(*args, **params))
    rows = [
        one(*[a if d is None else np.take(a, k, d) for a, d in zip(args, dims, strict=True)])
        for k in range(BATCH)
    ]
    np.testing.assert_array_equal(got, np.stack(list(map(np.asarray, rows))))


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_batched_slice_equals_loop(dim):
    x = np.moveaxis(np.arange(60.0, dtype=np.float32).reshape(BATCH, 4, 5), 0, dim)
    params = {"start_indices": (1, 0), "limit_indices": (3, 5), "strides": (1, 2)}
    batched_equals_loop(slice_p, (x,), (dim,), **params)


STARTS = np.array([0, 9, 2], np.int32)


@pytest.mark.parametrize(
    "dims",
    [(0, None, None), (2, None, None), (1, 0, None), (0, 0, 0), (None, 0, 0), (None, None, 0)],
)
@pytest.mark.parametrize("sizes", [(2, 3), (4, 3), (4, 5), (1, 1)])
def test_batched_dynamic_slice_equals_loop(dims, sizes):
    x = np.arange(20.0, dtype=np.float32).reshape(4, 5)
    if dims[0] is not None:
        x = np.moveaxis(np.stack([x, x + 20, x * 2]), 0, dims[0])
    starts = [STARTS if d == 0 else np.int32(1) for d in dims[1:]]
    batched_equals_loop(dynamic_slice_p, (x, *starts), dims, slice_sizes=sizes)


@pytest.mark.parametrize(
    "dims", [(0, None, None), (None, 1, None), (1, 0, None), (0, 0, 0), (None, None, 0)]
)
def test_batched_dynamic_update_slice_equals_loop(dims):
    x = np.arange(8.0, dtype=np.float32)
    update = -np.arange(1.0, 4.0, dtype=np.float32)
    if dims[0] is not None:
        x = np.moveaxis(np.stack([x, x + 20, x * 2]), 0, dims[0])
    if dims[1] is not None:
        update = np.moveaxis(np.stack([update, update * 2, update * 3]), 0, dims[1])
    start = STARTS if dims[2] == 0 else np.int32(3)
    batched_equals_loop(dynamic_update_slice_p, (x, update, start), dims)
