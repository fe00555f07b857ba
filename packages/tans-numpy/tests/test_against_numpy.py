"""Values against NumPy in float64, over dtypes and shapes."""

import warnings

import ml_dtypes
import numpy as np
import pytest

import tans_numpy as jnp
from tans_core import config
from tans_xla import jit

DTYPES = [np.dtype(t) for t in (
    np.float32, ml_dtypes.bfloat16, np.float64, np.complex64, np.int8, np.bool_,
)]  # fmt: skip
SHAPES = [(), (0,), (7,), (2, 3, 5)]
TOLERANCE = {"float32": 2e-5, "bfloat16": 2e-2, "float64": 1e-12, "complex64": 2e-5}

UNARY = """
    exp expm1 log1p sqrt cbrt sin cos tan arctan sinh cosh tanh arcsinh square abs sign negative
    reciprocal floor ceil trunc rint deg2rad rad2deg exp2 sinc i0 nan_to_num positive conj real imag
    isnan isfinite isinf signbit logical_not ravel flip transpose
""".split()
REDUCTIONS = "sum prod max min mean var std any all median ptp nansum nanmean nanmax nanmin".split()
REAL_ONLY = frozenset(
    "cbrt floor ceil trunc deg2rad rad2deg i0 signbit median ptp nanmax nanmin max min".split()
)
ALONG = "cumsum cumprod sort argsort diff argmax argmin".split()
BINARY = """
    add multiply maximum minimum equal less logical_and arctan2 hypot logaddexp fmax fmin copysign
    true_divide heaviside
""".split()
NOT_COMPLEX = frozenset("arctan2 hypot logaddexp copysign heaviside fmax fmin less".split())
NOT_BOOL = frozenset("negative sign ptp diff positive".split())


