"""The numbered vectors of the precision specification."""

import threading

import ml_dtypes
import numpy as np
import pytest

import tans
import tans.lax as lax
import tans.numpy as jnp
from tans import default_matmul_precision, grad, jit, make_jaxpr
from tans.lax import DotAlgorithm, DotAlgorithmPreset, Precision

X = np.ones((4, 8), np.float32)
W = np.ones((8, 2), np.float32)
F32, F16, BF16 = np.float32, np.float16, ml_dtypes.bfloat16
HIGH = (Precision.HIGH, Precision.HIGH)
DEFAULT = (Precision.DEFAULT, Precision.DEFAULT)


def eqns_of(closed, name="dot_general"):
    return [e for e in closed.eqns if e.primitive.name == name]


def precisions(fun, *args, name="dot_general"):
    return [e.params["precision"] for e in eqns_of(make_jaxpr(fun)(*args), name)]


def dot(precision, preferred=None, function=jnp.dot):
    return lambda x, w: function(x, w, precision=precision, preferred_element_type=preferred)


def lowered(fun, *args, platform="cpu"):
    return jit(fun).trace(*args).lower(lowering_platforms=(platform,)).as_text()


def half(dtype=F16):
    return X.astype(dtype), W.astype(dtype)


def test_v1_nothing_is_printed():
    (eqn,) = eqns_of(make_jaxpr(jnp.dot)(X, W))
    assert eqn.params["precision"] is None
    assert eqn.params["preferred_element_type"] == np.float32
    assert "precision" not in str(make_jaxpr(jnp.dot)(X, W))


@pytest.mark.parametrize(
    ("given", "expected", "printed"),
    [
        ("high", HIGH, "(Precision.HIGH, Precision.HIGH)"),  # V2
        ("bfloat16_3x", HIGH, "(Precision.HIGH, Precision.HIGH)"),  # V3
        ("tensorfloat32", HIGH, "(Precision.HIGH, Precision.HIGH)"),
        ("float32", (Precision.HIGHEST,) * 2, "(Precision.HIGHEST, Precision.HIGHEST)"),  # V4
        ("fastest", DEFAULT, "(Precision.DEFAULT, Precision.DEFAULT)"),  # V5
        ("bfloat16", DEFAULT, "(Precision.DEFAULT, Precision.DEFAULT)"),
        ("default", DEFAULT, "(Precision.DEFAULT, Precision.DEFAULT)"),
        (
            ("high", "default"),  # V6
            (Precision.HIGH, Precision.DEFAULT),
            "(Precision.HIGH, Precision.DEFAULT)",
        ),
        ("BF16_BF16_F32", DotAlgorithmPreset.BF16_BF16_F32, "BF16_BF16_F32"),  # V7
        (["high", "default"], (Precision.HIGH, Precision.DEFAULT), "(Precision.HIGH"),
    ],
)
def test_v2_to_v7_canonical_forms(given, expected, printed):
    assert precisions(dot(given), X, W) == [expected]
    assert f"precision={printed}" in str(make_jaxpr(dot(given))(X, W))


@pytest.mark.parametrize(
    "given",
    [
        "bf16_bf16_f32",  # V8
        1,  # V9
        ("high", "high", "high"),  # V10
        ("high", Precision.HIGH),  # V11
        ("F32_F32_F32", "F32_F32_F32"),  # a TypeError in JAX
    ],
)
@pytest.mark.parametrize("function", [jnp.dot, lax.dot])
def test_v8_to_v11_refused(given, function):
    with pytest.raises(ValueError, match="expected None, one of the levels") as caught:
        function(X, W, precision=given)
    text = str(caught.value)
    assert f"given {given}" in text
    for part in ("'bfloat16_3x'", "Precision", "pair", "DotAlgorithmPreset", "upper-case"):
        assert part in text


def test_v12_v13_members():
    assert Precision(None) is Precision.DEFAULT
    with pytest.raises(ValueError, match="'zzz' is not a valid Precision"):
        Precision("zzz")
    assert [p.value for p in DotAlgorithmPreset] == list(range(1, 17))
    assert DotAlgorithmPreset.F64_F64_F64.value == 16


@pytest.mark.parametrize(
    "given", ["BF16_BF16_F32_X9", DotAlgorithm(F32, F32, F32)], ids=["V14", "V16"]
)
def test_v14_v15_v16_algorithms_that_cpus_lack(given):
    assert len(precisions(dot(given), X, W)) == 1
    assert tans.eval_shape(dot(given), X, W).shape == (4, 2)
    with pytest.raises(ValueError, match=r"dot_general: given precision .*the CPU lacks") as caught:
        dot(given)(X, W)
    assert str(given) in str(caught.value)


