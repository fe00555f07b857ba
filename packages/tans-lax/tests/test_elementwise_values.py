"""Values of elementwise operations against NumPy and SciPy in double precision."""

import warnings

import ml_dtypes
import numpy as np
import pytest
import scipy.special

import tans_lax as lax
from tans_xla import jit

SHAPES = [(), (0,), (5,), (2, 3, 2)]
RTOL = {"float32": 2e-6, "float64": 1e-13, "bfloat16": 1.6e-2, "complex64": 3e-6, "float16": 2e-3}


def samples(shape, dtype, low, high, seed=0):
    rng = np.random.default_rng(seed)
    values = rng.uniform(low, high, shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * rng.uniform(low, high, shape)
    return np.asarray(values).astype(dtype)


def wide(x):
    kind = np.complex128 if x.dtype.kind == "c" else np.float64
    return x.astype(kind)


def check(name, fn, oracle, arrays, rtol):
    """Compare on several operand tuples with one compilation."""
    outs = jit(lambda groups: [fn(*group) for group in groups])(arrays)
    for group, out in zip(arrays, outs, strict=True):
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            expected = oracle(*map(wide, group))
        assert out.shape == np.shape(expected), name
        got = np.asarray(out)
        got = wide(got) if got.dtype.kind not in "biu" else got
        np.testing.assert_allclose(got, expected, rtol=rtol, atol=rtol * 0.5, err_msg=name)


UNARY = {
    "neg": (np.negative, -3, 3),
    "sign": (np.sign, -3, 3),
    "abs": (np.abs, -3, 3),
    "square": (np.square, -3, 3),
    "reciprocal": (np.reciprocal, 0.5, 3),
    "sqrt": (np.sqrt, 0, 9),
    "rsqrt": (lambda x: 1 / np.sqrt(x), 0.1, 9),
    "cbrt": (np.cbrt, -9, 9),
    "one_minus_square": (lambda x: 1 - x * x, -2, 2),
    "exp": (np.exp, -5, 5),
    "exp2": (np.exp2, -5, 5),
    "expm1": (np.expm1, -1e-2, 1),
    "log": (np.log, 0.1, 9),
    "log1p": (np.log1p, -0.5, 9),
    "log2": (np.log2, 0.1, 9),
    "logistic": (lambda x: 1 / (1 + np.exp(-x)), -9, 9),
    "sin": (np.sin, -5, 5),
    "cos": (np.cos, -5, 5),
    "tan": (np.tan, -1.2, 1.2),
    "asin": (np.arcsin, -1, 1),
    "acos": (np.arccos, -1, 1),
    "atan": (np.arctan, -5, 5),
    "sinh": (np.sinh, -5, 5),
    "cosh": (np.cosh, -5, 5),
    "tanh": (np.tanh, -5, 5),
    "asinh": (np.arcsinh, -5, 5),
    "acosh": (np.arccosh, 1.1, 9),
    "atanh": (np.arctanh, -0.9, 0.9),
    "floor": (np.floor, -3, 3),
    "ceil": (np.ceil, -3, 3),
    "erf": (scipy.special.erf, -3, 3),
    "erfc": (scipy.special.erfc, -3, 3),
    "erf_inv": (scipy.special.erfinv, -0.95, 0.95),
    "lgamma": (scipy.special.gammaln, 0.2, 9),
    "digamma": (scipy.special.digamma, 2, 9),
    "bessel_i1e": (scipy.special.i1e, -5, 5),
}
REAL_ONLY = {"cbrt", "floor", "ceil", "erf", "erfc", "erf_inv", "lgamma", "digamma", "bessel_i1e"}


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("name", UNARY)
def test_unary_functions_of_floats(name, dtype):
    oracle, low, high = UNARY[name]
    shapes = SHAPES if dtype == "float32" else SHAPES[2:3]
    arrays = [(samples(shape, dtype, low, high),) for shape in shapes]
    rtol = RTOL[dtype] * (8 if name in ("lgamma", "digamma", "erf_inv") else 1)
    check(name, getattr(lax, name), oracle, arrays, rtol)


@pytest.mark.parametrize("name", [n for n in UNARY if n not in REAL_ONLY])
def test_unary_functions_of_complex_numbers(name):
    oracle, low, high = UNARY[name]
    if name == "sign":
        oracle = lambda x: np.where(x == 0, 0, x / np.abs(x))  # noqa: E731
    arrays = [(samples(shape, "complex64", low, high),) for shape in ((), (2, 3, 2))]
    check(name, getattr(lax, name), oracle, arrays, RTOL["complex64"] * 4)


BINARY = {
    "add": (np.add, -3, 3),
    "sub": (np.subtract, -3, 3),
    "mul": (np.multiply, -3, 3),
    "div": (np.divide, 0.5, 3),
    "rem": (np.fmod, 0.5, 9),
    "max": (np.maximum, -3, 3),
    "min": (np.minimum, -3, 3),
    "pow": (np.power, 0.2, 3),
    "atan2": (np.arctan2, -3, 3),
    "polygamma": (lambda m, x: scipy.special.polygamma(np.round(m), x), 1, 4),
    "zeta": (scipy.special.zeta, 1.5, 5),
}


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_floats_and_rank_0_operands_are_repeated(name, dtype):
    oracle, low, high = BINARY[name]
    shapes = [
        ((), ()),
        ((5,), (5,)),
        ((0, 2), (0, 2)),
        ((2, 3, 2), ()),
        ((), (3,)),
        ((2, 3), (1, 3)),
    ]
    arrays = [(samples(a, dtype, low, high, 1), samples(b, dtype, low, high, 2)) for a, b in shapes]
    if name == "polygamma":
        arrays = [(np.round(wide(a)).astype(dtype), b) for a, b in arrays]
    loose = 40 if name in ("polygamma", "zeta") else 2
    check(name, getattr(lax, name), oracle, arrays, RTOL[dtype] * loose)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32"])
def test_integer_arithmetic_wraps_and_divides_towards_zero(dtype):
    rng = np.random.default_rng(0)
    info = np.iinfo(dtype)
    x = rng.integers(info.min, info.max, (3, 4), dtype, endpoint=True)
    y = rng.integers(1, 100, (3, 4)).astype(dtype)

    def all_of(x, y):
        return (
            lax.add(x, y), lax.sub(x, y), lax.mul(x, y), lax.div(x, y), lax.rem(x, y),
            lax.max(x, y), lax.min(x, y), lax.neg(x), lax.sign(x), lax.square(x),
            lax.integer_pow(x, 3), lax.integer_pow(x, 0),
        )  # fmt: skip

    with np.errstate(over="ignore"):
        expected = (
            x + y, x - y, x * y, np.trunc(x.astype(float) / y).astype(dtype), np.fmod(x, y),
            np.maximum(x, y), np.minimum(x, y), -x, np.sign(x), x * x, x * x * x, np.ones_like(x),
        )  # fmt: skip
    for got, want in zip(jit(all_of)(x, y), expected, strict=True):
        assert got.dtype == np.dtype(dtype)
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "bool"])
def test_bits(dtype):
    rng = np.random.default_rng(1)
    x, y = (rng.integers(0, 2 if dtype == "bool" else 120, (2, 5)).astype(dtype) for _ in "xy")
    got = jit(lambda x, y: (lax.bitwise_not(x), lax.bitwise_and(x, y), lax.bitwise_or(x, y),
                            lax.bitwise_xor(x, y)))(x, y)  # fmt: skip
    for a, b in zip(got, (~x, x & y, x | y, x ^ y), strict=True):
        np.testing.assert_array_equal(a, b)


