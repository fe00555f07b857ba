"""Algorithms of convolutions: applied by types and levels, or refused."""

import re

import ml_dtypes
import numpy as np
import pytest

import tans_lax as lax
from tans_core import config_module as config
from tans_lax import DotAlgorithm, DotAlgorithmPreset
from tans_xla import jit

RNG = np.random.default_rng(0)
X = RNG.normal(size=(2, 3, 6, 6)).astype(np.float32)
W = RNG.normal(size=(4, 3, 2, 2)).astype(np.float32)
P = DotAlgorithmPreset


def conv(precision, preferred=None):
    return lambda x, w: lax.conv(x, w, (1, 1), "VALID", precision, preferred)


def lowered(precision, platform="cpu", x=X, w=W, preferred=None):
    traced = jit(conv(precision, preferred)).trace(x, w)
    return traced.lower(lowering_platforms=(platform,)).as_text()


def direct(x, w):
    """Sum over every window, from the definition, in double precision."""
    x, w = x.astype(np.float64), w.astype(np.float64)
    out = np.zeros((2, 4, 5, 5))
    for i in range(5):
        for j in range(5):
            out[:, :, i, j] = np.einsum("ncij,ocij->no", x[:, :, i : i + 2, j : j + 2], w)
    return out


def operand_and_result(text):
    line = next(ln for ln in text.splitlines() if "stablehlo.convolution" in ln)
    types = re.findall(r"x((?:f|bf)\d\w*)>", line)
    return types[-3:], re.findall(r"precision (\w+)>", line)


@pytest.mark.parametrize("platform", ["cpu", "tpu", "cuda"])
@pytest.mark.parametrize(
    ("name", "types"),
    [
        ("DEFAULT", ["f32", "f32", "f32"]),
        ("F16_F16_F16", ["f16", "f16", "f16"]),
        ("F16_F16_F32", ["f16", "f16", "f32"]),
        ("BF16_BF16_BF16", ["bf16", "bf16", "bf16"]),
        ("BF16_BF16_F32", ["bf16", "bf16", "f32"]),
    ],
)
def test_narrow_algorithms_are_applied_by_types(name, types, platform):
    text = lowered(name, platform)
    assert operand_and_result(text) == (types, ["DEFAULT", "DEFAULT"])
    assert "-> tensor<2x4x5x5xf32>" in text


@pytest.mark.parametrize(
    ("name", "cpu", "tpu", "cuda"),
    [
        ("BF16_BF16_F32_X3", "HIGHEST", "HIGH", "HIGHEST"),
        ("BF16_BF16_F32_X6", "HIGHEST", "HIGHEST", "HIGHEST"),
        ("BF16_BF16_F32_X9", "HIGHEST", None, "HIGHEST"),
        ("TF32_TF32_F32", "HIGH", "HIGH", "HIGH"),
        ("TF32_TF32_F32_X3", "HIGHEST", "HIGHEST", "HIGHEST"),
        ("F32_F32_F32", "HIGHEST", "HIGHEST", "HIGHEST"),
    ],
)
def test_other_algorithms_are_applied_by_the_level_that_is_as_exact(name, cpu, tpu, cuda):
    for platform, level in (("cpu", cpu), ("tpu", tpu), ("cuda", cuda)):
        if level is None:
            with pytest.raises(ValueError, match=f"{name} for {platform}, where no level"):
                lowered(name, platform)
        else:
            assert operand_and_result(lowered(name, platform)) == (["f32"] * 3, [level] * 2)


def test_double_precision():
    text = lowered("F64_F64_F64")
    assert operand_and_result(text)[0] == ["f64", "f64", "f64"]
    got = jit(conv("F64_F64_F64"))(X, W)
    np.testing.assert_array_equal(got, direct(X, W).astype(np.float32))


