"""Emulated products: against rounding by hand, and against bounds from error analysis.

With unit roundoff u of the operands and v of the sums, k terms, and gamma(n) = n v / (1 - n v),
each element of a product with p parts per operand differs from the exact one by at most
(|A| |B|) (2 u^p + u^(2 p) + omitted + gamma(k + passes)): Higham, Accuracy and Stability of
Numerical Algorithms, section 3.5, with the roundings of operands added.
"""

import ml_dtypes
import numpy as np
import pytest

import tans
import tans.lax as lax
from tans_precision import emulated_matmul
from tans_precision.arithmetic import CANDIDATES, Arithmetic, arithmetic_of, cost
from tans_precision.emulation import PAIRS

UNIT = {"bf16": 2.0**-8, "f16": 2.0**-11, "tf32": 2.0**-11, "f32": 2.0**-24, "f64": 2.0**-53}
SHAPES = [(1, 1, 1), (5, 7, 3), (64, 64, 64), (3, 500, 2)]


def operands(rng, m, k, n):
    return rng.normal(size=(m, k)).astype(np.float32), rng.normal(size=(k, n)).astype(np.float32)


def bound(a, b, arithmetic):
    """Largest difference of each element from the exact product."""
    u, v, k = UNIT[arithmetic.operands], UNIT[arithmetic.sums], a.shape[1]
    pairs = PAIRS[arithmetic.passes]
    parts = 1 + max(i for pair in pairs for i in pair)
    omitted = sum(u ** (i + j) for i in range(parts) for j in range(parts) if (i, j) not in pairs)
    n = k + len(pairs)
    gamma = n * v / (1 - n * v)
    operand_rounding = 2 * u**parts + u ** (2 * parts)
    size = np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64)
    return size * (operand_rounding + omitted * (1 + u) ** 2 + gamma * (1 + 4 * u)) + 1e-30


# Where there are as many terms as the sums have digits, there is no bound.
CASES = [
    (name, shape)
    for name in CANDIDATES
    for shape in SHAPES
    if shape[1] * UNIT[arithmetic_of(name, "gpu").sums] < 1
]


@pytest.mark.parametrize(("name", "shape"), CASES)
def test_within_the_analytic_bound(name, shape, rng):
    a, b = operands(rng, *shape)
    arithmetic = arithmetic_of(name, "gpu")
    found = emulated_matmul(a, b, name)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    assert np.all(np.abs(found - exact) <= bound(a, b, arithmetic))


@pytest.mark.parametrize("shape", SHAPES)
def test_the_bound_is_not_idle(shape, rng):
    # One pass of narrow operands is far outside of the bound of three passes.
    a, b = operands(rng, 8, max(shape[1], 8), 8)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    found = emulated_matmul(a, b, "BF16_BF16_F32")
    assert np.any(np.abs(found - exact) > bound(a, b, Arithmetic("bf16", "f32", 3)))


@pytest.mark.parametrize(
    ("name", "dtype"), [("BF16_BF16_BF16", ml_dtypes.bfloat16), ("F16_F16_F16", np.float16)]
)
def test_narrow_sums_by_hand(name, dtype, rng):
    a, b = operands(rng, 4, 33, 5)
    left, right = a.astype(dtype), b.astype(dtype)
    total = np.zeros((4, 5), dtype)
    for k in range(33):
        # The product of two such numbers is exact in float32, and so is the sum before rounding
        # but for digits that don't change it, which float64 keeps.
        term = np.outer(left[:, k].astype(np.float64), right[k].astype(np.float64))
        total = (total.astype(np.float64) + term).astype(dtype)
    np.testing.assert_array_equal(emulated_matmul(a, b, name), total.astype(np.float64))


@pytest.mark.parametrize(
    ("name", "dtype"), [("BF16_BF16_F32", ml_dtypes.bfloat16), ("F16_F16_F32", np.float16)]
)
def test_narrow_operands_by_hand(name, dtype, rng):
    a, b = operands(rng, 6, 40, 5)
    expected = a.astype(dtype).astype(np.float32) @ b.astype(dtype).astype(np.float32)
    np.testing.assert_array_equal(emulated_matmul(a, b, name), expected)