def test_v17_three_passes():
    text = lowered(dot("BF16_BF16_F32_X3"), X, W)
    assert "num_primitive_operations = 3" in text
    assert "convert" not in text
    assert "precision = [DEFAULT, DEFAULT]" in text


def test_v18_casts_to_storage():
    text = lowered(dot("F32_F32_F32"), *half())
    assert text.count("stablehlo.convert") == 3
    assert dot("F32_F32_F32")(*half()).dtype == np.float16


def test_v19_narrow_algorithm_on_cpu():
    text = lowered(dot("F16_F16_F16"), X, W)
    assert text.count("stablehlo.convert") == 3
    assert "-> tensor<4x2xf16>" in text
    rng = np.random.default_rng(0)
    a, b = (rng.normal(size=(256, 256)).astype(np.float32) for _ in range(2))
    exact = a.astype(np.float64) @ b.astype(np.float64)
    error = np.abs(dot("F16_F16_F16")(a, b) - exact).max() / np.abs(exact).max()
    assert 1e-4 < error < 1e-3


def test_v20_integers():
    x, w = X.astype(np.int32), W.astype(np.int32)
    assert dot("F32_F32_F32")(x, w).dtype == np.int32
    assert dot("F32_F32_F32")(x, w).tolist() == [[8, 8]] * 4


@pytest.mark.parametrize(("preferred", "result"), [(None, "f16"), (np.float32, "f32")])
def test_v21_v22_half_with_wide_sums(preferred, result):
    text = lowered(dot("F16_F16_F32", preferred), *half(), platform="cuda")
    assert f"-> tensor<4x2x{result}>" in text
    assert "accumulation_type = f32" in text
    assert "convert" not in text


@pytest.mark.parametrize(
    "name",
    [
        "ANY_F8_ANY_F8_F32_FAST_ACCUM",  # V23
        "ANY_F8_ANY_F8_ANY_FAST_ACCUM",  # V24: JAX says false here, against the preset's name
    ],
)
def test_v23_v24_eight_bit_presets(name):
    x, w = X.astype(ml_dtypes.float8_e4m3fn), W.astype(ml_dtypes.float8_e5m2)
    text = lowered(dot(name, np.float32, lax.dot), x, w, platform="cuda")
    assert "lhs_precision_type = f8E4M3FN, rhs_precision_type = f8E5M2" in text
    assert "accumulation_type = f32" in text
    assert "allow_imprecise_accumulation = true" in text


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("BF16_BF16_F32", DotAlgorithmPreset.BF16_BF16_F32),  # V25
        (("high", "default"), (Precision.HIGH, Precision.DEFAULT)),  # V26
    ],
)
def test_v25_v26_gradients(given, expected):
    def total(x, w):
        return jnp.sum(dot(given)(x, w))

    assert precisions(grad(total, (0, 1)), X, W) == [expected] * 3
    for eqn in eqns_of(make_jaxpr(grad(total, (0, 1)))(X, W)):
        assert eqn.params["preferred_element_type"] == np.float32


def test_v27_jvp():
    assert precisions(lambda a: tans.jvp(lambda a: dot("high")(a, W), (a,), (a,)), X) == [HIGH] * 2


@pytest.mark.parametrize(
    ("rhs_axis", "rhs_shape", "numbers"),
    [
        pytest.param(None, (8, 2), (((2,), (0,)), ((), ())), id="V28"),
        pytest.param(0, (3, 8, 2), (((2,), (1,)), ((0,), (0,))), id="V29"),
    ],
)
def test_v28_v29_vmap(rhs_axis, rhs_shape, numbers):
    batched = tans.vmap(dot("BF16_BF16_F32_X3"), (0, rhs_axis))
    closed = make_jaxpr(batched)(np.ones((3, 4, 8), F32), np.ones(rhs_shape, F32))
    (eqn,) = eqns_of(closed)
    assert eqn.params["dimension_numbers"] == numbers
    assert eqn.params["precision"] is DotAlgorithmPreset.BF16_BF16_F32_X3
    assert closed.out_avals[0].shape == (3, 4, 2)


def test_v30_einsum():
    a, b, c = np.ones((2, 3)), np.ones((3, 4)), np.ones((4, 5))
    found = precisions(
        lambda *xs: jnp.einsum("ij,jk,kl->il", *xs, precision="F32_F32_F32"), a, b, c
    )
    assert found == [DotAlgorithmPreset.F32_F32_F32] * 2


