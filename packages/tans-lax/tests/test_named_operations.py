"""Composites, functions by platform, scaled products, local convolutions, approximate search."""

import numpy as np
import pytest

import tans_lax as lax
from tans_xla import jit, make_jaxpr

X = np.random.default_rng(0).standard_normal((3, 8)).astype(np.float32)


def scaled(x, *, factor):
    return lax.mul(x, factor)


def test_composite_is_one_operation_with_attributes():
    call = lax.composite(scaled, "my.scale", version=3)
    np.testing.assert_allclose(call(X, factor=2.0), 2 * X)
    text = jit(lambda x: call(x, factor=2.0)).lower(X).as_text()
    assert 'stablehlo.composite "my.scale"' in text
    assert "factor = 2.0" in text
    assert "version = 3" in text
    (eqn,) = make_jaxpr(lambda x: call(x, factor=2.0))(X).eqns
    assert eqn.primitive.name == "composite"


def test_composite_has_the_derivatives_and_maps_of_its_decomposition():
    import tans_autodiff as autodiff
    import tans_batching as batching

    call = lax.composite(lambda x: lax.mul(x, lax.sin(x)), "my.op")
    grad = autodiff.grad(lambda x: lax.reduce_sum(call(x), (0, 1)))(X)
    np.testing.assert_allclose(grad, np.sin(X) + X * np.cos(X), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(batching.vmap(call)(X), X * np.sin(X), rtol=1e-5)


def test_composite_names_bad_attributes():
    call = lax.composite(lambda x, *, f: x, "my.op")
    with pytest.raises(TypeError, match="attribute"):
        jit(lambda x: call(x, f=object()))(X)
    with pytest.raises(TypeError, match="decomposition"):
        lax.composite(3, "my.op")


def test_platform_dependent_compiles_one_function():
    def fn(x):
        return lax.platform_dependent(x, tpu=lax.cos, default=lax.sin)

    np.testing.assert_allclose(fn(X), np.sin(X), rtol=1e-5)
    traced = jit(fn).trace(X)
    assert "cosine" not in traced.lower(lowering_platforms=("cpu",)).as_text()
    assert "sine" not in traced.lower(lowering_platforms=("tpu",)).as_text().replace("cosine", "")


def test_platform_dependent_has_derivatives():
    import tans_autodiff as autodiff

    def fn(x):
        return lax.reduce_sum(lax.platform_dependent(x, cpu=lax.sin, gpu=lax.cos), (0, 1))

    np.testing.assert_allclose(autodiff.grad(fn)(X), np.cos(X), rtol=1e-5, atol=1e-6)


def test_platform_dependent_names_what_is_missing():
    with pytest.raises(NotImplementedError, match="cpu"):
        lax.platform_dependent(X, tpu=lax.sin)
    with pytest.raises(ValueError, match="no functions"):
        lax.platform_dependent(X)


def test_scaled_dot_multiplies_blocks_by_their_scales():
    x, y = np.ones((2, 4, 64), np.float32), np.ones((2, 64, 8), np.float32)
    scales = np.arange(1, 17, dtype=np.float32).reshape(2, 4, 2)
    out = lax.scaled_dot(x, y, lhs_scale=scales)
    assert out.dtype.name == "bfloat16"
    expected = np.broadcast_to(32 * scales.sum(-1, keepdims=True), (2, 4, 8))
    np.testing.assert_allclose(np.asarray(out, np.float32), expected, rtol=1e-2)
    text = jit(lambda x, y: lax.scaled_dot(x, y)).lower(x[0], y[0]).as_text()
    assert "xla.scaled_dot" in text
    with pytest.raises(TypeError, match="divide"):
        lax.scaled_dot(x[0], y[0], lhs_scale=np.ones((4, 3), np.float32))


@pytest.mark.parametrize(
    ("letters", "padding"), [(None, "VALID"), (("NWC", "WIO", "NWC"), [(1, 1)])]
)
def test_local_convolution_equals_loops(letters, padding):
    rng = np.random.default_rng(1)
    lhs = rng.standard_normal((2, 3, 6)).astype(np.float32)
    padded = np.pad(lhs, [(0, 0), (0, 0), (0, 0) if padding == "VALID" else (1, 1)])
    places = (padded.shape[-1] - 2) // 2 + 1
    rhs = rng.standard_normal((4, 6, places)).astype(np.float32)
    expected = np.stack(
        [rhs[:, :, i] @ padded[:, :, 2 * i : 2 * i + 2].reshape(2, 6).T for i in range(places)]
    ).transpose(2, 1, 0)
    if letters:
        lhs, rhs = np.moveaxis(lhs, 1, 2), rhs.transpose(2, 1, 0)
        expected = np.moveaxis(expected, 1, 2)
    out = lax.conv_general_dilated_local(lhs, rhs, (2,), padding, (2,), dimension_numbers=letters)
    np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("largest", [True, False])
def test_approximate_search_is_exact_on_the_cpu(axis, largest):
    find = lax.approx_max_k if largest else lax.approx_min_k
    values, indices = find(X, 2, axis)
    order = np.argsort(-X if largest else X, axis).take([0, 1], axis)
    np.testing.assert_array_equal(indices, order)
    np.testing.assert_array_equal(values, np.take_along_axis(X, order, axis))


def test_candidates_of_the_approximate_search():
    x = np.random.default_rng(2).standard_normal((2, 1000)).astype(np.float32)
    values, indices = lax.approx_max_k(x, 10, aggregate_to_topk=False)
    assert values.shape == indices.shape == (2, 256)
    assert set(np.argsort(-x[0])[:10]) <= set(np.asarray(indices)[0].tolist())


@pytest.mark.parametrize(
    ("search", "worst", "order"),
    [(lax.approx_max_k, "0xFF800000", "GT"), (lax.approx_min_k, "0x7F800000", "LT")],
)
def test_the_approximate_search_of_the_tpu_compiler(search, worst, order):
    find = jit(lambda x: search(x, 10, reduction_dimension=0, recall_target=0.5))
    text = find.trace(np.ones((64, 3), np.float32)).lower(lowering_platforms=("tpu",)).as_text()
    wanted = [
        "stablehlo.iota dim = 0 : tensor<64x3xi32>",
        f"%cst = stablehlo.constant dense<{worst}> : tensor<f32>",
        "%c = stablehlo.constant dense<-1> : tensor<i32>",
        "@ApproxTopK(%arg0, %0, %cst, %c) {api_version = 4 : i32, backend_config = {"
        "aggregate_to_topk = true, recall_target = 5.000000e-01 : f32, reduction_dim = 0 : i64, "
        "reduction_input_size_override = -1 : i64, top_k = 10 : i64}, "
        "called_computations = [@top_k_comparator]}",
        f"stablehlo.compare {order}, %arg0, %arg1, FLOAT",
        "return %1#0, %1#1 : tensor<10x3xf32>, tensor<10x3xi32>",
    ]
    for part in wanted:
        assert part in text


def test_approximate_search_has_derivatives_and_maps():
    import tans_autodiff as autodiff
    import tans_batching as batching

    grad = autodiff.grad(lambda x: lax.reduce_sum(lax.approx_max_k(x, 1)[0], (0, 1)))(X)
    largest = np.arange(8) == X.argmax(-1)[:, None]
    np.testing.assert_array_equal(grad, largest)
    for dim in (0, 1):
        out = batching.vmap(lambda x: lax.approx_max_k(x, 2)[0], in_axes=dim)(X)
        rows = np.moveaxis(X, dim, 0)
        np.testing.assert_array_equal(out, -np.sort(-rows, -1)[:, :2])


@pytest.mark.parametrize(
    ("call", "error", "facts"),
    [
        (lambda: lax.approx_max_k(np.arange(5), 2), ValueError, ["int32[5]", "floating"]),
        (lambda: lax.approx_max_k(X, 9), ValueError, ["k=9", "8"]),
        (lambda: lax.approx_max_k(X, 0), ValueError, ["k=0"]),
        (lambda: lax.approx_max_k(X, 1, recall_target=1.5), ValueError, ["1.5"]),
        (lambda: lax.approx_max_k(1.0, 1), TypeError, ["float32[]"]),
    ],
)
def test_bad_arguments_are_named(call, error, facts):
    with pytest.raises(error) as raised:
        call()
    assert all(fact in str(raised.value) for fact in facts)


def test_a_sink_keeps_what_nothing_reads():
    import tans_autodiff as autodiff
    import tans_batching as batching

    def fn(x):
        lax.dce_sink({"kept": lax.sin(x)})
        return lax.mul(x, x)

    for program in (fn, autodiff.grad(fn), jit(fn)):
        assert "sin" in str(make_jaxpr(program)(np.float32(2.0)))
    assert float(fn(np.float32(2.0))) == float(jit(fn)(np.float32(2.0))) == 4.0
    assert batching.vmap(fn)(X).shape == X.shape
    assert lax.dce_sink(X) is None


@pytest.mark.parametrize(
    ("x", "y"), [("int8", "int8"), ("int8", "float32"), ("bfloat16", "float32")]
)
def test_products_in_a_wider_dtype(x, y):
    a, b = np.full(3, 100, x), np.full(3, 3, y)
    out = lax.mul(a, b, out_dtype=np.float32)
    assert out.dtype == np.float32
    assert out.tolist() == [300.0] * 3
