"""Four training programs: types, values and where they communicate."""

from typing import Any

import numpy as np
import pytest

import tans
import tans.numpy as jnp
from tans import P, lax
from tans_core.errors import ShardingTypeError

REDUCED = P(reduced={"X"})
UNREDUCED = P(unreduced={"X"})


@pytest.fixture
def two(mesh: Any) -> Any:
    """A mesh of two devices along X."""
    with tans.set_mesh(tans.make_mesh((2,), ("X",))):
        yield


def loss(w: Any, x: Any) -> Any:
    return ((x @ w) ** 2).sum()


DW = [[6003.2, 7929.6], [6316.8, 8342.4], [6630.4, 8755.2], [6944.0, 9168.0]]


def data() -> tuple[Any, Any]:
    w = np.arange(8, dtype=np.float32).reshape(4, 2) / 10
    x = np.arange(32, dtype=np.float32).reshape(8, 4)
    return tans.reshard(w, P()), tans.reshard(x, P("X"))


def test_data_parallel_gradient_hides_one_all_reduce(counts: Any, two: None) -> None:
    w, x = data()
    value, (dw, dx) = tans.value_and_grad(loss, (0, 1))(w, x)
    assert float(value) == pytest.approx(11086.4)
    assert str(tans.typeof(dw)) == "float32[4,2]"
    assert str(tans.typeof(dx)) == "float32[8@X,4]"
    np.testing.assert_allclose(dw, DW, rtol=1e-6)
    np.testing.assert_allclose(np.asarray(dx)[0], [0.68, 3.16, 5.64, 8.12], rtol=1e-5)
    assert counts(tans.grad(loss), w, x) == {"all-reduce": 1}


def test_reduced_weights_make_the_all_reduce_an_equation(counts: Any, two: None) -> None:
    w, x = data()

    def named(w: Any, x: Any) -> Any:
        return loss(tans.reshard(w, P(None, None, reduced={"X"})), x)

    grad = tans.grad(named)
    last = tans.make_jaxpr(grad)(w, x).eqns[-1]
    assert last.primitive.name == "reshard"
    assert last.invars[0].aval.str_short() == "f32[4,2]{U:X}"
    np.testing.assert_array_equal(grad(w, x), tans.grad(loss)(w, x))
    assert counts(grad, w, x) == {"all-reduce": 1}


def test_gradient_of_reduced_weights_is_unreduced_and_free(counts: Any, two: None) -> None:
    w, x = data()
    grad = tans.grad(loss)(tans.reshard(w, REDUCED), x)
    assert str(tans.typeof(grad)) == "float32[4,2]{U:X}"
    parts = [np.asarray(s.data) for s in grad.addressable_shards]
    np.testing.assert_allclose(parts[0][0], [672, 880])
    np.testing.assert_allclose(parts[1][0], [5331.2, 7049.6], rtol=1e-6)
    np.testing.assert_allclose(parts[0] + parts[1], DW, rtol=1e-6)
    assert counts(tans.grad(loss), tans.reshard(w, REDUCED), x) == {}


def test_fan_out_adds_unreduced_parts_and_reduces_once(two: None) -> None:
    w, x = data()

    def both(w: Any, x: Any, y: Any) -> Any:
        w = tans.reshard(w, REDUCED)
        return (x @ w).sum() + (y @ w).sum()

    jaxpr = tans.make_jaxpr(tans.grad(both))(w, x, x * 2.0)
    printed = [
        f"{e.primitive.name} {e.outvars[0].aval.str_short()}"
        for e in jaxpr.eqns
        if "U:X" in e.outvars[0].aval.str_short()
    ]
    assert printed.count("dot_general f32[4,2]{U:X}") == 2
    assert printed.count("add_any f32[4,2]{U:X}") == 1
    assert [e.primitive.name for e in jaxpr.eqns][-1] == "reshard"