def test_v31_multi_dot():
    assert (
        precisions(lambda a: jnp.linalg.multi_dot([a, a.T, a], precision="high"), X) == [HIGH] * 2
    )


def test_v32_default_in_context():
    with default_matmul_precision("high"):
        assert precisions(jnp.dot, X, W) == [HIGH]
        assert precisions(dot("default"), X, W) == [DEFAULT]
        assert precisions(dot(None), X, W) == [HIGH]
        assert precisions(lambda x, w: x @ w, X, W) == [HIGH]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("fastest", DEFAULT),  # V33: refused by JAX here, though the argument takes it
        (Precision.HIGH, HIGH),  # V34: the same
        ("bfloat16_3x", HIGH),
        ("DEFAULT", DotAlgorithmPreset.DEFAULT),
        (DotAlgorithmPreset.F32_F32_F32, DotAlgorithmPreset.F32_F32_F32),
        (DotAlgorithm(F32, F32, F32), DotAlgorithm(F32, F32, F32)),
        (("high", "default"), (Precision.HIGH, Precision.DEFAULT)),
        ("F64_F64_F64", DotAlgorithmPreset.F64_F64_F64),
        (None, None),  # V35
    ],
)
def test_v33_v34_v35_the_default_takes_what_the_argument_takes(value, expected):
    with default_matmul_precision(value):
        assert precisions(jnp.dot, X, W) == [expected]
    tans.config.update("jax_default_matmul_precision", value)
    try:
        assert precisions(jnp.dot, X, W) == [expected]
    finally:
        tans.config.update("jax_default_matmul_precision", None)


@pytest.mark.parametrize("value", ["bogus", 1, ("high",) * 3, ("high", Precision.HIGH)])
def test_other_defaults_are_refused(value):
    with pytest.raises(ValueError, match="given"):
        default_matmul_precision(value)


def test_v36_retracing():
    traced = []

    @jit
    def f(x, w):
        traced.append(tans.config.jax_default_matmul_precision)
        return jnp.dot(x, w)

    f(X, W)
    f(X, W)
    for value in ("high", "high", "highest"):
        with default_matmul_precision(value):
            f(X, W)
    f(X, W)
    assert traced == [None, "high", "highest"]
    assert f._cache_size() == 3


def test_v37_traced_inside_lowered_outside():
    with default_matmul_precision("high"):
        traced = jit(jnp.dot).trace(X, W)
    assert "precision = [HIGH, HIGH]" in traced.lower().as_text()


def test_v38_vjp_applied_outside():
    with default_matmul_precision("high"):
        out, pullback = tans.vjp(lambda x: jnp.dot(x, W), X)
    assert precisions(pullback, out) == [HIGH]


def test_another_thread_has_its_own_default():
    seen = []
    with default_matmul_precision("high"):
        thread = threading.Thread(target=lambda: seen.append(precisions(jnp.dot, X, W)))
        thread.start()
        thread.join()
    assert seen == [[None]]


def test_v39_a_default_that_cpus_lack():
    with default_matmul_precision("F16_F16_F32"):
        with pytest.raises(ValueError, match="F16_F16_F32, which the CPU lacks"):
            jnp.asarray(X) @ W
        image, kernel = np.ones((1, 1, 4, 4), F32), np.ones((1, 1, 2, 2), F32)
        assert lax.conv(image, kernel, (1, 1), "VALID").shape == (1, 1, 3, 3)


def conv(precision):
    return lambda x, w: lax.conv(x, w, (1, 1), "VALID", precision=precision)


def test_v40_conv_with_an_algorithm():
    # JAX drops the algorithm; here the operands have its type.
    image, kernel = np.ones((1, 1, 4, 4), F32), np.ones((1, 1, 2, 2), F32)
    text = lowered(conv("BF16_BF16_F32"), image, kernel)
    assert text.count("#stablehlo<precision DEFAULT>") == 2
    assert "(tensor<1x1x4x4xbf16>, tensor<1x1x2x2xbf16>) -> tensor<1x1x3x3xf32>" in text
    assert np.all(np.asarray(conv("BF16_BF16_F32")(image, kernel)) == 4.0)


def test_v41_gradients_of_conv():
    image, kernel = np.ones((1, 1, 4, 4), F32), np.ones((1, 1, 2, 2), F32)
    f = grad(lambda x, w: jnp.sum(conv("high")(x, w)), (0, 1))
    # The value itself is dead code here.
    found = precisions(f, image, kernel, name="conv_general_dilated")
    assert set(found) == {HIGH}
    assert len(found) in (2, 3)


