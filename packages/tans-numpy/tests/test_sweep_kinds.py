"""Kinds of faults that a wide sweep of calls found, apart from elementwise functions."""

import warnings

import numpy as np
import pytest

import tans_autodiff
import tans_numpy as jnp


@pytest.mark.parametrize(
    ("start", "stop", "num"), [(-5, 5, 11), (0, 10, 11), (10, -10, 5), (-3, 4, 8)]
)
def test_whole_steps_are_exact(start, stop, num):
    np.testing.assert_array_equal(jnp.linspace(start, stop, num), np.linspace(start, stop, num))


@pytest.mark.parametrize("num", [2, 7, 50])
def test_linspace_is_as_near_as_float32_allows(num):
    expected = np.linspace(-2.3, 7.1, num)
    np.testing.assert_allclose(jnp.linspace(-2.3, 7.1, num), expected, rtol=0, atol=7.1 * 2.4e-7)


def test_whole_numbers_fall_into_the_bins_that_begin_with_them():
    x = np.array([-5, -1, 0, 1, 1, 4, 5])
    np.testing.assert_array_equal(jnp.histogram(x)[0], np.histogram(x)[0])


@pytest.mark.parametrize("name", ["quantile", "percentile", "nanquantile", "nanpercentile"])
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_the_place_does_not_widen_a_quantile(name, dtype):
    found = getattr(jnp, name)(np.arange(5, dtype=dtype), np.array([0.5], np.float32))
    assert found.dtype == dtype


@pytest.mark.parametrize("name", ["sum", "prod", "cumsum", "cumprod", "nansum", "trace"])
def test_sums_of_booleans_on_request(name):
    x = np.array([[0.0, 2.0], [1.0, 0.0]], np.float32)
    found = getattr(jnp, name)(x, dtype=bool)
    expected = {
        "sum": True, "nansum": True, "prod": False, "trace": False,
        "cumsum": [False, True, True, True], "cumprod": [False] * 4,
    }[name]  # fmt: skip
    assert found.dtype == np.bool_
    assert found.tolist() == expected


@pytest.mark.parametrize(("dtype", "wide"), [(np.int8, np.int32), (np.uint8, np.uint32)])
def test_cumulative_sum_widens_integers_and_cumulative_prod_does_not(dtype, wide):
    x = np.array([100, 100, 2], dtype)
    found = jnp.cumulative_sum(x)
    assert found.dtype == wide
    np.testing.assert_array_equal(found, np.cumsum(x, dtype=wide))
    assert jnp.cumulative_prod(x).dtype == dtype


def test_variance_with_an_integer_dtype_is_computed_in_floating_point():
    found = jnp.var(np.arange(6, dtype=np.int8), dtype=np.int32)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, np.var(np.arange(6)), rtol=1e-6)


def test_path_of_einsum_holds_pairs_only():
    path, _ = jnp.einsum_path("ij,jk,kl", np.ones((2, 3)), np.ones((3, 4)), np.ones((4, 2)))
    assert all(isinstance(pair, tuple) for pair in path)
    assert len(path) == 2


@pytest.mark.parametrize("name", ["sum", "argmin", "flip", "sort", "cumsum"])
def test_a_wrong_axis_is_an_error_of_value_and_of_index(name):
    for error in (ValueError, IndexError):
        with pytest.raises(error, match=f"{name}: given axis 5 for an array with 1 dim.*-1 to 0"):
            getattr(jnp, name)(np.ones(3), axis=5)


@pytest.mark.parametrize("order", ["K", "A"])
def test_ravel_has_two_orders(order):
    with pytest.raises(NotImplementedError, match=f"ravel: given order='{order}', expected 'C'"):
        jnp.ravel(np.ones(3), order=order)


def test_cross_products_are_of_space():
    with pytest.raises(ValueError, match=r"vectors of 2 and 2 components, expected 3.*a\[0\]"):
        jnp.cross(np.ones(2), np.ones(2))


@pytest.mark.parametrize(
    "source", [np.int8, np.dtype("int8"), "int8", jnp.int8, np.zeros(2, np.int8)]
)
def test_casts_are_asked_for_in_any_form(source):
    assert jnp.can_cast(source, np.int32)
    assert not jnp.can_cast(np.int32, np.int8)


@pytest.mark.parametrize("name", ["svd", "eig", "eigvals", "qr"])
def test_a_vector_is_not_a_type_that_these_factor(name):
    with pytest.raises(TypeError, match=rf"linalg\.{name}.*float32\[3\]"):
        getattr(jnp.linalg, name)(np.ones(3, np.float32))