def test_shifts_and_counts_of_bits():
    x = np.array([1, -8, 7, 2**30], np.int32)
    n = np.array([3, 1, 40, 1], np.int32)
    got = jit(
        lambda x, n: (
            lax.shift_left(x, n), lax.shift_right_arithmetic(x, n), lax.shift_right_logical(x, n),
            lax.population_count(x), lax.clz(x), lax.mulhi(x, x),
        )
    )(x, n)  # fmt: skip
    want = (
        [8, -16, 0, -(2**31)], [0, -4, 0, 2**29], [0, 2**31 - 4, 0, 2**29],
        [1, 29, 3, 1], [31, 0, 29, 1], [0, 0, 0, 2**28],
    )  # fmt: skip
    for a, b in zip(got, want, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("dtype", ["float32", "int8", "uint32", "bool", "complex64", "bfloat16"])
def test_comparisons(dtype):
    x = np.array([0, 1, 1, 0, 1]).astype(dtype)
    y = np.array([0, 1, 0, 1, 1]).astype(dtype)
    names = ("eq", "ne") if dtype == "complex64" else ("eq", "ne", "lt", "le", "gt", "ge")
    got = jit(lambda x, y: [getattr(lax, n)(x, y) for n in names])(x, y)
    for name, out in zip(names, got, strict=True):
        numpy_name = {"eq": "__eq__", "ne": "__ne__", "lt": "__lt__", "le": "__le__"}.get(name)
        want = getattr(x, numpy_name or f"__{name}__")(y)
        np.testing.assert_array_equal(out, want, name)


def test_comparisons_with_nan_and_total_order():
    x = np.array([np.nan, -0.0, 1.0], np.float32)
    y = np.array([np.nan, 0.0, np.nan], np.float32)
    eq, ne, lt, lt_total, eq_total = jit(
        lambda x, y: (lax.eq(x, y), lax.ne(x, y), lax.lt(x, y), lax.lt_to_p.bind(x, y),
                      lax.eq_to_p.bind(x, y))
    )(x, y)  # fmt: skip
    assert eq.tolist() == [False, True, False]
    assert ne.tolist() == [True, False, True]
    assert lt.tolist() == [False, False, False]
    assert lt_total.tolist() == [False, True, True]
    assert eq_total.tolist() == [True, False, False]


def test_parts_of_complex_numbers():
    z = samples((3, 2), "complex64", -2, 2)
    got = jit(lambda z: (lax.real(z), lax.imag(z), lax.conj(z), lax.complex(lax.imag(z), 2.0),
                         lax.conj(lax.real(z))))(z)  # fmt: skip
    for a, b in zip(got, (z.real, z.imag, z.conj(), z.imag + 2j, z.real + 0j), strict=True):
        np.testing.assert_array_equal(a, b)
    assert got[-1].dtype == np.complex64


def test_complex_order_is_lexicographic():
    x = np.array([1 + 2j, 1 + 1j, 0j], np.complex64)
    y = np.array([1 + 1j, 1 + 2j, 1j], np.complex64)
    larger, smaller = jit(lambda x, y: (lax.max(x, y), lax.min(x, y)))(x, y)
    assert larger.tolist() == [1 + 2j, 1 + 2j, 1j]
    assert smaller.tolist() == [1 + 1j, 1 + 1j, 0j]


def test_complex_sine_keeps_small_imaginary_parts_and_the_imaginary_axis():
    z = np.array([1 + 1e-6j, 100j, 1e-7 + 1e-7j], np.complex64)
    s, c = jit(lambda z: (lax.sin(z), lax.cos(z)))(z)
    np.testing.assert_allclose(np.asarray(s).imag[[0, 2]], np.sin(wide(z)).imag[[0, 2]], rtol=1e-5)
    np.testing.assert_allclose(np.imag(c)[0], np.cos(wide(z)).imag[0], rtol=1e-5)
    assert np.real(s)[1] == 0
    assert np.imag(c)[1] == 0


def test_absolute_value_of_complex_numbers_neither_overflows_nor_vanishes():
    z = np.array([3e30 + 4e30j, 3e-30 + 4e-30j, 0, np.inf + 1j], np.complex64)
    np.testing.assert_allclose(lax.abs(z), [5e30, 5e-30, 0, np.inf], rtol=1e-6)


def test_rounding():
    x = np.array([-2.5, -0.5, 0.5, 1.5, 2.4], np.float32)
    away, even, finite, after, low = jit(
        lambda x: (
            lax.round(x), lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN), lax.is_finite(x),
            lax.nextafter(x, 9.0), lax.reduce_precision(x, 8, 1),
        )
    )(x)  # fmt: skip
    assert away.tolist() == [-3, -1, 1, 2, 2]
    assert even.tolist() == [-2, 0, 0, 2, 2]
    assert finite.tolist() == [True] * 5
    np.testing.assert_array_equal(after, np.nextafter(x, np.float32(9)))
    assert low.tolist() == [-2, -0.5, 0.5, 1.5, 2]
    assert lax.is_finite(np.float32(np.inf)).tolist() is False
    powers = lax.reduce_precision(np.array([1.6, 3.1, 0.4, -1.4], np.float32), 8, 0)
    assert powers.tolist() == [2, 4, 0.5, -1]