def _values(dtype, shape, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(0.1, 2.0, shape)
    if dtype.kind == "c":
        x = x + 1j * rng.uniform(-1, 1, shape)
    if dtype.kind in "ib":
        x = rng.integers(0, 2 if dtype.kind == "b" else 5, shape)
    return np.asarray(x).astype(dtype)


def _wide(x):
    """Return the values in the type that the oracle computes in."""
    return x.astype(
        {"c": np.complex128, "i": np.int64, "b": np.bool_}.get(x.dtype.kind, np.float64)
    )


def _check(names, dtype, arrays, **options):
    """Compare functions, all compiled as one program: a compilation of each would take minutes."""
    with config.enable_x64(dtype == np.float64), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        together = jit(lambda *xs: {n: getattr(jnp, n)(*xs, **options) for n in names})
        found = together(*arrays)
        for name in names:
            as_float = dtype.name == "int8" and name in FLOATING
            wide = [x.astype(float) if as_float else _wide(x) for x in arrays]
            theirs = np.asarray(getattr(np, name)(*wide, **options))
            _compare(np.asarray(found[name]), theirs, TOLERANCE.get(dtype.name, 2e-5), name)


def _compare(ours, theirs, tolerance, name):
    assert ours.shape == theirs.shape
    kind = np.complex128 if theirs.dtype.kind == "c" else np.float64
    np.testing.assert_allclose(
        ours.astype(kind), theirs.astype(kind), rtol=tolerance, atol=tolerance, err_msg=name
    )


# NumPy's own results for int8 may be in half precision; these are computed in float64.
FLOATING = frozenset([
    *"exp expm1 log1p sqrt cbrt sin cos tan arctan sinh cosh tanh arcsinh deg2rad rad2deg".split(),
    *"exp2 sinc i0 mean var std median arctan2 hypot logaddexp copysign true_divide".split(),
    *"heaviside reciprocal".split(),
])  # fmt: skip


NOT_EMPTY = frozenset("max min median ptp nanmax nanmin argmax argmin mean nanmean var std".split())


def _skipped(name, dtype, shape):
    return (
        (dtype.kind == "c" and (name in REAL_ONLY or name in NOT_COMPLEX))
        or (dtype.kind == "b" and (name in NOT_BOOL or name in FLOATING))
        or (dtype.kind == "b" and name in ("square", "trunc", "floor", "ceil", "rint", "imag"))
        or (dtype.name == "bfloat16" and name in ("prod", "cumprod"))
        or (0 in shape and name in NOT_EMPTY)
        or (name in "ravel transpose".split() and not shape)
        or (dtype.kind == "i" and name == "reciprocal")
    )


def _allowed(names, dtype, shape):
    return [name for name in names if not _skipped(name, dtype, shape)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_elementwise_functions(dtype, shape):
    _check(_allowed(UNARY, dtype, shape), dtype, [_values(dtype, shape)])


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_functions_of_two_arrays(dtype, shape):
    arrays = [_values(dtype, shape), _values(dtype, shape[-1:], seed=1)]
    _check(_allowed(BINARY, dtype, shape), dtype, arrays)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_reductions(dtype, shape):
    _check(_allowed(REDUCTIONS, dtype, shape), dtype, [_values(dtype, shape)])


@pytest.mark.parametrize("axis", [0, -1, (0, 2)], ids=str)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_reductions_along_axes_that_are_kept(dtype, axis):
    shape = (2, 3, 5)
    _check(_allowed(REDUCTIONS, dtype, shape), dtype, [_values(dtype, shape)], axis=axis,
           keepdims=True)  # fmt: skip


@pytest.mark.parametrize("axis", [0, -1], ids=str)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_functions_along_an_axis(dtype, axis):
    for name in ALONG:
        if _skipped(name, dtype, (3, 4)) or (dtype.kind == "c" and name.startswith("arg")):
            continue
        options = {"kind": "stable"} if name == "argsort" else {}
        x = _values(dtype, (3, 4))
        with config.enable_x64(dtype == np.float64):
            ours = np.asarray(getattr(jnp, name)(x, axis=axis))
        theirs = getattr(np, name)(_wide(x), axis=axis, **options)
        tolerance = TOLERANCE.get(dtype.name, 0)
        np.testing.assert_allclose(
            ours.astype(theirs.dtype), theirs, rtol=tolerance, atol=tolerance
        )


@pytest.mark.parametrize("axis", [None, 0, 1, (0, 1)], ids=str)
@pytest.mark.parametrize("method", ["linear", "lower", "higher", "midpoint", "inverted_cdf"])
def test_quantiles(method, axis):
    x = _values(np.dtype(np.float64), (5, 6, 2))
    q = np.array([0.1, 0.5, 0.93])
    with config.enable_x64(True):
        ours = jnp.quantile(x, q, axis, method=method)
        one = jnp.quantile(x, 0.3, axis, method=method, keepdims=True)
    np.testing.assert_allclose(ours, np.quantile(x, q, axis, method=method), rtol=1e-12)
    np.testing.assert_allclose(
        one, np.quantile(x, 0.3, axis, method=method, keepdims=True), rtol=1e-12
    )


@pytest.mark.parametrize("mode", ["edge", "reflect", "symmetric", "wrap", "mean", "linear_ramp"])
@pytest.mark.parametrize("width", [1, (0, 3), ((1, 2), (9, 0))], ids=str)
def test_pad(mode, width):
    x = _values(np.dtype(np.float32), (3, 4))
    np.testing.assert_allclose(jnp.pad(x, width, mode), np.pad(x, width, mode), rtol=1e-5)


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("sizes", [(5, 3), (3, 5), (4, 2), (2, 4), (1, 1)], ids=str)
def test_sliding_products(mode, sizes):
    a, v = (_values(np.dtype(np.complex64), (n,), seed=n) for n in sizes)
    np.testing.assert_allclose(jnp.convolve(a, v, mode), np.convolve(a, v, mode), rtol=1e-4)
    np.testing.assert_allclose(jnp.correlate(a, v, mode), np.correlate(a, v, mode), rtol=1e-4)


def test_integer_powers_wrap_like_repeated_products():
    base, exponent = np.meshgrid(np.arange(-5, 6, dtype=np.int8), np.arange(0, 20, dtype=np.int8))
    with np.errstate(all="ignore"):
        expected = np.ones_like(base)
        for k in range(20):
            expected = np.where(exponent > k, expected * base, expected)
    np.testing.assert_array_equal(jnp.power(base, exponent), expected)


def test_sinc_and_its_derivatives_are_exact_near_zero():
    x = np.array([0.0, 1e-8, 1e-3, 0.02, 0.3, 1.0, 2.5])
    with config.enable_x64(True):
        np.testing.assert_allclose(jnp.sinc(x), np.sinc(x), rtol=1e-12, atol=1e-16)


def test_frexp_and_ldexp_invert_each_other_over_the_whole_range():
    x = np.array([3.0, -7.5e37, 1.1754944e-38, 0.0, np.inf], np.float32)
    mantissa, exponent = jnp.frexp(x)
    np.testing.assert_array_equal(np.ldexp(np.asarray(mantissa), np.asarray(exponent)), x)
    np.testing.assert_array_equal(jnp.ldexp(mantissa, exponent), x)
