"""Cumulative reductions: values, derivatives, batching, lowering, errors."""

import ml_dtypes
import numpy as np
import pytest

import tans_lax as lax
from tans_core import rules
from tans_core.context import AxisData
from tans_lax.cumulative import cummax_p, cumsum_p
from tans_xla import jit

ORACLES = {
    "cumsum": np.add,
    "cumprod": np.multiply,
    "cummax": np.maximum,
    "cummin": np.minimum,
    "cumlogsumexp": np.logaddexp,
}
NAMES = list(ORACLES)
RTOL = {"float32": 2e-6, "bfloat16": 5e-2, "int8": 0}


def sample(shape, dtype="float32", seed=0):
    rng = np.random.default_rng(seed)
    values = rng.integers(-2, 3, shape) if dtype == "int8" else rng.standard_normal(shape)
    return np.asarray(values).astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)


def accumulate(name, x, axis, reverse):
    x = np.flip(x, axis) if reverse else x
    if x.dtype != np.int8:
        x = x.astype(np.float64)
    out = ORACLES[name].accumulate(x, axis, dtype=x.dtype)
    return np.flip(out, axis) if reverse else out


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        (name, dtype)
        for name in NAMES
        for dtype in RTOL
        if (name, dtype) != ("cumlogsumexp", "int8")
    ],
)
def test_values_equal_numpy(name, dtype):
    cases = [((0,), 0), ((1,), 0), ((5,), 0), ((2, 3, 4), 1), ((2, 3, 4), 2), ((3, 0), 0)]
    xs = [sample(shape, dtype) for shape, _ in cases]
    fn = getattr(lax, name)

    def program(xs):
        pairs = list(zip(xs, (axis for _, axis in cases), strict=True))
        return [fn(x, a) for x, a in pairs], [fn(x, a, reverse=True) for x, a in pairs]

    for reverse, outs in enumerate(jit(program)(xs)):
        for x, (_, axis), out in zip(xs, cases, outs, strict=True):
            assert out.dtype == x.dtype
            expected = accumulate(name, x, axis, bool(reverse))
            got = np.asarray(out).astype(expected.dtype)
            np.testing.assert_allclose(got, expected, rtol=RTOL[dtype], atol=RTOL[dtype])


def test_long_sums_are_accurate():
    x = sample((100_000,))
    np.testing.assert_allclose(lax.cumsum(x), np.cumsum(x.astype(np.float64)), atol=2e-3)


def test_cumlogsumexp_does_not_overflow_and_keeps_infinities():
    x = np.array([1000.0, 1000.0, -np.inf], np.float32)
    np.testing.assert_allclose(lax.cumlogsumexp(x), 1000 + np.log([1, 2, 2]), rtol=1e-6)
    x = np.array([-np.inf, -np.inf, 0.0, np.inf, np.inf], np.float32)
    np.testing.assert_array_equal(lax.cumlogsumexp(x), [-np.inf, -np.inf, 0.0, np.inf, np.inf])


def test_complex_cumlogsumexp_is_the_principal_logarithm():
    x = (sample((6,)) + 3j * sample((6,), seed=1)).astype(np.complex64)
    expected = np.log(np.cumsum(np.exp(x.astype(np.complex128))))
    np.testing.assert_allclose(lax.cumlogsumexp(x), expected, rtol=1e-5, atol=1e-5)


def test_nan_spreads_from_where_it_stands():
    x = np.array([1.0, np.nan, 2.0], np.float32)
    for name in NAMES:
        out = np.asarray(getattr(lax, name)(x))
        assert np.isnan(out).tolist() == [False, True, True]


@pytest.mark.parametrize("name", NAMES)
def test_derivatives_to_second_order(check_derivatives, name):
    check_derivatives(lambda x: getattr(lax, name)(x, 1), sample((2, 3)))


@pytest.mark.parametrize("name", NAMES)
def test_derivatives_in_reverse(check_derivatives, name):
    check_derivatives(lambda x: getattr(lax, name)(x, 0, reverse=True), sample((5,)), order=1)


def jacobian(fn, x):
    from tans_autodiff import vjp

    y, pull = vjp(fn, x)
    return [np.asarray(pull(row)[0]).tolist() for row in np.eye(y.size, dtype=x.dtype)]


def test_gradient_of_cumprod_is_exact_with_zeros():
    x = np.array([2, 0, 3], np.float32)
    assert jacobian(lax.cumprod, x) == [[1, 0, 0], [0, 2, 0], [0, 6, 0]]


def test_complex_cumlogsumexp_is_the_principal_logarithm_where_it_is_differentiated():
    from tans_autodiff import jvp

    x = np.array([1 + 3j, 2 + 8j, 0 - 9j, -1 + 4j], np.complex64)
    sums = np.cumsum(np.exp(x.astype(np.complex128)))
    for i, tangent in enumerate(np.eye(4, dtype=np.complex64)):
        value, slope = jvp(lax.cumlogsumexp, (x,), (tangent,))
        np.testing.assert_allclose(value, np.log(sums), rtol=1e-5)
        expected = np.where(np.arange(4) < i, 0, np.exp(x[i]) / sums)
        np.testing.assert_allclose(slope, expected, rtol=1e-4, atol=1e-6)


def test_ties_share_gradients_pairwise():
    x = np.array([1, 1, 2], np.float32)
    assert jacobian(lax.cummax, x) == [[1, 0, 0], [0.5, 0.5, 0], [0, 0, 1]]
    assert jacobian(lax.cummin, -x) == [[1, 0, 0], [0.5, 0.5, 0], [0, 0, 1]]
    assert jacobian(lax.cummax, np.ones(3, np.float32))[-1] == [0.25, 0.25, 0.5]


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_batching_equals_a_loop(dim):
    x = sample((2, 3, 4))
    for primitive, oracle in ((cumsum_p, np.add), (cummax_p, np.maximum)):
        out, out_dim = rules.batching[primitive](
            AxisData(x.shape[dim]), (x,), (dim,), axis=1, reverse=False
        )
        each = [oracle.accumulate(part, 1) for part in np.moveaxis(x, dim, 0)]
        got = np.moveaxis(np.asarray(out), out_dim, 0)
        np.testing.assert_allclose(got, each, rtol=1e-5, atol=1e-6)


def test_sums_lower_to_a_window_and_on_gpus_to_a_scan():
    traced = jit(lax.cumsum).trace(np.ones(8, np.float32))
    assert traced.lower().as_text().count("stablehlo.reduce_window") == 1
    assert "chlo.scan" in traced.lower(lowering_platforms=("cuda",)).as_text()


def test_sums_over_one_element_need_no_operation():
    text = jit(lambda x: lax.cumsum(x, 0)).lower(np.ones((1, 3), np.float32)).as_text()
    assert "stablehlo" not in text


@pytest.mark.parametrize(
    ("call", "error", "facts"),
    [
        (lambda: lax.cumsum(np.ones(3), -1), ValueError, ["-1", "write 0"]),
        (lambda: lax.cumsum(np.ones((2, 3)), 2), ValueError, ["axis 2", "float32[2,3]"]),
        (lambda: lax.cumsum(1.0), ValueError, ["scalar"]),
        (lambda: lax.cumsum(np.array([True])), TypeError, ["bool", "numeric"]),
        (lambda: lax.cumlogsumexp(np.array([1])), TypeError, ["int32", "float"]),
    ],
)
def test_bad_arguments_are_named(call, error, facts):
    with pytest.raises(error) as raised:
        call()
    assert all(fact in str(raised.value) for fact in facts)
