"""Gathers and scatters against NumPy loops; types, modes, printed programs and keys."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings

import tans_lax as lax
from tans_core import ShapedArray, rules, typeof
from tans_lax.gather_scatter import (
    GatherDimensionNumbers,
    GatherScatterMode,
    ScatterDimensionNumbers,
    gather_p,
    scatter_p,
)
from tans_xla import jit, make_jaxpr

_spec = spec_from_file_location("window_oracle", Path(__file__).with_name("window_oracle.py"))
oracle = module_from_spec(_spec)
_spec.loader.exec_module(oracle)

G = GatherDimensionNumbers((), (0,), (0,))
S = ScatterDimensionNumbers((), (0,), (0,))
X = np.arange(5, dtype=np.float32)
I = np.array([[0], [7], [-1], [4]], np.int32)
COMBINE = {
    "scatter": lambda old, new: new,
    "scatter_add": np.add,
    "scatter_sub": np.subtract,
    "scatter_mul": np.multiply,
    "scatter_min": np.minimum,
    "scatter_max": np.maximum,
}
LAWS = settings(max_examples=15, deadline=None)


@given(oracle.cases(bounds=False))
@LAWS
def test_gather_equals_a_loop(case):
    operand, indices, numbers, sizes = case
    clip, fill = jit(
        lambda x, i: [
            lax.gather(x, i, numbers, sizes, mode="clip"),
            lax.gather(x, i, numbers, sizes, mode="fill", fill_value=99),
        ]
    )(operand, indices)
    np.testing.assert_array_equal(clip, oracle.gather(case, "clip", 99))
    np.testing.assert_array_equal(fill, oracle.gather(case, "fill", 99))


@given(oracle.cases(bounds=False))
@LAWS
def test_scatters_equal_a_loop(case):
    operand, indices, numbers, _ = case
    shape = oracle.update_shape(case)
    updates = np.random.default_rng(1).integers(-9, 9, shape).astype(np.float32)
    names = [n for n in COMBINE if n != "scatter"]  # writes that meet have no promised order

    def all_scatters(x, i, u):
        return [
            getattr(lax, name)(x, i, u, numbers.for_scatter(), mode=mode)
            for name in names
            for mode in ("clip", "drop")
        ]

    outs = iter(jit(all_scatters)(operand, indices, updates))
    for name in names:
        for mode in ("clip", "drop"):
            expected = oracle.scatter(case, updates, COMBINE[name], mode)
            np.testing.assert_allclose(next(outs), expected, rtol=1e-6)


def test_scatter_writes_at_unique_places():
    out = lax.scatter(X, np.array([[3], [1], [9]], np.int32), X[:3] + 10, S, unique_indices=True)
    np.testing.assert_array_equal(out, [0, 11, 2, 10, 4])


def test_windows_without_index_components_all_count():
    numbers = ScatterDimensionNumbers((), (0,), ())
    out = lax.scatter_add(X, np.zeros((2, 0), np.int32), np.array([1, 2], np.float32), numbers)
    assert out.tolist() == [3, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        (np.float32, np.nan),
        (ml_dtypes.bfloat16, np.nan),
        (np.complex64, np.nan + 0j),
        (np.int8, -128),
        (np.uint8, 255),
        (np.bool_, True),
    ],
    ids=str,
)
def test_fill_value_by_dtype(dtype, expected):
    out = lax.gather(np.zeros(2, dtype), np.array([[5]], np.int32), G, (1,), mode="fill")
    assert out.dtype == dtype
    wide = np.complex64 if dtype == np.complex64 else np.float32
    np.testing.assert_array_equal(np.asarray(out).astype(wide)[0], np.asarray(expected, wide))


def test_small_unsigned_indices_are_in_bounds_of_long_axes():
    x, i = np.arange(300, dtype=np.int32), np.array([[255]], np.uint8)
    assert lax.gather(x, i, G, (1,), mode="fill").tolist() == [255]
    assert lax.scatter_add(x, i, np.array([1], np.int32), S, mode="clip").tolist()[255] == 256


def test_default_mode_of_gather_clamps_and_of_scatter_drops():
    assert lax.gather(X, I, G, (1,)).tolist() == [0, 4, 0, 4]
    assert lax.scatter_add(X, I, np.ones(4, np.float32), S).tolist() == [1, 1, 2, 3, 5]


def test_one_hot_gather_fills_with_zeros():
    assert lax.gather(X, I, G, (1,), mode="one_hot").tolist() == [0, 0, 0, 4]


def test_complex_extrema_order_by_real_then_imaginary_part():
    x = np.array([1 + 2j, 3j], np.complex64)
    i = np.array([[0], [1]], np.int32)
    updates = np.array([1 + 1j, -1j], np.complex64)
    assert lax.scatter_min(x, i, updates, S).tolist() == [1 + 1j, -1j]


def test_scatter_apply_runs_once_per_window():
    out = lax.scatter_apply(
        X, np.array([[1], [1], [9]], np.int32), lambda v: lax.add(v, v), S, update_shape=(3,)
    )
    assert out.tolist() == [0, 4, 2, 3, 4]


def test_scatter_apply_checks_the_function():
    with pytest.raises(TypeError, match="i32"):
        lax.scatter_apply(X, I, lambda v: lax.convert_element_type(v, int), S, update_shape=(4,))


def test_index_take_wraps():
    out = lax.index_take(X.reshape(5, 1), (np.array([1, -1, 7], np.int32),), (0,))
    assert out.tolist() == [[1], [4], [2]]


@pytest.mark.parametrize(
    ("mode", "member"),
    [
        ("clip", "CLIP"),
        ("fill", "FILL_OR_DROP"),
        ("drop", "FILL_OR_DROP"),
        (None, "FILL_OR_DROP"),
        ("promise_in_bounds", "PROMISE_IN_BOUNDS"),
        ("one_hot", "ONE_HOT"),
        (GatherScatterMode.CLIP, "CLIP"),
    ],
)
def test_mode_from_name(mode, member):
    assert GatherScatterMode.from_any(mode) is GatherScatterMode[member]


def test_unknown_mode_raises():
    with pytest.raises(ValueError, match=r"'wrap'.*'clip'"):
        lax.gather(X, I, G, (1,), mode="wrap")


@pytest.mark.parametrize(
    ("numbers", "sizes", "indices", "error"),
    [
        (G, (2,), I, TypeError),
        (G, (1, 1), I, TypeError),
        (G, (9,), I, TypeError),
        (G, (1,), X[:, None], ValueError),
        (G, (1,), np.zeros((2, 2), np.int32), TypeError),
        (GatherDimensionNumbers((0,), (0,), (0,)), (1,), I, TypeError),
        (GatherDimensionNumbers((), (1,), (0,)), (1,), I, TypeError),
        (GatherDimensionNumbers((), (0,), (1,)), (1,), I, TypeError),
        (GatherDimensionNumbers((), (), (0,)), (1,), I, TypeError),
        (GatherDimensionNumbers((5,), (), (0,)), (1,), I, TypeError),
        (GatherDimensionNumbers((), (), (), (0,), (2,)), (1,), I[:, :0], TypeError),
        (GatherDimensionNumbers((), (0,), (0,), (0,), (0,)), (1,), I, TypeError),
        (GatherDimensionNumbers((), (), (), (0,), (0,)), (1,), I[:, :0], TypeError),
    ],
)
def test_bad_gathers_raise(numbers, sizes, indices, error):
    with pytest.raises(error, match=r"gather: given .*expected"):
        lax.gather(X, indices, numbers, sizes)


@pytest.mark.parametrize(
    ("x", "updates"),
    [
        (X, np.ones(2, np.float32)),
        (X, np.ones((4, 1), np.float32)),
        (X, np.float32(1)),
        (X, np.ones(4, np.int32)),
        (X > 1, np.ones(4, np.bool_)),
    ],
)
def test_bad_scatters_raise(x, updates):
    with pytest.raises(TypeError, match=r"scatter_add: given .*expected"):
        lax.scatter_add(x, I, updates, S)


@pytest.mark.parametrize(
    ("numbers", "sizes"),
    [
        (GatherDimensionNumbers((), (1, 0), (0,)), (1, 1)),
        (GatherDimensionNumbers((2, 1), (), (0,)), (1, 2)),
    ],
)
def test_dimensions_of_windows_are_named_in_order(numbers, sizes):
    with pytest.raises(TypeError, match=r"gather: given .*in ascending order"):
        lax.gather(np.ones((3, 2), np.float32), I, numbers, sizes)


@pytest.mark.parametrize("scatter", [lax.scatter_add, lax.scatter_sub, lax.scatter_mul])
def test_booleans_have_no_arithmetic(scatter):
    numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
    x, places = np.array([True, False]), np.array([[1]])
    with pytest.raises(TypeError, match="expected a numeric dtype"):
        scatter(x, places, x[:1], numbers)
    assert lax.scatter(x, places, x[:1], numbers).tolist() == [True, True]
    assert lax.scatter_max(x, places, x[:1], numbers).tolist() == [True, True]
    assert lax.scatter_min(x, places, x[:1], numbers).tolist() == [True, False]


def test_windows_larger_than_the_operand_raise():
    numbers = ScatterDimensionNumbers((1,), (), (0,))
    with pytest.raises(TypeError, match="none larger"):
        lax.scatter(X, I, np.ones((4, 6), np.float32), numbers)


def test_weak_type_follows_the_operand():
    params = make_jaxpr(lambda x, i: lax.gather(x, i, G, (1,)))(X, I).eqns[0].params
    weak = typeof(X).update(weak_type=True)
    assert rules.types[gather_p](weak, typeof(I), **params).weak_type


def test_parameters_are_named_as_in_the_reference():
    jaxpr = make_jaxpr(lambda x, i, u: (lax.gather(x, i, G, (1,)), lax.scatter_add(x, i, u, S)))(
        X, I, np.ones(4, np.float32)
    )
    gather, scatter = jaxpr.eqns
    assert sorted(gather.params) == [
        "dimension_numbers",
        "fill_value",
        "indices_are_sorted",
        "mode",
        "slice_sizes",
        "unique_indices",
    ]
    assert scatter.primitive.name == "scatter-add"
    assert sorted(scatter.params) == [
        "dimension_numbers",
        "indices_are_sorted",
        "mode",
        "unique_indices",
        "update_consts",
        "update_jaxpr",
    ]


def operations(fun, *args):
    return jit(fun).lower(*args).as_text().count("stablehlo.") - 1  # the module's attribute aside


def test_lowering_emits_few_operations():
    count = {
        "clip": operations(lambda x, i: lax.gather(x, i, G, (1,), mode="clip"), X, I),
        "fill": operations(lambda x, i: lax.gather(x, i, G, (1,), mode="fill"), X, I),
        "drop": operations(lambda x, i: lax.scatter(x, i, X[:4], S), X, I),
    }
    assert count["clip"] <= 2
    assert count["fill"] <= 9
    assert count["drop"] <= 5


def test_keys_gain_trailing_dimensions():
    logical = (ShapedArray((4,), np.uint32), ShapedArray((3, 1), np.int32))
    physical = (ShapedArray((4, 2), np.uint32), logical[1])
    params = make_jaxpr(lambda x, i: lax.gather(x, i, G, (1,), mode="fill"))(X, I).eqns[0].params
    lo = rules.to_lo[gather_p](logical, physical, **{**params, "fill_value": None})
    assert lo["dimension_numbers"].offset_dims == (1,)
    assert lo["slice_sizes"] == (1, 2)
    assert lo["fill_value"] == 2**32 - 1
    updates = (ShapedArray((3,), np.uint32), ShapedArray((3, 2), np.uint32))
    lo = rules.to_lo[scatter_p](
        (*logical, updates[0]), (*physical, updates[1]), dimension_numbers=S
    )
    assert lo["dimension_numbers"].update_window_dims == (1,)
