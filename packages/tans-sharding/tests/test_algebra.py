"""The unreduced and reduced algebra: which operation takes which state, cell by cell."""

from typing import Any

import numpy as np
import pytest

import tans
import tans.numpy as jnp
from tans import P, lax
from tans_core.errors import ShardingTypeError
from tans_core.partition_spec import UnreducedKind

VALUES = np.arange(1, 33, dtype=np.float32).reshape(8, 4) / 32
UNREDUCED = P(unreduced={"X"})
REDUCED = P(reduced={"X"})

# Linear in their operand, so that they act on addends: the result is unreduced too.
LINEAR = {
    "neg": lax.neg,
    "convert": lambda x: lax.convert_element_type(x, jnp.bfloat16),
    "reduce_precision": lambda x: lax.reduce_precision(x, 8, 10),
    "stop_gradient": lax.stop_gradient,
    "optimization_barrier": lax.optimization_barrier,
    "transpose": lambda x: x.T,
    "reshape": lambda x: x.reshape(4, 8),
    "squeeze": lambda x: x[:, None].squeeze(1),
    "broadcast": lambda x: lax.broadcast_in_dim(x, (8, 3, 4), (0, 2)),
    "slice": lambda x: lax.slice(x, (0, 0), (4, 4)),
    "split": lambda x: lax.split(x, (2, 2), 1)[0],
    "concatenate": lambda x: lax.concatenate([x, x], 0),
    "stack": lambda x: jnp.stack([x, x]),
    "pad": lambda x: lax.pad(x, np.float32(0), [(1, 1, 0), (0, 0, 1)]),
    "select": lambda x: lax.select(np.ones((8, 4), bool), x, -x),
    "dynamic_update_slice": lambda x: lax.dynamic_update_slice(x, x[:2], (0, 0)),
    "reduce_sum": lambda x: lax.reduce_sum(x, (0,)),
    "add": lambda x: x + x,
    "sub": lambda x: x - x,
    "fft": lambda x: lax.fft(lax.convert_element_type(x, np.complex64), "FFT", (4,)),
    "scan": lambda x: lax.scan(lambda c, _: (c + x, None), x, None, length=2)[0],
    "scan over": lambda x: lax.scan(lambda c, row: (c + row, -row), x[0], x)[1],
    "while": lambda x: lax.fori_loop(0, 2, lambda i, c: c + c, x),
    "cond": lambda x: lax.cond(True, lambda: x, lambda: -x),
    "jit": lambda x: tans.jit(lambda y: y + y)(x),
    "checkpoint": lambda x: tans.checkpoint(lambda y: y + y)(x),
}

NON_LINEAR = {
    "sin": jnp.sin,
    "exp": jnp.exp,
    "abs": jnp.abs,
    "sign": jnp.sign,
    "square": jnp.square,
    "integer_pow": lambda x: x**3,
    "max": lambda x: jnp.maximum(x, x),
    "pow": lambda x: lax.pow(x, x),
    "rem": lambda x: lax.rem(x, x),
    "atan2": lambda x: lax.atan2(x, x),
    "compare": lambda x: x > x,
    "clamp": lambda x: lax.clamp(0.0, x, 1.0),
    "reduce_prod": lambda x: lax.reduce_prod(x, (0,)),
    "argmax": lambda x: lax.argmax(x, 0, np.int32),
    "cumsum": lambda x: lax.cumsum(x, 0),
    "sort": lambda x: lax.sort(x, dimension=0),
    "top_k": lambda x: lax.top_k(x, 2),
    "gather": lambda x: x[np.array([0, 2])],
    "scatter": lambda x: x.at[np.array([0])].set(x[:1]),
    "reduce_window": lambda x: lax.reduce_window(x, 0.0, lax.add, (2, 1), (2, 1), "VALID"),
}


@pytest.mark.parametrize("fun", LINEAR.values(), ids=LINEAR.keys())
@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "jit"])
def test_linear_operation_keeps_addends(mesh: Any, counts: Any, fun: Any, compiled: bool) -> None:
    x = tans.reshard(VALUES, UNREDUCED)
    out = (tans.jit(fun) if compiled else fun)(x)
    assert tans.typeof(out).sharding.spec.unreduced == {"X"}
    with tans.set_mesh(None):
        expected = fun(jnp.asarray(VALUES))
    found = tans.reshard(out, P()).astype(np.complex64)
    np.testing.assert_allclose(found, expected.astype(np.complex64), rtol=1e-2)
    if compiled:
        assert counts(fun, x) == {}


@pytest.mark.parametrize("fun", NON_LINEAR.values(), ids=NON_LINEAR.keys())
def test_non_linear_operation_refuses_addends(mesh: Any, fun: Any) -> None:
    x = tans.reshard(VALUES, UNREDUCED)
    with pytest.raises(ShardingTypeError, match=r"reshard\(x, P\(\)\)"):
        fun(x)


REDUCED_FUNCTIONS = {
    name: fun
    for name, fun in {**LINEAR, **NON_LINEAR}.items()
    if name not in {"scatter", "reduce_window"}
}