def test_full_factors_of_qr_are_the_reduced_ones():
    a = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)
    q, r = jnp.linalg.qr(a, mode="full")
    assert (q.shape, r.shape) == ((5, 3), (3, 3))
    np.testing.assert_allclose(q @ r, a, atol=1e-6)


def test_variance_without_nan_is_converted_to_an_integer_dtype_last():
    found = jnp.nanvar(np.array([0.0, np.nan, 2.5, -7.9, 7.7]), dtype=np.int32)
    assert (found.dtype, int(found)) == (np.int32, 31)


@pytest.mark.parametrize("power", [2.0, 2.7, np.float32(2.5), 2])
@pytest.mark.parametrize("index", [2, [2], slice(2, 3), np.array([False, False, True, False])])
def test_exponents_for_integers_count_as_integers(index, power):
    index = np.array(index) if isinstance(index, list) else index
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        found = jnp.arange(4).at[index].power(power)
    assert (found.dtype, found.tolist()) == (np.int32, [0, 1, 4, 3])


@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3)])
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int32", "float32", "complex64"])
def test_byteswap_is_that_of_numpy(dtype, shape):
    x = (np.arange(6)[: int(np.prod(shape))] * 3).reshape(shape).astype(dtype)
    found = np.asarray(jnp.asarray(x).byteswap())
    assert found.dtype == x.dtype
    assert found.tobytes() == x.byteswap().tobytes()
    np.testing.assert_array_equal(jnp.asarray(x).byteswap().byteswap(), x)


@pytest.mark.parametrize("name", ["copysign", "heaviside", "hypot", "ldexp"])
@pytest.mark.parametrize("shape", [(4,), (4, 5)])
def test_functions_that_select_broadcast_first(name, shape):
    other = np.ones(shape, np.int32 if name == "ldexp" else np.float32)
    with pytest.raises(ValueError, match=rf"{name}: given the shapes \(3,\), \(4,"):
        getattr(jnp, name)(np.ones(3, np.float32), other)


def weak(shape):
    return jnp.ones(shape, int) * 2.0


