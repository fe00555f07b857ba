"""Parallel training programs with the communication that each is known for.

Executions are compared with the report of `communication` and with a count of its own on the text
of the compiled program.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

import tans
import tans.numpy as jnp
from tans import P, lax
from tans.sharding import communication, expect_communication

KINDS = "all-reduce|reduce-scatter|all-gather|all-to-all|collective-permute"


def counted(fun: Callable[..., Any], *args: Any) -> dict[str, int]:
    """Count executions by kind on the compiled text, multiplying stated trip counts."""
    text = tans.jit(fun).lower(*args).compile().as_text()
    blocks = {
        m[1]: m[2]
        for m in re.finditer(r"^(?:ENTRY )?%([\w.-]+) .*?\{\n(.*?)^\}", text, re.M | re.S)
    }
    entry = re.search(r"^ENTRY %([\w.-]+)", text, re.M)
    assert entry is not None
    total: Counter[str] = Counter()

    def visit(name: str, times: int) -> None:
        for line in blocks[name].splitlines():
            kind = re.search(rf" ({KINDS})(?:-start)?\(", line)
            if kind:
                total[kind[1]] += times
            if " while(" in line:
                trips = re.search(r'known_trip_count":\{"n":"(\d+)"', line)
                body = re.search(r"body=%([\w.-]+)", line)
                assert trips is not None
                assert body is not None
                visit(body[1], times * int(trips[1]))
            elif " call(" in line:
                called = re.search(r"to_apply=%([\w.-]+)", line)
                assert called is not None
                visit(called[1], times)

    visit(entry[1], 1)
    return dict(total)


def check(expected: dict[str, int], fun: Callable[..., Any], *args: Any) -> None:
    """Compare the report, and the independent count, with what is expected."""
    expect_communication(expected, fun, *args)
    kinds: Counter[str] = Counter()
    for key, count in expected.items():
        kinds[key.partition(" ")[0]] += count
    assert counted(fun, *args) == dict(kinds)


@pytest.fixture
def mesh(eight_devices: Any) -> Iterator[Any]:
    """Two axes: data (2) and model (4)."""
    with tans.set_mesh(tans.make_mesh((2, 4), ("data", "model"), devices=eight_devices)):
        yield


def normal(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32) / 4


# ---- partial sums -------------------------------------------------------------------------------


def test_low_rank_adapter_adds_before_it_reduces(mesh: None) -> None:
    partial_sums = P(None, None, unreduced={"model"})

    def layer(x: Any, w: Any, a: Any, b: Any) -> Any:
        y = jnp.matmul(x, w, out_sharding=partial_sums)
        y += jnp.matmul(x, a @ b, out_sharding=partial_sums)
        return tans.reshard(y, P())

    x, w, a, b = normal(0, 8, 16), normal(1, 16, 8), normal(2, 16, 2), normal(3, 2, 8)
    args = [tans.reshard(v, s) for v, s in zip(
        (x, w, a, b), (P(None, "model"), P("model"), P("model"), P()), strict=True
    )]  # fmt: skip
    np.testing.assert_allclose(layer(*args), x @ w + x @ a @ b, rtol=1e-4, atol=1e-5)
    check({"all-reduce over model": 1}, layer, *args)


def test_two_heads_share_one_sum(mesh: None) -> None:
    def heads(x: Any, q: Any, k: Any) -> Any:
        x = tans.reshard(x, P("data", None, reduced={"model"}))
        return ((x @ q) ** 2).sum() + jnp.sin(x @ k).sum()

    x = tans.reshard(normal(0, 8, 16), P("data"))
    q, k = (tans.reshard(normal(i, 16, 8), P(None, "model")) for i in (1, 2))
    plain = tans.grad(lambda x, q, k: ((x @ q) ** 2).sum() + jnp.sin(x @ k).sum())
    grad = tans.grad(heads)
    np.testing.assert_allclose(grad(x, q, k), plain(x, q, k), rtol=1e-4, atol=1e-5)
    check({"all-reduce over model": 1}, grad, x, q, k)


# ---- micro-batches ------------------------------------------------------------------------------

LAYERS, MICRO_BATCHES = 3, 5


def net(ws: Any, x: Any) -> Any:
    return lax.scan(lambda x, w: (jnp.tanh(x @ w), None), x, ws)[0]


def accumulated(weights: P, ws: Any, xs: Any) -> Any:
    gradients = weights.to_cotangent()
    ws = tans.reshard(ws, weights)

    def micro_batch(total: Any, x: Any) -> Any:
        grads = tans.grad(lambda w: (net(w, x) ** 2).sum())(ws)
        assert tans.typeof(grads).sharding.spec.unreduced == gradients.unreduced
        return total + grads, None

    zeros = tans.reshard(jnp.zeros_like(ws), gradients)
    total = lax.scan(micro_batch, zeros, xs)[0]
    return tans.reshard(ws, P()) - 0.01 * tans.reshard(total, P())


def micro_batch_data() -> tuple[Any, Any]:
    ws = tans.reshard(normal(0, LAYERS, 8, 8), P())
    return ws, tans.reshard(normal(1, MICRO_BATCHES, 4, 8), P(None, "data", None))


def test_reduced_weights_communicate_once_per_step(mesh: None) -> None:
    step = partial(accumulated, P(reduced={"data"}))
    check({"all-reduce over data": 1}, step, *micro_batch_data())
    (found,) = communication(step, *micro_batch_data())
    assert found.loops == ()
    assert found.bytes == LAYERS * 8 * 8 * 4
    assert found.source.function == "accumulated"


def test_replicated_weights_communicate_per_layer_and_micro_batch(mesh: None) -> None:
    step = partial(accumulated, P())
    check({"all-reduce over data": LAYERS * MICRO_BATCHES}, step, *micro_batch_data())
    (found,) = communication(step, *micro_batch_data())
    assert [loop.trips for loop in found.loops] == [MICRO_BATCHES, LAYERS]


def test_both_steps_compute_the_same(mesh: None) -> None:
    once = accumulated(P(reduced={"data"}), *micro_batch_data())
    often = accumulated(P(), *micro_batch_data())
    np.testing.assert_allclose(once, often, rtol=1e-5, atol=1e-6)


# ---- sharded optimizer state and weights --------------------------------------------------------


def loss(w: Any, x: Any) -> Any:
    return (jnp.tanh(x @ w) ** 2).sum()


def test_zero_1_updates_shards_of_the_optimizer_state(mesh: None) -> None:
    """Each device updates its rows: sum the gradients into rows, gather the new weights."""

    def step(w: Any, momentum: Any, x: Any) -> Any:
        grads = tans.grad(loss)(tans.reshard(w, P(reduced={"data"})), x)
        momentum = 0.9 * momentum + tans.reshard(grads, P("data"))
        rows = tans.reshard(w, P("data")) - 0.1 * momentum
        return tans.reshard(rows, P()), momentum

    w, x = normal(0, 8, 4), normal(1, 16, 8)
    args = (
        tans.reshard(w, P()), tans.reshard(np.zeros_like(w), P("data")), tans.reshard(x, P("data"))
    )  # fmt: skip
    new, momentum = step(*args)
    grads = tans.grad(loss)(jnp.asarray(w), jnp.asarray(x))
    np.testing.assert_allclose(new, w - 0.1 * np.asarray(grads), rtol=1e-4, atol=1e-5)
    assert str(tans.typeof(momentum)) == "float32[8@data,4]"
    # XLA:CPU sums into rows as all-reduce and slice; see the form with psum_scatter below.
    check({"all-reduce over data": 1, "all-gather over data": 1}, step, *args)


def test_zero_1_in_manual_mode_scatters_the_sum(mesh: None) -> None:
    """The same step with its collectives written out: reduce-scatter, then all-gather."""

    def local(w: Any, momentum: Any, x: Any) -> tuple[Any, Any]:
        grads = tans.grad(loss)(w, x)  # of this device's rows of the batch
        rows = lax.psum_scatter(grads, "data", tiled=True)
        momentum = 0.9 * momentum + rows
        size = momentum.shape[0]
        own = lax.dynamic_slice_in_dim(w, lax.axis_index("data") * size, size)
        new = own - 0.1 * momentum
        return lax.all_gather(new, "data", tiled=True), momentum

    step = tans.shard_map(
        local,
        in_specs=(P(), P("data"), P("data")),
        out_specs=(P(), P("data")),
        check_vma=False,
    )
    w, x = normal(0, 8, 4), normal(1, 16, 8)
    args = (
        tans.reshard(w, P()), tans.reshard(np.zeros_like(w), P("data")), tans.reshard(x, P("data"))
    )  # fmt: skip
    new, _ = tans.jit(step)(*args)
    grads = tans.grad(loss)(jnp.asarray(w), jnp.asarray(x))
    np.testing.assert_allclose(new, w - 0.1 * np.asarray(grads), rtol=1e-4, atol=1e-5)
    check({"reduce-scatter over data": 1, "all-gather over data": 1}, step, *args)


def test_fully_sharded_weights_are_gathered_per_layer(mesh: None) -> None:
    """Forward and backward gather each layer, and its gradient is summed into rows."""

    @tans.checkpoint
    def layer(x: Any, w: Any) -> Any:
        w = tans.reshard(w, P(None, None, reduced={"data"}))
        return jnp.tanh(x @ w)

    def total(ws: Any, x: Any) -> Any:
        return (lax.scan(lambda x, w: (layer(x, w), None), x, ws)[0] ** 2).sum()

    host, x = normal(0, LAYERS, 8, 8), normal(1, 16, 8)
    ws = tans.reshard(host, P(None, "data", None))
    xs = tans.reshard(x, P("data"))
    grad = tans.grad(total)
    assert str(tans.typeof(grad(ws, xs))) == "float32[3,8@data,8]"
    plain = tans.grad(lambda ws, x: (net(ws, x) ** 2).sum())(jnp.asarray(host), jnp.asarray(x))
    np.testing.assert_allclose(grad(ws, xs), plain, rtol=1e-3, atol=1e-5)
    check(
        {"all-gather over data": 2 * LAYERS, "all-reduce over data": LAYERS}, grad, ws, xs
    )  # fmt: skip


# ---- tensor parallelism -------------------------------------------------------------------------

HEADS, WIDTH, HIDDEN = 4, 16, 32


def attention(x: Any, qkv: Any, out: Any) -> Any:
    """Attend with the heads split over `model`; the result is a partial sum there."""
    q, k, v = (jnp.einsum("btd,dhe->bthe", x, qkv[i]) for i in range(3))
    scores = jnp.einsum("bqhe,bkhe->bhqk", q, k)
    weights = jnp.exp(scores - scores.max(-1, keepdims=True))
    weights = weights / weights.sum(-1, keepdims=True)
    mixed = jnp.einsum("bhqk,bkhe->bqhe", weights, v)
    spec = P("data", None, None, unreduced={"model"})
    return jnp.einsum("bqhe,hed->bqd", mixed, out, out_sharding=spec)


def block(params: Any, x: Any) -> Any:
    """One transformer block: x [batch@data, time, width], weights split over `model`."""
    whole = P("data", None, None)
    shared = P("data", None, None, reduced={"model"})
    x = x + tans.reshard(attention(tans.reshard(x, shared), params["qkv"], params["out"]), whole)
    hidden = jnp.tanh(jnp.einsum("btd,df->btf", tans.reshard(x, shared), params["up"]))
    spec = P("data", None, None, unreduced={"model"})
    return x + tans.reshard(
        jnp.einsum("btf,fd->btd", hidden, params["down"], out_sharding=spec), whole
    )


def block_data() -> tuple[dict[str, Any], Any]:
    specs = {
        "qkv": (P(None, None, "model", None), (3, WIDTH, HEADS, 4)),
        "out": (P("model", None, None), (HEADS, 4, WIDTH)),
        "up": (P(None, "model"), (WIDTH, HIDDEN)),
        "down": (P("model", None), (HIDDEN, WIDTH)),
    }
    params = {
        name: tans.reshard(normal(i, *shape), spec)
        for i, (name, (spec, shape)) in enumerate(specs.items())
    }
    return params, tans.reshard(normal(9, 4, 6, WIDTH), P("data", None, None))


def plain_block(params: Any, x: Any) -> Any:
    """The same on one device, in NumPy and float64."""
    q, k, v = (np.einsum("btd,dhe->bthe", x, params["qkv"][i]) for i in range(3))
    scores = np.einsum("bqhe,bkhe->bhqk", q, k)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    x = x + np.einsum("bhqk,bkhe,hed->bqd", weights, v, params["out"])
    return x + np.tanh(x @ params["up"]) @ params["down"]


def test_tensor_parallel_block_reduces_twice_forward(mesh: None) -> None:
    params, x = block_data()
    host = tans.tree.map(lambda v: np.asarray(v, np.float64), (params, x))
    np.testing.assert_allclose(block(params, x), plain_block(*host), rtol=1e-4, atol=1e-5)
    check({"all-reduce over model": 2}, block, params, x)


def test_tensor_parallel_block_reduces_twice_more_backward(mesh: None) -> None:
    params, x = block_data()

    def training_loss(params: Any, x: Any) -> Any:
        params = tans.tree.map(_reduced_over_data, params)
        return lax.reduce_sum(block(params, x) ** 2, (0, 1, 2), out_sharding=P(unreduced={"data"}))

    grads, dx = tans.grad(training_loss, (0, 1))(params, x)
    assert str(tans.typeof(grads["up"])) == "float32[16,32@model]"
    assert str(tans.typeof(dx)) == "float32[4@data,6,16]"
    report = communication(tans.grad(training_loss, (0, 1)), params, x)
    # Two sums of activations forward, two of their cotangents backward.
    assert report.executions("all-reduce", "model") == 4
    # The gradients of four weights: XLA may sum several at once.
    over_data = report.executions("all-reduce", "data")
    assert over_data is not None
    assert 1 <= over_data <= 4
    assert report.executions() == 4 + over_data


def _reduced_over_data(w: Any) -> Any:
    return tans.reshard(w, tans.typeof(w).sharding.spec.update(reduced={"data"}))