def test_three_passes_by_hand(rng):
    a, b = operands(rng, 6, 40, 5)
    bf16 = ml_dtypes.bfloat16
    high = [x.astype(bf16).astype(np.float32) for x in (a, b)]
    low = [(x - h).astype(bf16).astype(np.float32) for x, h in zip((a, b), high, strict=True)]
    expected = (low[0] @ high[1] + high[0] @ low[1]) + high[0] @ high[1]
    np.testing.assert_array_equal(emulated_matmul(a, b, "BF16_BF16_F32_X3"), expected)


def test_wide_arithmetic_is_numpy(rng):
    a, b = operands(rng, 6, 40, 5)
    np.testing.assert_array_equal(emulated_matmul(a, b, "F32_F32_F32"), a @ b)
    wide = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_array_equal(emulated_matmul(a, b, "F64_F64_F64"), wide)


@pytest.mark.parametrize("name", ["F16_F16_F16", "F32_F32_F32", "F64_F64_F64"])
def test_as_the_cpu_where_it_obeys(name, rng):
    a, b = operands(rng, 16, 16, 16)
    found = np.asarray(tans.jit(lambda a, b: lax.dot(a, b, precision=name))(a, b))
    scale = np.abs(a) @ np.abs(b)
    unit = {"F16_F16_F16": 2.0**-10 * 16}.get(name, 2.0**-20)
    assert np.all(np.abs(found - emulated_matmul(a, b, name)) <= unit * scale)


def test_batches_and_empty_products(rng):
    a, b = rng.normal(size=(3, 4, 5)), rng.normal(size=(3, 5, 2))
    got = emulated_matmul(a, b, "BF16_BF16_BF16")
    for i in range(3):
        np.testing.assert_array_equal(got[i], emulated_matmul(a[i], b[i], "BF16_BF16_BF16"))
    for name in ("BF16_BF16_BF16", "F32_F32_F32"):
        assert emulated_matmul(np.ones((2, 0)), np.ones((0, 3)), name).tolist() == [[0.0] * 3] * 2
        assert emulated_matmul(np.ones((0, 2)), np.ones((2, 3)), name).shape == (0, 3)


@pytest.mark.parametrize(
    ("precision", "platform", "expected"),
    [
        ("default", "tpu", Arithmetic("bf16", "f32", 1)),
        ("high", "tpu", Arithmetic("bf16", "f32", 3)),
        ("highest", "tpu", Arithmetic("bf16", "f32", 6)),
        ("high", "gpu", Arithmetic("tf32", "f32")),
        ("highest", "gpu", Arithmetic("f32", "f32")),
        ("bfloat16", "cpu", Arithmetic("f32", "f32")),
        (("highest", "default"), "tpu", Arithmetic("bf16", "f32", 1)),
        (None, "gpu", Arithmetic("tf32", "f32")),
        (lax.DotAlgorithmPreset.DEFAULT, "tpu", Arithmetic("bf16", "f32", 1)),
        (lax.DotAlgorithmPreset.TF32_TF32_F32_X3, "cpu", Arithmetic("tf32", "f32", 3)),
        (
            lax.DotAlgorithm(ml_dtypes.bfloat16, ml_dtypes.bfloat16, np.float32, 1, 1, 6),
            "cpu",
            Arithmetic("bf16", "f32", 6),
        ),
    ],
)
def test_what_a_precision_means(precision, platform, expected):
    assert arithmetic_of(precision, platform) == expected


@pytest.mark.parametrize(
    "precision",
    ["ANY_F8_ANY_F8_F32", lax.DotAlgorithm(np.float16, np.float32, np.float32)],
)
def test_arithmetic_that_depends_on_operands(precision):
    with pytest.raises(ValueError, match="depends on the operands; expected levels"):
        arithmetic_of(precision, "gpu")


def test_costs_rise_along_the_candidates():
    costs = [cost(arithmetic_of(name, "gpu")) for name in CANDIDATES]
    assert costs == sorted(costs)