PRODUCTS = {
    "dot": lambda a, b: jnp.dot(a, b),
    "matmul": lambda a, b: a @ b,
    "inner": lambda a, b: jnp.inner(a, b),
    "vdot": lambda a, b: jnp.vdot(a, b),
    "tensordot": lambda a, b: jnp.tensordot(a, b, 1),
    "einsum": lambda a, b: jnp.einsum("ij,jk", a, b),
    "matvec": lambda a, b: jnp.matvec(a, b[0]),
    "multi_dot": lambda a, b: jnp.linalg.multi_dot([a, b]),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_products_of_weak_types_are_weak(name):
    product = PRODUCTS[name]
    assert product(weak((3, 3)), weak((3, 3))).weak_type
    assert product(weak((3, 3)), jnp.ones((3, 3), int)).weak_type
    assert not product(weak((3, 3)), jnp.ones((3, 3))).weak_type


def test_products_of_numbers_are_weak():
    assert jnp.dot(2, 3).weak_type
    assert jnp.vdot(2.0, 3).weak_type
    assert not jnp.dot(2, 3, preferred_element_type=np.float32).weak_type


def test_answers_about_weak_numbers_that_are_close_are_strong():
    assert not jnp.isclose(1.0, weak(3)).weak_type


@pytest.mark.parametrize("name", ["var", "std", "nanvar", "nanstd"])
def test_variances_have_the_complex_dtype_that_is_asked_for(name):
    x = np.array([1, 2, 4 + 3j], np.complex64)
    found = getattr(jnp, name)(x, dtype=np.complex64)
    assert found.dtype == np.complex64
    np.testing.assert_allclose(found, getattr(np, name)(x), rtol=1e-6)
    assert getattr(jnp, name)(x.real, dtype=np.complex64).dtype == np.complex64
    with pytest.raises(ValueError, match=rf"^{name}: given dtype=float32 for c64\[3\]"):
        getattr(jnp, name)(x, dtype=np.float32)


@pytest.mark.parametrize("name", ["mean", "nanmean", "var", "nanvar", "nanstd"])
def test_means_are_no_booleans(name):
    with pytest.raises(TypeError, match="given dtype=bool, expected numbers"):
        getattr(jnp, name)(np.ones(3, np.float32), dtype=bool)
    with pytest.raises(ValueError, match="std: given dtype=bool"):
        jnp.std(np.ones(3, np.float32), dtype=bool)
    with pytest.raises(ValueError, match="var: given dtype=bool"):
        jnp.var(np.ones(3, np.complex64), dtype=bool)


@pytest.mark.parametrize(
    "name",
    """sum prod max min all any mean var std nansum nanprod nanmax nanmin nanmean nanvar nanstd
    minmax""".split(),
)
@pytest.mark.parametrize("where", [1, np.ones(3, np.float32)])
def test_masks_that_are_no_booleans_are_refused_by_name(name, where):
    with pytest.raises(ValueError, match=rf"^{name}: given where= of type"):
        getattr(jnp, name)(np.ones(3, np.float32), where=where)


@pytest.mark.parametrize(
    "name", ["unique", "unique_all", "unique_counts", "unique_inverse", "unique_values", "union1d"]
)
def test_nothing_fills_a_set_of_nothing(name):
    empty = np.zeros((0,), np.float32)
    args = (empty,) * (2 if name == "union1d" else 1)
    with pytest.raises(ValueError, match=rf"{name}: given size=2 .*Pass fill_value"):
        getattr(jnp, name)(*args, size=2)
    found = getattr(jnp, name)(*args, size=2, fill_value=7)
    assert (found[0] if isinstance(found, tuple) else found).tolist() == [7, 7]
    getattr(jnp, name)(*args, size=0)


@pytest.mark.parametrize("source", [2.0, [1, 2], np.ones(3), np.float32(2)])
def test_a_copy_is_made_where_there_is_no_array(source):
    np.testing.assert_array_equal(jnp.asarray(source, copy=False), source)
    x = jnp.ones(3)
    assert jnp.asarray(x, copy=False) is x
    assert jnp.asarray(x, np.int8, copy=False).dtype == np.int8


@pytest.mark.parametrize("order", [None, 1, 3, 0, np.inf, -np.inf])
def test_norms_are_never_weak(order):
    assert not jnp.linalg.norm(weak(3), order).weak_type
    assert not jnp.linalg.vector_norm(weak(3), ord=2 if order is None else order).weak_type


def test_inverses_and_transforms_are_never_weak():
    a = jnp.eye(2, dtype=int) * 2.0
    assert a.weak_type
    for found in (jnp.linalg.inv(a), jnp.linalg.pinv(a), jnp.fft.fft(a * 1j), jnp.fft.fftn(2.0)):
        assert not found.weak_type


def test_a_transform_over_no_axes_keeps_half_precision():
    assert jnp.fft.rfftn(np.float16(2)).dtype == np.float16
    assert jnp.fft.fftn(np.float16(2)).dtype == np.complex64


def test_pseudoinverses_of_half_precision_are_refused_by_type():
    with pytest.raises(TypeError, match=r"linalg.pinv.*given float16\[2,2\]"):
        jnp.linalg.pinv(np.ones((2, 2), np.float16))
    assert jnp.linalg.pinv(np.ones((0, 3), np.float16)).shape == (3, 0)


@pytest.mark.parametrize("step", [2.0, 2, np.float16(2), np.arange(5), np.arange(5.0)])
def test_slopes_have_the_type_of_a_quotient(step):
    for x in (np.arange(5) ** 2, np.arange(5).astype(np.float16)):
        found, quotient = jnp.gradient(x, step), jnp.asarray(x) / step
        assert (found.dtype, found.weak_type) == (quotient.dtype, quotient.weak_type)


@pytest.mark.parametrize("name", ["nanmedian", "nanquantile", "nanpercentile"])
@pytest.mark.parametrize("axis", [0, 1])
def test_quantiles_of_nothing_but_nan_are_nan(name, axis):
    args = () if name == "nanmedian" else (0.5,)
    found = getattr(jnp, name)(np.ones((0, 3), np.float16), *args, axis=axis)
    assert (found.dtype, found.shape) == (np.float16, (3,) if axis == 0 else (0,))
    assert np.isnan(found).all()


@pytest.mark.parametrize("name", ["quantile", "percentile"])
def test_quantiles_of_nothing_are_refused(name):
    with pytest.raises(TypeError, match=rf"{name}: given an array with shape \(0,\)"):
        getattr(jnp, name)(np.ones(0, np.float32), 0.5)


def test_ranges_are_never_weak():
    assert not jnp.ptp(2.5).weak_type
    assert not jnp.ptp(weak(3)).weak_type


def test_booleans_are_not_subtracted():
    with pytest.raises(TypeError, match="ediff1d: given booleans"):
        jnp.ediff1d(np.ones(3, bool))


@pytest.mark.parametrize(
    ("items", "dtype"),
    [
        ([np.int8(1), 2], "int8"), ([2, np.int8(1)], "int8"), ([[np.int8(1)], [2]], "int8"),
        ([np.float16(1), 2.5], "float16"), ([np.float16(1), np.int32(2)], "float16"),
        ([np.array([1, 2], np.int8), [2, 3]], "int8"), ([np.int8(1), 2.5], "float32"),
        ([jnp.int8(1), [2][0]], "int8"), ([jnp.bfloat16(1.5), 2.5, 3], "bfloat16"),
        ([np.asarray(1.5, jnp.bfloat16), 2], "bfloat16"), ([np.int8(1), True], "int8"),
        ([jnp.asarray(1.5), jnp.int8(2)], "float32"), ([jnp.int4(1), 2], "int4"),
    ],
    ids=str,
)  # fmt: skip
def test_sequences_have_the_type_of_their_elements_and_are_strong(items, dtype):
    found = jnp.array(items)
    assert (str(found.dtype), found.weak_type) == (dtype, False)
    expected = np.array([np.asarray(v, np.float64) for v in items])
    np.testing.assert_array_equal(np.asarray(found, np.float64), expected)


@pytest.mark.parametrize("items", [[np.int8(1), 300], [np.uint8(1), -1], [jnp.int8(1), 300]])
def test_integers_that_do_not_fit_beside_others_are_refused(items):
    with pytest.raises(OverflowError, match=f"given the Python integer {items[1]}, expected"):
        jnp.array(items)


@pytest.mark.parametrize(
    "call",
    [
        lambda: jnp.full(3, 1j, np.float32),
        lambda: jnp.full_like(np.ones(3, np.float32), 1j),
        lambda: jnp.full_like(2.5, 1j),
        lambda: jnp.array([1j], np.float32),
        lambda: jnp.array([jnp.ones(()), 1j], np.float32),
    ],
)
def test_imaginary_parts_are_not_dropped_silently(call):
    with pytest.raises(TypeError, match="given 1j for float32, expected a real number"):
        call()


@pytest.mark.parametrize(
    ("call", "error", "fact"),
    [
        (lambda: jnp.arange(1, 2, 0), ZeroDivisionError, "step=0"),
        (lambda: jnp.arange(2, dtype=bool), TypeError, "arange: given booleans"),
        (lambda: jnp.arange(None), TypeError, "arange: given start=None"),
        (lambda: jnp.eye(-1), ValueError, r"shape \(-1, -1\)"),
        (lambda: jnp.identity(-1), ValueError, r"shape \(-1, -1\)"),
        (lambda: jnp.expand_dims(np.ones(3), None), TypeError, "axis=None"),
        (lambda: jnp.permute_dims(np.ones(3), None), TypeError, "permute_dims: given axes=None"),
        (lambda: jnp.transpose(np.ones((3, 4)), (0,)), TypeError, r"transpose: given axes \(0,\)"),
        (lambda: jnp.permute_dims(np.ones((3, 4)), (0,)), TypeError, "permute_dims: given axes"),
        (lambda: jnp.permute_dims(np.ones((3, 4)), (0, 0)), ValueError, "permute_dims: given axes"),
        (lambda: jnp.trace(np.ones((2, 3, 4)), 0, 1, 1), ValueError, "trace: given axis 1 twice"),
        (lambda: jnp.trace(np.ones((2, 3)), 1.5), ValueError, "trace: given offset=1.5"),
        (lambda: jnp.eye(3, k=1.5), ValueError, "eye: given k=1.5"),
        (lambda: jnp.split(np.ones(6), 0), ZeroDivisionError, "split: given 0 parts"),
        (lambda: jnp.array_split(np.ones(6), 0), ZeroDivisionError, "array_split: given 0 parts"),
        (lambda: jnp.split(np.ones(6), -1), ValueError, "split: given -1 parts"),
        (lambda: jnp.stack(np.ones(())), TypeError, "stack: given a scalar"),
        (lambda: jnp.hstack(np.ones(())), ValueError, "hstack: given a scalar"),
        (lambda: jnp.fft.fftfreq(2.5), TypeError, "fftfreq: given n=2.5"),
        (lambda: jnp.ones((3, 4)).transpose(0, 0), TypeError, "expected each once"),
        (lambda: jnp.diagonal(np.ones((2, 3, 4)), 0, 1, 1), TypeError, "axis 1 twice"),
    ],
)  # fmt: skip
def test_classes_of_errors(call, error, fact):
    with pytest.raises(error, match=fact):
        call()


@pytest.mark.parametrize(("start", "stop"), [(0, 1), (1, 0), (-1, 8), (0, 0)])
def test_no_ratio_leads_to_zero_or_another_sign(start, stop):
    assert np.isnan(jnp.geomspace(start, stop, 3)).all()
    np.testing.assert_allclose(jnp.geomspace(-2, -32, 5), [-2, -4, -8, -16, -32], rtol=1e-6)
    found = jnp.geomspace(np.array([1, 2]), np.array([8, 0]), 4)
    np.testing.assert_allclose(found[:, 0], [1, 2, 4, 8], rtol=1e-6)
    assert np.isnan(found[:, 1]).all()


STRONG = {
    "polyval": lambda: jnp.polyval(weak(3), weak(3)),
    "vander": lambda: jnp.vander(weak(3)),
    "cross": lambda: jnp.cross(weak(3), weak(3)),
    "choose": lambda: jnp.choose(np.array([0, 1]), [weak(2), 1]),
    "diagonal": lambda: jnp.diagonal(weak((3, 3))),
    "diag of a matrix": lambda: jnp.diag(weak((3, 3))),
    "diagflat": lambda: jnp.diagflat(weak(3)),
    "lstsq": lambda: jnp.linalg.lstsq(weak((3, 2)), weak(3))[0],
    "slogdet": lambda: jnp.linalg.slogdet(jnp.eye(2, dtype=int) * 2.0)[1],
}
WEAK = {
    "diag of a vector": lambda: jnp.diag(weak(3)),
    "pad": lambda: jnp.pad(weak(3), 1),
    "pad with means": lambda: jnp.pad(weak(3), 1, mode="mean"),
    "insert": lambda: jnp.insert(weak(3), 0, np.float32(1)),
    "setdiff1d": lambda: jnp.setdiff1d(weak(3), weak(2)),
    "cholesky": lambda: jnp.linalg.cholesky(jnp.eye(2, dtype=int) * 2.0),
    "eigvalsh": lambda: jnp.linalg.eigvalsh(jnp.eye(2, dtype=int) * 2.0),
}


@pytest.mark.parametrize("name", STRONG | WEAK)
def test_functions_that_end_or_keep_a_weak_type(name):
    found = (STRONG | WEAK)[name]()
    assert (found.dtype, found.weak_type) == (np.float32, name in WEAK)


@pytest.mark.parametrize("method", ["scan", "sort", "compare_all"])
@pytest.mark.parametrize("side", ["left", "right"])
def test_complex_numbers_are_searched_by_real_then_imaginary_part(method, side):
    parts = [-1.0, 0.0, 2.0, np.nan]
    values = [complex(x, y) for x in parts for y in parts]
    a = jnp.sort(jnp.array(values, jnp.complex64))
    out = jnp.searchsorted(a, a, side=side, method=method)
    assert out.tolist() == list(range(len(a)) if side == "left" else range(1, len(a) + 1))
    finite = np.sort(np.array(values, np.complex64))[:9]
    out = jnp.searchsorted(finite, finite[::2], side=side, method=method)
    np.testing.assert_array_equal(out, np.searchsorted(finite, finite[::2], side=side))
    assert jnp.digitize(jnp.array([1j]), jnp.array([0.0, 1.0])).tolist() == [1]


def test_wide_integers_are_narrowed_before_they_are_counted():
    wide = np.array([2**40])
    assert jnp.bincount(wide).tolist() == [1]
    assert jnp.nonzero(wide)[0].shape == (0,)


def test_stacks_of_nothing_are_refused():
    with pytest.raises(ValueError, match="stack: given no arrays"):
        jnp.stack(jnp.zeros((0, 3)))


@pytest.mark.parametrize("spread", [jnp.nanvar, jnp.nanstd])
def test_spreads_without_nan_have_slopes(spread):
    x = jnp.array([1.0, np.nan, 2.0, 4.0])
    found = tans_autodiff.grad(spread)(x)
    kept = tans_autodiff.grad(jnp.var if spread is jnp.nanvar else jnp.std)(x[jnp.array([0, 2, 3])])
    np.testing.assert_allclose(found, np.insert(kept, 1, 0.0), rtol=1e-6)


@pytest.mark.parametrize("function", [jnp.hypot, jnp.logaddexp, jnp.logaddexp2])
def test_slopes_at_nan_are_nan(function):
    slopes = tans_autodiff.grad(function, (0, 1))
    assert np.isnan(slopes(np.nan, 1.0)[0])
    assert np.isnan(slopes(1.0, np.nan)[1])
    if function is not jnp.hypot:
        assert slopes(np.inf, np.inf) == (1.0, 1.0)
        assert slopes(np.inf, 1.0) == (1.0, 0.0)