def test_powers_with_integer_exponents():
    x = np.array([-1.5, 0.0, 2.0], np.float32)
    for n in (-3, -1, 0, 1, 2, 5, 10):
        with np.errstate(divide="ignore"):
            np.testing.assert_allclose(lax.integer_pow(x, n), x.astype(float) ** n, rtol=1e-6)
    n = np.array([2, 0, -1], np.int32)
    np.testing.assert_allclose(lax.pow(x, n), [2.25, 1, 0.5])
    np.testing.assert_allclose(lax.pow(x, 2), x**2)
    np.testing.assert_allclose(lax.pow(2.0, x), 2**x)


def test_select_and_clamp():
    which = np.array([2, 0, 1, 3], np.int32)
    cases = [np.full(4, i, np.float32) for i in range(4)]
    assert lax.select_n(which, *cases).tolist() == [2, 0, 1, 3]
    assert lax.select_n(np.array([-1, 9, 1, 0], np.int32), *cases).tolist() == [0, 3, 1, 0]
    assert lax.select_n(np.int32(2), *cases).tolist() == [2] * 4
    assert lax.select_n(np.uint8(3), *cases).tolist() == [3] * 4
    assert lax.select(np.array([True, False, True, False]), cases[1], cases[3]).tolist() == [
        1, 3, 1, 3,
    ]  # fmt: skip
    assert lax.clamp(1.0, np.array([0, 1.5, 3], np.float32), 2.0).tolist() == [1, 1.5, 2]
    assert lax.clamp(np.array([1, 2, 3]), np.array([0, 9, 3]), 5).tolist() == [1, 5, 3]


