"""Errors, dtypes and quirks of indexing and ``.at``."""

import numpy as np
import pytest

import tans_numpy as jnp
from tans_core import errors
from tans_core.config import enable_x64
from tans_lax.slicing import ds
from tans_xla import jit

X = np.arange(5, dtype=np.float32)
M = np.arange(12, dtype=np.float32).reshape(4, 3)


@pytest.fixture
def x():
    return jnp.arange(5.0)


@pytest.fixture
def m():
    return jnp.arange(12.0).reshape(4, 3)


@pytest.mark.parametrize(
    ("index", "error", "text"),
    [
        ([0, 1], TypeError, "list.*array"),
        (range(2), TypeError, "range.*array"),
        (1.0, TypeError, "1.0.*integer"),
        ("a", TypeError, "'a'.*integer"),
        ({}, IndexError, "dict"),
        ((0, 0), IndexError, "2 indices.*1 dimensions"),
        ((..., ...), IndexError, "2 ellipses"),
        (slice(0, 2, 0), ValueError, "zero"),
        (slice(1.0, 2), TypeError, "1.0.*int"),
        (slice("a", None), TypeError, "'a'.*int"),
        (np.array([1.0]), TypeError, "float64.*integers"),
        (np.array([True, False]), IndexError, r"\(2,\).*size 5"),
        (2**40, OverflowError, "int"),
    ],
    ids=str,
)
def test_bad_index_raises(x, index, error, text):
    for array in (x, x.at):
        with pytest.raises(error, match=text):
            getattr(array[index], "get", lambda: None)()


def test_traced_slice_bound_names_ds(x):
    with pytest.raises(IndexError, match=r"ds\(start, size\)"):
        jit(lambda x, k: x[:k])(x, 2)


def test_traced_mask_raises(x):
    for fun in (lambda x: x[x > 2], lambda x: x.at[x > 2].set(0.0), lambda x: x.at[x > 2].get()):
        with pytest.raises(errors.NonConcreteBooleanIndexError, match="nonzero"):
            jit(fun)(x)


def test_integer_index_of_an_empty_axis_raises():
    empty = jnp.zeros((0, 3))
    for index in (0, (jnp.array(0),), np.array([0])):
        with pytest.raises(IndexError, match="size 0"):
            empty[index]
    for index in (0, (jnp.array(0),)):
        with pytest.raises(IndexError, match="size 0"):
            empty.at[index].set(1.0)
    with pytest.raises(IndexError, match="size 0"):
        jit(lambda x, i: x[i])(empty, 0)
    assert empty[:, 1].shape == (0,)
    assert empty[np.array([], int)].shape == (0, 3)


def test_values_that_do_not_broadcast_raise(x, m):
    with pytest.raises(ValueError, match=r"\(2,\).*\(\)"):
        x.at[1].set(jnp.ones(2))
    with pytest.raises(ValueError, match=r"\(2, 3\).*\(3,\)"):
        m.at[0].set(jnp.ones((2, 3)))
    with pytest.raises(ValueError, match=r"\(1, 3\).*\(3,\)"):
        m.at[0].set(jnp.ones((1, 3)))
    with pytest.raises(ValueError, match=r"\(3,\).*\(2,\)"):
        x.at[np.array([0, 1])].add(jnp.ones(3))


def test_values_of_a_wrong_class_raise(x):
    with pytest.raises(ValueError, match="None"):
        x.at[0].set(None)
    with pytest.raises(TypeError, match="'a'"):
        x.at[0].set("a")


def test_unknown_mode_raises(x):
    for call in (
        lambda: x.at[0].get(mode="wrap"),
        lambda: x.at[0].set(1.0, mode="wrap"),
        lambda: x.at[0].apply(abs, mode="wrap"),
    ):
        with pytest.raises(ValueError, match="'wrap'"):
            call()


def test_fill_value_must_be_a_scalar(x):
    with pytest.raises(ValueError, match=r"\(1,\)"):
        x.at[7].get(mode="fill", fill_value=jnp.ones(1))


@pytest.mark.parametrize(
    ("array", "value", "expected"),
    [
        (np.int32, 2.7, 2),
        (np.int8, np.int32(3), 3),
        (np.float16, np.float32(3), 3),
        (np.bool_, 2, True),
    ],
    ids=str,
)
def test_lossy_values_warn_every_time(array, value, expected):
    x = jnp.zeros(2, array)
    for _ in range(2):
        with pytest.warns(FutureWarning, match="without loss"):
            out = x.at[0].set(value)
        assert out.dtype == array
        assert out.tolist()[0] == expected


def test_complex_values_warn_twice(x):
    with pytest.warns(FutureWarning), pytest.warns(np.exceptions.ComplexWarning):
        assert x.at[1].add(1 + 1j).tolist()[1] == 2.0


def test_python_integers_out_of_range_wrap():
    assert jnp.zeros(1, np.int8).at[0].set(300).tolist() == [44]
    assert jit(lambda x: x.at[0].set(300))(jnp.zeros(1, np.int8)).tolist() == [44]
    assert jnp.zeros(1, np.uint8).at[0].set(-1).tolist() == [255]


def test_unsigned_integers_above_the_default_type_are_written_and_filled_in():
    top = 2**32 - 1
    assert jnp.zeros(1, np.uint32).at[0].set(top).tolist() == [top]
    assert jit(lambda x: x.at[0].set(top))(jnp.zeros(1, np.uint32)).tolist() == [top]
    assert jnp.full(2, top, np.uint32).tolist() == [top, top]


@pytest.mark.parametrize("function", [lambda x: x + 2**31, lambda x: x < 2**31])
def test_python_integers_above_the_default_type_are_refused_as_when_evaluated(function):
    for fun in (function, jit(function)):
        with pytest.raises(OverflowError, match="2147483648"):
            fun(jnp.int32(1))


