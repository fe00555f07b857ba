"""Rounding against ml_dtypes and NumPy, and against its definition."""

import ml_dtypes
import numpy as np
import pytest

from tans_precision import rounded
from tans_precision.rounding import FORMATS, split

DTYPES = {
    "bf16": ml_dtypes.bfloat16,
    "f16": np.float16,
    "f32": np.float32,
    "f8e5m2": ml_dtypes.float8_e5m2,
}


def every_float16():
    return np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype(np.float64)


def hard_floats(rng):
    """float32 values over all exponents, ties, and neighbours of ties."""
    bits = rng.integers(0, 1 << 32, 200_000, dtype=np.uint32)
    ties = (bits & np.uint32(0xFFFF0000)) | np.uint32(0x8000)
    values = np.concatenate([bits, ties, ties + 1, ties - 1]).view(np.float32)
    special = np.array([0, -0.0, np.inf, -np.inf, np.nan, 65504, 65519.99, 65520, 1e-45, 6e-8])
    return np.concatenate([values[~np.isnan(values)], special.astype(np.float32)])


@pytest.mark.parametrize("kind", DTYPES)
def test_as_ml_dtypes_and_numpy(kind, rng):
    x = np.concatenate([hard_floats(rng).astype(np.float64), every_float16()])
    with np.errstate(over="ignore", invalid="ignore"):
        # All values here are float32, so the cast rounds once.
        expected = x.astype(np.float32).astype(DTYPES[kind]).astype(np.float64)
    np.testing.assert_array_equal(rounded(x, kind), expected)
    assert np.array_equal(np.signbit(rounded(x, kind)[x == 0]), np.signbit(x[x == 0]))


def test_float8_e4m3fn_below_its_limit(rng):
    x = rng.normal(size=10_000) * 2.0 ** rng.integers(-10, 8, 10_000)
    x = x[np.abs(x) < 440].astype(np.float32)
    expected = x.astype(ml_dtypes.float8_e4m3fn).astype(np.float64)
    np.testing.assert_array_equal(rounded(x, "f8e4m3fn"), expected)


def test_tf32_by_its_bits(rng):
    x = hard_floats(rng)
    x = x[np.isfinite(x) & (np.abs(x) < 1e38)]
    bits = x.view(np.uint32).astype(np.uint64)
    kept = (bits + 0xFFF + ((bits >> 13) & 1)) & ~np.uint64(0x1FFF)  # ties to even
    expected = kept.astype(np.uint32).view(np.float32).astype(np.float64)
    np.testing.assert_array_equal(rounded(x, "tf32"), expected)


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("shape", [(), (0,), (3, 1, 5)])
def test_shapes_and_idempotence(kind, shape, rng):
    x = rng.normal(size=shape)
    once = rounded(x, kind)
    assert once.shape == shape
    assert once.dtype == np.float64
    np.testing.assert_array_equal(rounded(once, kind), once)
    assert np.all(np.abs(once - x) <= np.abs(x) * 2.0 ** -FORMATS[kind].digits + 2.0**-9)


def test_double_precision_is_unchanged():
    assert rounded(0.1, "f64") == 0.1


def test_unknown_format():
    with pytest.raises(ValueError, match=r"given kind='bfloat16', expected one of .*bf16"):
        rounded(1.0, "bfloat16")


@pytest.mark.parametrize(("kind", "count", "digits"), [("bf16", 2, 16), ("bf16", 3, 24)])
def test_parts_add_up(kind, count, digits, rng):
    x = rng.normal(size=1000).astype(np.float32).astype(np.float64)
    parts = split(x, kind, count)
    assert all(np.array_equal(rounded(p, kind), p) for p in parts)
    assert np.all(np.abs(sum(parts) - x) <= np.abs(x) * 2.0**-digits)
