"""Attention against plain NumPy in double precision."""

import numpy as np
import pytest

import tans_nn as nn
import tans_numpy as jnp
from tans_autodiff.check_grads import check_grads
from tans_batching import vmap
from tans_xla import make_jaxpr

RTOL = {"bfloat16": 5e-2, "float32": 2e-5, "float64": 1e-12}


def operands(dtype="float32", t=5, s=6, n=4, k=2, h=3):
    rng = np.random.default_rng(0)
    shapes = [(2, t, n, h), (2, s, k, h), (2, s, k, h)]
    return [jnp.asarray(rng.normal(size=shape), dtype) for shape in shapes]


def reference(query, key, value, allowed=True, bias=0.0, scale=None):
    query, key, value = (np.asarray(x, np.float64) for x in (query, key, value))
    group = query.shape[2] // key.shape[2]
    key, value = np.repeat(key, group, 2), np.repeat(value, group, 2)
    scores = np.einsum("btnh,bsnh->bnts", query, key)
    scores = scores * (query.shape[-1] ** -0.5 if scale is None else scale) + np.asarray(bias)
    scores = np.where(allowed, scores, -1e30)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return np.einsum("bnts,bsnh->btnh", weights / weights.sum(-1, keepdims=True), value)


@pytest.mark.parametrize("dtype", RTOL)
@pytest.mark.parametrize("k", [1, 2, 4])
def test_values_with_grouped_heads(dtype, k, x64):
    q, key, value = operands(dtype, k=k)
    out = nn.dot_product_attention(q, key, value)
    assert out.dtype == q.dtype
    np.testing.assert_allclose(
        np.asarray(out, np.float64), reference(q, key, value), rtol=RTOL[dtype], atol=RTOL[dtype]
    )


ROW, COLUMN = np.arange(5)[:, None], np.arange(6)[None, :]


@pytest.mark.parametrize(
    ("options", "allowed"),
    [
        ({"is_causal": True}, ROW >= COLUMN),
        ({"local_window_size": 1}, np.abs(ROW - COLUMN) <= 1),
        ({"local_window_size": (2, 0)}, (COLUMN >= ROW - 2) & (COLUMN <= ROW)),
        ({"mask": (ROW + COLUMN) % 2 == 0}, (ROW + COLUMN) % 2 == 0),
        (
            {"key_value_seq_lengths": np.array([3, 6], np.int32)},
            np.array([3, 6])[:, None, None, None] > COLUMN,
        ),
    ],
)
def test_masks(options, allowed):
    q, key, value = operands()
    out = nn.dot_product_attention(q, key, value, **options)
    np.testing.assert_allclose(out, reference(q, key, value, allowed), rtol=1e-4, atol=1e-5)


def test_queries_beyond_their_length_give_0():
    q, key, value = operands()
    out = nn.dot_product_attention(q, key, value, query_seq_lengths=np.array([3, 5], np.int32))
    expected = reference(q, key, value)
    expected[0, 3:] = 0
    np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-5)


def test_a_query_that_sees_nothing_gets_the_mean():
    q, key, value = operands(k=4)
    out = nn.dot_product_attention(q, key, value, mask=np.zeros((1, 1, 5, 6), bool))
    mean = np.broadcast_to(np.asarray(value).mean(1, keepdims=True), out.shape)
    np.testing.assert_allclose(out, mean, rtol=1e-5, atol=1e-6)


def test_bias_scale_and_residual():
    q, key, value = operands()
    bias = np.random.default_rng(1).normal(size=(1, 4, 5, 6)).astype(np.float32)
    out, total = nn.dot_product_attention(q, key, value, bias=bias, scale=0.3, return_residual=True)
    np.testing.assert_allclose(
        out, reference(q, key, value, bias=bias, scale=0.3), rtol=1e-4, atol=1e-5
    )
    assert (total.shape, total.dtype) == ((2, 5, 4), np.float32)
    half = [x.astype(np.float16) for x in (q, key, value)]
    assert nn.dot_product_attention(*half, return_residual=True)[1].dtype == np.float16


def test_without_a_batch_dimension():
    q, key, value = operands()
    out = nn.dot_product_attention(q[0], key[0], value[0])
    np.testing.assert_allclose(out, reference(q, key, value)[0], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(vmap(nn.dot_product_attention)(q, key, value)[0], out, rtol=1e-4,
                               atol=1e-5)  # fmt: skip


def test_derivatives_to_second_order(x64):
    q, key, value = operands("float64", t=2, s=3, n=2, k=1, h=2)
    check_grads(lambda *a: nn.dot_product_attention(*a, is_causal=True), (q, key, value), order=2)


def test_program_is_no_longer_than_that_of_jax():
    x = jnp.ones((1, 3, 4, 5))
    assert len(make_jaxpr(nn.dot_product_attention)(x, x, x).eqns) <= 17


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"implementation": "fast"}, ValueError),
        ({"implementation": "cudnn"}, RuntimeError),
        ({"mask": np.ones((5, 6))}, ValueError),
        ({"bias": np.ones((3, 6))}, ValueError),
        ({"query_seq_lengths": np.array([1.0, 2.0])}, ValueError),
        ({"key": np.ones((2, 6, 3, 3), np.float32)}, ValueError),
    ],
)
def test_what_does_not_fit_is_refused(change, error):
    q, key, value = operands()
    given = {"query": q, "key": key, "value": value, **change}
    if "key" in change:
        given["value"] = change["key"]
    with pytest.raises(error, match="dot_product_attention"):
        nn.dot_product_attention(**given)