def test_weak_type_is_that_of_the_array():
    weak = jnp.full(3, 1.5)
    for out in (
        weak[1],
        weak[:2],
        weak[np.array([0])],
        weak.at[1].set(2),
        weak.at[1:].add(np.float32(1)),
        weak.at[np.array([0])].add(np.float32(1)),
        weak.at[weak > 1].set(0.0),
    ):
        assert out.weak_type
    assert not jnp.zeros(3).at[0].set(1.0).weak_type


def test_narrow_indices_of_long_axes_are_widened():
    x = jnp.arange(300)
    for index in (jnp.array(-1, np.int8), np.array([-1], np.int8), jnp.array([-1], np.int8)):
        assert np.ravel(x[index]).tolist() == [299]
        assert x.at[index].set(0)[299] == 0
    assert jnp.take(x, jnp.array(-1, np.int8)) == 299


def test_boolean_scalars_follow_numpy(x):
    for index in ((None, True), (True, None), (..., False), (0, True), (True, slice(1, 3))):
        assert x[index].shape == X[index].shape
    assert x.at[False].set(9.0).tolist() == X.tolist()


def test_indices_of_several_dtypes_together(m):
    rows, columns = jnp.array([0, 3], np.uint8), jnp.array([-1, 1], np.int16)
    np.testing.assert_array_equal(m[rows, columns], M[[0, 3], [-1, 1]])
    np.testing.assert_array_equal(m[jnp.uint8(3), jnp.int16(-1)], M[3, -1])


def test_windows_with_a_traced_start(x):
    window = jit(lambda x, k: x[ds(k, 3)])
    assert window(x, 1).tolist() == [1, 2, 3]
    assert window(x, 4).tolist() == [2, 3, 4]
    assert window(x, -2).tolist() == [2, 3, 4]
    assert jit(lambda x, k: x[ds(k, 2, 2)])(x, 1).tolist() == [1, 3]
    assert jit(lambda x, k: x.at[ds(k, 2)].set(9.0))(x, 1).tolist() == [0, 9, 9, 3, 4]
    assert jit(lambda x, k: x.at[ds(k, 3)].set(9.0))(x, 3).tolist() == X.tolist()
    assert jit(lambda x, k: x.at[ds(k, 2)].get(mode="fill"))(x, 4).tolist()[0] != 4


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        (ds(1, 2), [1, 2]), (ds(4, 3), [4]), (ds(0, 7), [0, 1, 2, 3, 4]), (ds(-1, 2), []),
        (ds(-3, 2), [2, 3]), (ds(7, 2), []), (ds(1, 0), []), (ds(1, 2, 2), [1, 3]),
        (ds(2, 2, 2), [2, 4]), (ds(3, 2, 2), [3]),
    ],
)  # fmt: skip
def test_windows_that_are_known_are_slices(x, window, expected):
    assert x[window].tolist() == expected
    assert jit(lambda x: x[window])(x).tolist() == expected
    assert x.at[window].get().tolist() == expected
    assert x[None, window, ...].tolist() == [expected]


def test_windows_beside_arrays_move_to_fit(m):
    np.testing.assert_array_equal(m[ds(3, 3), np.array([1, 2])], M[1:, 1:3])


@pytest.mark.parametrize(
    ("index", "strategy", "options", "error", "fact"),
    [
        (np.array([1]), "static_slice", {}, TypeError, r"index of type i(32|64)\[1\]"),
        (np.array([1]), "dynamic_slice", {}, TypeError, r"index of type i(32|64)\[1\]"),
        (jnp.int32(1), "static_slice", {}, TypeError, "axis 0 that is an array"),
        (slice(0, 4, 2), "dynamic_slice", {}, TypeError, "step 2"),
        (9, "static_slice", {}, IndexError, "index 9 for axis 0 of size 5"),
        (1, "static_slice", {"mode": "fill"}, ValueError, "mode='fill_or_drop'"),
        (1, "dynamic_slice", {"mode": "fill"}, ValueError, "mode='fill_or_drop'"),
    ],
)
def test_strategies_have_conditions(x, index, strategy, options, error, fact):
    with pytest.raises(error, match=f"strategy='{strategy}'.*{fact}"):
        x.at[index].get(strategy=strategy, **options)


@pytest.mark.parametrize("strategy", ["gather", "static_slice", "dynamic_slice"])
def test_strategies_read_the_same(x, m, strategy):
    assert x.at[1:3].get(strategy=strategy).tolist() == [1, 2]
    assert m.at[-1, 1].get(strategy=strategy) == M[-1, 1]
    kept = [1, 2, 3, 4] if strategy != "gather" else [0, 1, 2, 3, 4]
    assert x.at[ds(1, 5)].get(strategy=strategy).tolist() == kept


def test_sixty_four_bit_indices():
    with enable_x64(True):
        x = jnp.arange(5.0)
        assert x[3] == 3.0
        assert x[jnp.array([-1])].tolist() == [4.0]
        assert x.at[-1].set(0.5).tolist() == [0, 1, 2, 3, 0.5]
        assert x[np.array([0, 2])].dtype == np.float64


def test_reprs(x):
    assert repr(x.at) == f"_IndexUpdateHelper({x!r})"
    assert repr(x.at[1:]) == f"_IndexUpdateRef({x!r}, {slice(1, None)!r})"
    assert not hasattr(x.at[0], "div")


def test_a_failed_index_leaves_no_trace(x):
    with pytest.raises(IndexError):
        jit(lambda x, k: x[:k])(x, 2)
    assert x[1:3].tolist() == [1, 2]