def test_lora_partial_sums(two: None) -> None:
    a = tans.reshard(np.arange(4, dtype=np.float32).reshape(2, 2), P(None, "X"))
    b = tans.reshard(np.arange(4, dtype=np.float32).reshape(2, 2) + 4, P("X"))
    with pytest.raises(ShardingTypeError, match="ambiguous"):
        a @ b
    c = jnp.einsum("ij,jk->ik", a, b, out_sharding=P(None, None, unreduced={"X"}))
    assert [s.data.tolist() for s in c.addressable_shards] == [
        [[0, 0], [8, 10]],
        [[6, 7], [18, 21]],
    ]
    assert tans.reshard(c, P()).tolist() == [[6, 7], [26, 31]]
    with pytest.raises(ShardingTypeError, match="non-linear"):
        jnp.cos(c)


def test_lora_layer_sums_two_products_with_one_all_reduce(counts: Any, two: None) -> None:
    x = tans.reshard(np.ones((8, 4), np.float32), P(None, "X"))
    w = tans.reshard(np.ones((4, 4), np.float32), P("X"))
    a = tans.reshard(np.ones((4, 2), np.float32), P("X"))
    b = tans.reshard(np.ones((2, 4), np.float32), P())

    def layer(x: Any, w: Any, a: Any, b: Any) -> Any:
        partial = jnp.matmul(x, w, out_sharding=UNREDUCED)
        partial += jnp.matmul(x, a @ b, out_sharding=UNREDUCED)
        return tans.reshard(partial, P())

    np.testing.assert_array_equal(layer(x, w, a, b), np.full((8, 4), 12.0))
    assert counts(layer, x, w, a, b) == {"all-reduce": 1}


def net(ws: Any, x: Any) -> Any:
    return lax.scan(lambda x, w: (jnp.tanh(x @ w), None), x, ws)[0]


def step(ws: Any, xs: Any, accumulator: P) -> Any:
    def micro_batch(total: Any, x: Any) -> Any:
        grads = tans.grad(lambda w: (net(w, x) ** 2).sum())(ws)
        assert tans.typeof(grads).sharding.spec.unreduced == accumulator.unreduced
        return total + grads, None

    total = lax.scan(micro_batch, tans.reshard(jnp.zeros_like(ws), accumulator), xs)[0]
    return tans.reshard(ws, P()) - 0.01 * tans.reshard(total, P())


def micro_batches(weights: P) -> tuple[Any, Any]:
    ws = tans.reshard(jnp.stack([jnp.eye(4) / 2] * 3), weights)
    return ws, tans.reshard(jnp.ones((5, 2, 4)), P(None, "X", None))


def test_micro_batches_with_reduced_weights_reduce_once_per_step(
    collectives: Any, two: None
) -> None:
    ws, xs = micro_batches(REDUCED)
    found = collectives(lambda ws, xs: step(ws, xs, UNREDUCED), ws, xs)
    assert found == [("all-reduce", ())]


def test_micro_batches_with_replicated_weights_reduce_per_layer(
    collectives: Any, two: None
) -> None:
    ws, xs = micro_batches(P())
    found = collectives(lambda ws, xs: step(ws, xs, P()), ws, xs)
    assert found == [("all-reduce", (5, 3))]


def test_micro_batch_updates_agree(two: None) -> None:
    reduced = step(*micro_batches(REDUCED), UNREDUCED)
    replicated = step(*micro_batches(P()), P())
    np.testing.assert_allclose(reduced, replicated, rtol=1e-6)
    assert float(reduced.sum()) == pytest.approx(5.77409, rel=1e-5)
    np.testing.assert_allclose(np.asarray(reduced)[0, 0, :2], [0.495838, -0.0041617], rtol=1e-4)


def test_gathered_sharded_weight_gets_a_sharded_gradient(counts: Any, two: None) -> None:
    w, x = data()
    w = tans.reshard(w, P("X"))

    def fsdp(w: Any, x: Any) -> Any:
        return loss(tans.reshard(w, P(reduced={"X"})), x)

    assert str(tans.typeof(tans.grad(fsdp)(w, x))) == "float32[4@X,2]"
    np.testing.assert_allclose(tans.grad(fsdp)(w, x), DW, rtol=1e-6)
    assert counts(tans.grad(fsdp), w, x) == {"all-gather": 1, "all-reduce": 1}