def test_operands_of_another_dtype_are_cast():
    x, w = X.astype(np.float16), W.astype(np.float16)
    assert operand_and_result(lowered("F32_F32_F32", x=x, w=w))[0] == ["f32"] * 3
    assert operand_and_result(lowered("BF16_BF16_F32", x=x, w=w))[0] == ["bf16", "bf16", "f32"]
    out = jit(conv("F32_F32_F32"))(X.astype(np.int32), W.astype(np.int32))
    assert out.dtype == np.int32
    np.testing.assert_array_equal(out, direct(X.astype(np.int32), W.astype(np.int32)))


@pytest.mark.parametrize(
    ("name", "dtype"),
    [("BF16_BF16_F32", ml_dtypes.bfloat16), ("F16_F16_F32", np.float16)],
)
def test_operands_are_rounded(name, dtype):
    rounded = direct(X.astype(dtype), W.astype(dtype))
    np.testing.assert_allclose(jit(conv(name))(X, W), rounded, rtol=1e-5, atol=1e-5)
    assert np.abs(rounded - direct(X, W)).max() > 1e-4


@pytest.mark.parametrize("name", [p.name for p in P if p.is_f8])
def test_eight_bit_algorithms(name):
    with pytest.raises(ValueError, match=f"{name} and operands of dtype float32.*8-bit"):
        lowered(name)
    x, w = X.astype(ml_dtypes.float8_e4m3fn), W.astype(ml_dtypes.float8_e4m3fn)
    text = lowered(name, "cuda", x, w, np.float32)
    assert operand_and_result(text)[0] == ["f8E4M3FN", "f8E4M3FN", "f32"]


def test_custom_algorithms_are_refused():
    algorithm = DotAlgorithm(np.float32, np.float32, np.float32)
    with pytest.raises(ValueError, match=r"given precision DotAlgorithm.*Name the nearest"):
        lowered(algorithm)


@pytest.mark.parametrize("function", ["conv", "dot"])
def test_complex_operands_are_refused(function):
    z = X.astype(np.complex64)
    operations = {
        "conv": lambda: lowered("F32_F32_F32", x=z, w=W.astype(np.complex64)),
        "dot": lambda: jit(lambda a: lax.dot(a, a, precision="F32_F32_F32"))(z[0, 0]),
    }
    with pytest.raises(ValueError, match="F32_F32_F32 and operands of dtype complex64"):
        operations[function]()
    assert jit(conv("highest"))(z, W.astype(np.complex64)).dtype == np.complex64


@pytest.mark.parametrize(
    "value",
    [
        *("fastest", "bfloat16_3x", "DEFAULT", lax.Precision.HIGH, P.BF16_BF16_F32),
        *(
            ("high", "default"),
            ["high", "default"],
            DotAlgorithm(np.float32, np.float32, np.float32),
        ),
        None,
    ],
)
def test_the_default_takes_what_the_argument_takes(value):
    from tans_lax.contractions.precision import canonicalize_precision

    with config.default_matmul_precision(value):
        assert canonicalize_precision(None) == canonicalize_precision(value)
        hash(config.default_matmul_precision.value)
    assert config.default_matmul_precision.value is None


@pytest.mark.parametrize("value", ["bogus", 1, ("high",), ("high", "zzz"), "high "])
def test_other_defaults_are_refused(value):
    with pytest.raises(ValueError, match="given"):
        config.default_matmul_precision(value)
    with pytest.raises(ValueError, match="given"):
        config.update("jax_default_matmul_precision", value)


def test_fast_accumulation_of_any_type_is_imprecise():
    x = np.ones((2, 2), ml_dtypes.float8_e4m3fn)
    name = "ANY_F8_ANY_F8_ANY_FAST_ACCUM"
    program = jit(lambda a: lax.dot(a, a, precision=name, preferred_element_type=np.float32))
    text = program.trace(x).lower(lowering_platforms=("cuda",)).as_text()
    assert "allow_imprecise_accumulation = true" in text
