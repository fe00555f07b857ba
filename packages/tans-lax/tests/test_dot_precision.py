"""Precision of products: accepted values, the default, algorithms and their lowering."""

import ml_dtypes
import numpy as np
import pytest

import tans_lax as lax
from tans_core import config_module as config
from tans_lax import DotAlgorithm, DotAlgorithmPreset, Precision
from tans_xla import jit, make_jaxpr

HIGH = (Precision.HIGH, Precision.HIGH)
F32, BF16 = np.float32, ml_dtypes.bfloat16
X, W = np.ones((4, 8), F32), np.ones((8, 2), F32)


def traced(precision, x=X, w=W):
    jaxpr = make_jaxpr(lambda x, w: lax.dot(x, w, precision=precision))(x, w)
    return jaxpr.eqns[0].params["precision"]


def lowered(precision, x=X, w=W, platform="cpu", preferred=None):
    def product(x, w):
        return lax.dot(x, w, precision=precision, preferred_element_type=preferred)

    return jit(product).trace(x, w).lower(lowering_platforms=(platform,)).as_text()


@pytest.mark.parametrize(
    ("given", "canonical"),
    [
        (None, None),
        ("high", HIGH),
        ("bfloat16_3x", HIGH),
        ("tensorfloat32", HIGH),
        ("float32", (Precision.HIGHEST,) * 2),
        ("fastest", (Precision.DEFAULT,) * 2),
        ("bfloat16", (Precision.DEFAULT,) * 2),
        (Precision.HIGH, HIGH),
        (("high", "default"), (Precision.HIGH, Precision.DEFAULT)),
        ([Precision.HIGH, Precision.HIGH], HIGH),
        ("BF16_BF16_F32", DotAlgorithmPreset.BF16_BF16_F32),
        (DotAlgorithmPreset.F32_F32_F32, DotAlgorithmPreset.F32_F32_F32),
        (DotAlgorithm(F32, F32, F32), DotAlgorithm(F32, F32, F32)),
    ],
)
def test_canonical_forms(given, canonical):
    assert traced(given) == canonical


@pytest.mark.parametrize(
    "given",
    [
        "bf16_bf16_f32",
        1,
        ("high", "high", "high"),
        ("high", Precision.HIGH),
        ("F32_F32_F32", "F32_F32_F32"),
    ],
)
def test_other_values_are_refused(given):
    with pytest.raises(ValueError, match="precision: given") as raised:
        traced(given)
    assert str(given) in str(raised.value)


def test_members_print_as_in_the_reference():
    assert repr(Precision.HIGH) == "Precision.HIGH"
    assert str(Precision.HIGH) == "HIGH"
    assert Precision("bfloat16_3x") is Precision.HIGH
    assert Precision(None) is Precision.DEFAULT
    with pytest.raises(ValueError, match="'zzz' is not a valid Precision"):
        Precision("zzz")
    assert [preset.value for preset in DotAlgorithmPreset] == list(range(1, 17))
    assert str(DotAlgorithmPreset.F32_F32_F32) == "F32_F32_F32"
    assert repr(DotAlgorithmPreset.F32_F32_F32) == "DotAlgorithmPreset.F32_F32_F32"
    assert DotAlgorithmPreset.BF16_BF16_F32.accumulation_type == np.float32
    assert DotAlgorithmPreset.ANY_F8_ANY_F8_ANY.accumulation_type is None


def test_the_configured_default_is_read_when_traced():
    with config.default_matmul_precision("high"):
        assert traced(None) == HIGH
        assert traced("default") == (Precision.DEFAULT,) * 2
        program = jit(lax.dot).trace(X, W)
    assert "HIGH" in program.lower().as_text()
    assert traced(None) is None


def test_levels_are_lowered_as_a_pair():
    assert "precision = [HIGH, DEFAULT]" in lowered(("high", "default"))
    assert "algorithm" not in lowered("high")


@pytest.mark.parametrize("name", ["BF16_BF16_F32_X9", "TF32_TF32_F32", "F16_F16_F32"])
def test_algorithms_that_cpus_lack_are_refused_when_lowered(name):
    assert traced(name) is DotAlgorithmPreset[name]
    with pytest.raises(ValueError, match=f"{name}, which the CPU lacks"):
        lowered(name)
    assert "algorithm" in lowered(name, platform="cuda")


def test_custom_algorithms_are_refused_on_cpus():
    with pytest.raises(ValueError, match=r"DotAlgorithm.*, which the CPU lacks"):
        lowered(DotAlgorithm(F32, F32, F32))
    text = lowered(DotAlgorithm(BF16, BF16, F32, 1, 1, 3), platform="cuda")
    assert text.count("stablehlo.convert") == 2
    assert "num_primitive_operations = 3" in text


def test_operands_are_cast_to_the_storage_type():
    half = [x.astype(np.float16) for x in (X, W)]
    text = lowered("F32_F32_F32", *half)
    assert text.count("stablehlo.convert") == 3
    assert "-> tensor<4x2xf16>" in text
    assert lowered("BF16_BF16_F32_X3").count("stablehlo.convert") == 0
    assert "num_primitive_operations = 3" in lowered("BF16_BF16_F32_X3")
    assert "algorithm" not in lowered("DEFAULT")


def test_integers_go_through_the_storage_type():
    x, w = X.astype(np.int32), W.astype(np.int32)
    out = lax.dot(x, w, precision="F32_F32_F32")
    assert out.dtype == np.int32
    assert np.asarray(out).tolist() == (x @ w).tolist()


def test_half_accumulation_with_a_wider_algorithm_needs_no_cast():
    half = [x.astype(np.float16) for x in (X, W)]
    for preferred in (None, np.float32):
        text = lowered("F16_F16_F32", *half, platform="cuda", preferred=preferred)
        assert text.count("stablehlo.convert") == 0
        assert "accumulation_type = f32" in text


def test_eight_bit_floats_keep_their_types():
    x = X.astype(ml_dtypes.float8_e4m3fn)
    w = W.astype(ml_dtypes.float8_e5m2)
    name = "ANY_F8_ANY_F8_F32_FAST_ACCUM"
    text = lowered(name, x, w, platform="cuda", preferred=np.float32)
    assert "lhs_precision_type = f8E4M3FN, rhs_precision_type = f8E5M2" in text
    assert "allow_imprecise_accumulation = true" in text
    with pytest.raises(ValueError, match="expected two 8-bit floats"):
        lowered(name, platform="cuda")


def test_mixed_dtypes_are_cast_except_on_tpus():
    w = W.astype(BF16)
    assert lowered(None, X, w).count("stablehlo.convert") == 1
    assert lowered(None, X, w, platform="tpu").count("stablehlo.convert") == 0


def test_derivatives_keep_the_precision():
    import tans_autodiff as autodiff

    def total(x, w):
        return lax.reduce_sum(lax.dot(x, w, precision=("high", "default")), (0, 1))

    jaxpr = make_jaxpr(autodiff.grad(total, (0, 1)))(X, W)
    kept = [e.params["precision"] for e in jaxpr.eqns if e.primitive.name == "dot_general"]
    assert kept == [(Precision.HIGH, Precision.DEFAULT)] * 3