def test_polynomials():
    x = np.array([1.0, 2.0], np.float32)
    assert lax.polynomial(x, [1.0, 0.0, 3.0]).tolist() == [4, 13]
    assert lax.polynomial(x, [5.0]).tolist() == [5, 5]
    assert lax.polynomial(x, []).tolist() == [0, 0]


def test_functions_saturate_without_nan():
    x = np.array([-1000, -100, 100, 1000], np.float32)
    assert lax.logistic(x).tolist() == [0, pytest.approx(3.8e-44, rel=0.1), 1, 1]
    assert lax.tanh(x).tolist() == [-1, -1, 1, 1]
    assert lax.expm1(x).tolist()[:2] == [-1, -1]


def test_accuracy_can_be_requested():
    x = np.float32(0.5)
    for accuracy in (lax.AccuracyMode.HIGHEST, lax.Tolerance(rtol=1e-3)):
        text = jit(lambda x: lax.sin(x, accuracy=accuracy)).lower(x).as_text()  # noqa: B023
        assert "result_accuracy" in text
    assert "result_accuracy" not in jit(lax.sin).lower(x).as_text()


def test_small_floats_compute():
    x = np.array([1, 2, 3], ml_dtypes.float8_e4m3fn)
    assert lax.add(x, x).dtype == x.dtype
    np.testing.assert_array_equal(np.asarray(lax.mul(x, 2.0)).astype(np.float32), [2, 4, 6])


def test_gamma_functions_keep_their_digits_near_their_zeros():
    x = np.array([0.9999, 1.0, 1.001, 1.9999, 2.001, -2.45702], np.float32)
    got, want = np.asarray(lax.lgamma(x), np.float64), scipy.special.gammaln(wide(x))
    np.testing.assert_allclose(got, want, rtol=2e-7)
    x = np.array([1.4616, 1.47], np.float32)
    got, want = np.asarray(lax.digamma(x), np.float64), scipy.special.digamma(wide(x))
    np.testing.assert_allclose(got, want, rtol=2e-7)