@pytest.mark.parametrize("fun", REDUCED_FUNCTIONS.values(), ids=REDUCED_FUNCTIONS.keys())
def test_reduced_operand_acts_like_a_replicated_one(mesh: Any, fun: Any) -> None:
    x = tans.reshard(VALUES, REDUCED)
    outs = tans.tree.leaves(tans.jit(fun)(x))
    with tans.set_mesh(None):
        expected = tans.tree.leaves(fun(jnp.asarray(VALUES)))
    for out, want in zip(outs, expected, strict=True):
        assert tans.typeof(out).sharding.spec.reduced == {"X"}
        np.testing.assert_allclose(
            np.asarray(out.astype(np.complex64)), want.astype(np.complex64), rtol=1e-2
        )


def test_product_of_reduced_values_is_plain(mesh: Any) -> None:
    r = tans.reshard(VALUES, REDUCED)
    assert str(tans.typeof(r @ r.T)) == "float32[8,8]"


@pytest.mark.parametrize("swap", [False, True])
def test_addends_times_a_reduced_factor(mesh: Any, swap: bool) -> None:
    u, r = tans.reshard(VALUES, UNREDUCED), tans.reshard(VALUES, REDUCED)
    out = r * u if swap else u * r
    assert str(tans.typeof(out)) == "float32[8,4]{U:X}"
    np.testing.assert_allclose(tans.reshard(out, P()), VALUES * VALUES)


def test_quotients(mesh: Any) -> None:
    u, r = tans.reshard(VALUES, UNREDUCED), tans.reshard(VALUES, REDUCED)
    np.testing.assert_allclose(tans.reshard(u / r, P()), np.ones((8, 4)))
    with pytest.raises(ValueError, match="denominator"):
        u / 2.0
    with pytest.raises(ValueError, match="denominator"):
        r / u


def test_states_of_different_axes_combine(mesh: Any) -> None:
    u = tans.reshard(VALUES, P(unreduced={"X"}, reduced={"Y"}))
    assert str(tans.typeof(u + u)) == "float32[8,4]{U:X, R:Y}"
    r, s = (tans.reshard(x, P(p, reduced={"X"})) for x, p in ((VALUES, "Y"), (VALUES[0], None)))
    assert str(tans.typeof(r * s)) == "float32[8@Y,4]{R:X}"


def test_reduced_scalar_next_to_a_sharded_array(mesh: Any) -> None:
    s = tans.reshard(np.float32(2), REDUCED)
    with pytest.raises(ShardingTypeError, match="sharded/varying"):
        tans.reshard(VALUES, P("X")) * s


def test_different_reduced_sets(mesh: Any) -> None:
    with pytest.raises(ShardingTypeError, match="same mesh axes"):
        tans.reshard(VALUES, REDUCED) + tans.reshard(VALUES, P(reduced={"Y"}))


def test_reduction_produces_addends_only_along_reduced_dimensions(mesh: Any) -> None:
    x = tans.reshard(VALUES, P(None, "Y"))
    with pytest.raises(ShardingTypeError, match="unreduced axes along which"):
        lax.reduce_sum(x, (0,), out_sharding=P(None, unreduced={"Y"}))
    out = lax.reduce_sum(x, (1,), out_sharding=P(None, unreduced={"Y"}))
    np.testing.assert_allclose(tans.reshard(out, P()), VALUES.sum(1), rtol=1e-6)


def test_reduction_cannot_make_its_result_reduced(mesh: Any) -> None:
    with pytest.raises(ValueError, match="can't make its result reduced"):
        lax.reduce_sum(tans.reshard(VALUES, P("X")), (0,), out_sharding=P(reduced={"X"}))


def test_max_parts_have_no_cotangent_type(mesh: Any) -> None:
    spec = P(None, unreduced={"X"}, unreduced_kind=UnreducedKind.max)

    parts = lax.reduce_max(tans.reshard(VALUES, P("X")), (0,), out_sharding=spec)
    with pytest.raises(ValueError, match="no cotangent type"):
        tans.typeof(parts).to_cotangent()


@pytest.mark.parametrize(
    ("spec", "printed"),
    [
        (P("X"), "float32[8@X,4]"),
        (P(), "float32[8,4]"),
        (REDUCED, "float32[8,4]{U:X}"),
        (UNREDUCED, "float32[8,4]{R:X}"),
        (P("Y", reduced={"X"}), "float32[8@Y,4]{U:X}"),
        (P(unreduced={"X"}, reduced={"Y"}), "float32[8,4]{U:Y, R:X}"),
    ],
)
def test_cotangent_type_follows_the_primal_type(mesh: Any, spec: P, printed: str) -> None:
    x = tans.reshard(VALUES, spec)
    assert str(tans.typeof(x).to_cotangent()) == printed
    (unused,) = tans.vjp(lambda v: jnp.float32(1), x)[1](jnp.float32(1))
    assert str(tans.typeof(unused)) == printed
    tangent = tans.jvp(lambda v: v, (x,), (x,))[1]
    assert tans.typeof(tangent) is tans.typeof(x)