def test_v42_cpus_ignore_the_algorithm():
    a = np.random.default_rng(0).normal(size=(64, 64)).astype(np.float32)
    np.testing.assert_array_equal(dot("BF16_BF16_F32")(a, a), dot(None)(a, a))


def test_v43_hlo_text():
    assert "algorithm=dot_bf16_bf16_f32_x3" in jit(dot("BF16_BF16_F32_X3")).lower(X, W).as_text(
        "hlo"
    )
    assert "operand_precision={high,high}" in jit(dot("high")).lower(X, W).as_text("hlo")
    text = jit(dot("DEFAULT")).lower(X, W).as_text("hlo")
    assert "algorithm" not in text


def test_v44_half_operands_keep_the_level():
    with default_matmul_precision("high"):
        assert "HIGH" in lowered(jnp.dot, *half(BF16))
        assert jnp.dot(*half(BF16)).dtype == BF16


def test_v45_an_algorithm_that_no_hardware_has():
    algorithm = DotAlgorithm(BF16, BF16, F32, 1, 1, 3, True)
    with pytest.raises(ValueError, match="not known to be supported on any hardware"):
        lowered(dot(algorithm), X, W, platform="tpu")


FUNCTIONS = {
    "lax.batch_matmul": lambda p: lax.batch_matmul(X[None], W[None], precision=p),
    "jnp.matmul": lambda p: jnp.matmul(X, W, precision=p),
    "jnp.tensordot": lambda p: jnp.tensordot(X, W, 1, precision=p),
    "jnp.vdot": lambda p: jnp.vdot(X[0], X[0], precision=p),
    "jnp.inner": lambda p: jnp.inner(X, X, precision=p),
    "jnp.vecdot": lambda p: jnp.vecdot(X, X, precision=p),
    "jnp.convolve": lambda p: jnp.convolve(X[0], X[0], precision=p),
    "jnp.correlate": lambda p: jnp.correlate(X[0], X[0], precision=p),
    "linalg.matmul": lambda p: jnp.linalg.matmul(X, W, precision=p),
    "linalg.tensordot": lambda p: jnp.linalg.tensordot(X, W, axes=1, precision=p),
    "linalg.vecdot": lambda p: jnp.linalg.vecdot(X, X, precision=p),
    "signal.convolve": lambda p: tans.scipy.signal.convolve(X[0], X[0], precision=p),
    "signal.convolve2d": lambda p: tans.scipy.signal.convolve2d(X, X, precision=p),
    "signal.correlate": lambda p: tans.scipy.signal.correlate(X[0], X[0], precision=p),
    "signal.correlate2d": lambda p: tans.scipy.signal.correlate2d(X, X, precision=p),
    "lax.conv_transpose": lambda p: lax.conv_transpose(
        X[None], np.ones((3, 8, 2), F32), (1,), "SAME", precision=p
    ),
    "lax.conv_general_dilated_local": lambda p: lax.conv_general_dilated_local(
        X[None, None], np.ones((1, 4, 3, 7), F32), (1, 1), "VALID", (2, 2), precision=p
    ),
    "lax.conv_general_dilated_patches": lambda p: lax.conv_general_dilated_patches(
        X[None], (2,), (1,), "VALID", precision=p
    ),
    "lax.conv_with_general_padding": lambda p: lax.conv_with_general_padding(
        X[None], np.ones((1, 4, 2), F32), (1,), ((0, 0),), None, None, precision=p
    ),
    "lax.ragged_dot": lambda p: lax.ragged_dot(X, W[None], np.array([4], np.int32), precision=p),
}
PRODUCTS = {"dot_general", "conv_general_dilated", "ragged_dot_general"}


def products(jaxpr):
    for eqn in jaxpr.eqns:
        if eqn.primitive.name in PRODUCTS:
            yield eqn
        for value in eqn.params.values():
            if hasattr(value, "eqns"):
                yield from products(value)


@pytest.mark.parametrize("given", ["highest", ("high", "default"), "F32_F32_F32"])
@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_every_function_takes_a_precision(function, given):
    found = list(products(make_jaxpr(lambda: function(given))()))
    assert found
    expected = precisions(dot(given), X, W)[0]
    assert {e.params["precision"] for e in found} == {expected}
    function(given)


@pytest.mark.parametrize("function", [jnp.matvec, jnp.vecmat])
def test_functions_without_the_argument(function):
    with pytest.raises(TypeError):
        function(X, X[0], precision="high")
