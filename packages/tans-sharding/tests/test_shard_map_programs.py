"""Mapped programs equal those on one device: values and gradients, over programs, meshes, specs."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tans
import tans.numpy as jnp
from tans import P, lax
from tans.sharding import AxisType

RNG = np.random.default_rng(0)
X = RNG.normal(size=(16, 8)).astype(np.float32)
WEIGHTS = [RNG.normal(size=(8, 8)).astype(np.float32) / 3 for _ in range(2)]
STEPS = ("matmul", "tanh", "bias", "center", "scan", "remat", "cond", "jit", "custom", "while")


class Program(NamedTuple):
    """What is drawn: a list of steps, the mesh, and how batch and weights lie on it."""

    steps: tuple[str, ...]
    sizes: tuple[int, int]
    batch: tuple[str, ...]
    weights: str
    gather: str
    check: bool
    inside: bool
    manual: frozenset[str]
    auto: bool


@st.composite
def programs(draw: Any) -> Program:
    batch = draw(st.sampled_from([(), ("X",), ("Y",), ("X", "Y"), ("Y", "X")]))
    manual = draw(st.sampled_from([frozenset(), frozenset("X"), frozenset("Y")]))
    batch = tuple(a for a in batch if not manual or a in manual)
    auto = draw(st.booleans())
    check = draw(st.booleans())
    kinds = ["replicated", "gathered"]
    if not manual and not auto:
        kinds += ["reduced"] * (len(batch) > 0 and check)
    return Program(
        steps=tuple(draw(st.lists(st.sampled_from(STEPS), min_size=1, max_size=5))),
        sizes=draw(st.sampled_from([(2, 4), (4, 2), (8, 1), (2, 2), (1, 1)])),
        batch=batch,
        weights=draw(st.sampled_from(kinds)),
        gather=draw(st.sampled_from(["varying", "invarying", "reduced"])),
        check=check,
        inside=draw(st.booleans()),
        manual=manual,
        auto=auto,
    )


@tans.custom_vjp
def doubled(h: Any) -> Any:
    return h * 2


doubled.defvjp(lambda h: (h * 2, None), lambda _, ct: (ct * 2,))


def apply(step: str, h: Any, w: Any, mean: Callable[[Any], Any], like: Callable[..., Any]) -> Any:
    """Run one step; `mean` averages over the batch, `like(c, h)` is a constant to carry with h."""
    layer = lambda h, w: jnp.tanh(h @ w)  # noqa: E731
    match step:
        case "matmul":
            return h @ w
        case "tanh":
            return jnp.tanh(h)
        case "bias":
            return h + w[0]
        case "center":
            return h - mean(h)
        case "scan":
            return lax.scan(lambda c, _: (layer(c, w), None), like(h, w), None, length=2)[0]
        case "remat":
            return tans.checkpoint(layer)(h, w)
        case "cond":
            return lax.cond(h.sum() > 0, lambda h: h * 3, lambda h: jnp.sin(h), h)
        case "jit":
            return tans.jit(layer)(h, w)
        case "custom":
            return doubled(h)
        case _:
            return lax.fori_loop(0, 2, lambda _, c: c * 1.5, h)


def on_one_device(program: Program, x: Any, ws: Any) -> Any:
    h = x
    # A condition on each device's part is another program, so it is the same on all.
    for i, step in enumerate(program.steps):
        h = apply(step, h, ws[i % 2], lambda h: h.mean(0), lambda h, w: h)
    return h


def mapped(program: Program, mesh: Any) -> Callable[..., Any]:
    """Return the same program of one device's parts."""
    weights = {"replicated": P(), "reduced": P(reduced=set(program.batch)), "gathered": P("X")}
    spec = weights[program.weights]
    if program.weights == "gathered" and program.manual and "X" not in program.manual:
        spec = P("Y")

    def gathered(w: Any) -> Any:
        if program.weights != "gathered":
            return w
        (axis,) = spec.partitions
        to = program.gather if program.check else "varying"
        if to == "reduced":
            w = lax.all_gather(w, axis, tiled=True, to="reduced")
            return lax.pcast(w, axis, to="varying")
        return lax.all_gather(w, axis, tiled=True, to=to)

    def mean(h: Any) -> Any:
        return lax.pmean(h.mean(0), program.batch) if program.batch else h.mean(0)

    def like(h: Any, w: Any) -> Any:
        missing = tans.typeof(w).mat.varying - tans.typeof(h).mat.varying
        return lax.pcast(h, tuple(missing), to="varying") if missing else h

    def body(x: Any, ws: Any) -> Any:
        h = x
        full = [gathered(w) for w in ws]
        for i, step in enumerate(program.steps):
            h = apply(step, h, full[i % 2], mean, like)
        if not program.check or program.weights != "gathered":
            return h
        # Weights that were gathered as varying make the result vary: all have the same.
        extra = tans.typeof(h).mat.varying - set(program.batch)
        return lax.pmean(h, tuple(extra)) if extra else h

    return tans.shard_map(
        body,
        mesh=mesh,
        in_specs=(P(program.batch), spec),
        out_specs=P(program.batch),
        check_vma=program.check,
        axis_names=program.manual,
    )


def placed(program: Program, mesh: Any) -> tuple[Any, list[Any]]:
    if program.auto:
        return X, list(WEIGHTS)
    kinds = {"replicated": P(), "reduced": P(reduced=set(program.batch)), "gathered": P("X")}
    spec = kinds[program.weights]
    if program.weights == "gathered" and program.manual and "X" not in program.manual:
        spec = P("Y")
    on = lambda a, s: tans.reshard(a, tans.NamedSharding(mesh, s))  # noqa: E731
    return on(X, P(program.batch)), [on(w, spec) for w in WEIGHTS]


def whole(x: Any) -> np.ndarray:
    spec = getattr(tans.typeof(x).sharding, "spec", P())
    if spec.unreduced:
        x = tans.reshard(x, tans.NamedSharding(x.sharding.mesh, P()))
    return np.asarray(x)


def close(got: Any, want: Any) -> None:
    got, want = np.asarray(got), np.asarray(want)
    np.testing.assert_allclose(got, want, rtol=2e-3, atol=2e-4 * max(1, np.abs(want).max()))


@settings(max_examples=20, deadline=None, derandomize=True)
@given(programs())
def test_values_and_gradients(program: Program) -> None:
    if "cond" in program.steps and program.batch:
        program = program._replace(steps=tuple(s for s in program.steps if s != "cond"))
    types = (AxisType.Auto if program.auto else AxisType.Explicit,) * 2
    mesh = tans.make_mesh(program.sizes, ("X", "Y"), types)
    want = on_one_device(program, X, WEIGHTS)
    loss = lambda x, ws: (on_one_device(program, x, ws) ** 2).sum()  # noqa: E731
    want_x, want_ws = tans.jit(tans.grad(loss, (0, 1)))(X, WEIGHTS)
    with tans.set_mesh(mesh):
        fun = mapped(program, mesh)
        x, ws = placed(program, mesh)
        close(tans.jit(fun)(x, ws), want)
        got_x, got_ws = tans.jit(tans.grad(lambda x, ws: (fun(x, ws) ** 2).sum(), (0, 1)))(x, ws)
        close(whole(got_x), want_x)
        for got, expected in zip(got_ws, want_ws, strict=True):
            close(whole(got), expected)


SCENARIOS = {
    "data parallel": (P("X", None), P(), "float32[4,2]", {"all-reduce": 1}),
    "reduced weights": (P("X", None), P(reduced={"X"}), "float32[4,2]{U:X}", {}),
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_communication_of_a_layer(mesh: Any, counts: Any, name: str) -> None:
    x_spec, w_spec, expected, collectives = SCENARIOS[name]
    x = tans.reshard(jnp.ones((8, 4)), x_spec)
    w = tans.reshard(jnp.ones((4, 2)), w_spec)
    layer = tans.shard_map(lambda x, w: jnp.tanh(x @ w), out_specs=P("X"))
    gradient = lambda w, x: tans.grad(lambda w: (layer(x, w) ** 2).sum())(w)  # noqa: E731
    assert str(tans.typeof(gradient(w, x))) == expected
    assert counts(gradient, w, x) == collectives


@pytest.mark.parametrize("kind", ["replicated", "reduced"])
def test_micro_batches_with_layers_in_shard_map(mesh: Any, counts: Any, kind: str) -> None:
    """Reduced weights: one all-reduce per step. Replicated: one per layer and micro-batch."""
    layers, batches = 3, 5
    spec = P() if kind == "replicated" else P(reduced={"X"})
    ws = tans.reshard(jnp.stack([jnp.eye(4) / 2] * layers), spec)
    xs = tans.reshard(jnp.ones((batches, 2, 4)), P(None, "X"))
    zero = P() if kind == "replicated" else P(unreduced={"X"})
    layer = tans.shard_map(lambda x, w: jnp.tanh(x @ w), out_specs=P("X"))

    def net(ws: Any, x: Any) -> Any:
        return lax.scan(lambda h, w: (layer(h, w), None), x, ws)[0]

    def step(ws: Any, xs: Any) -> Any:
        def body(acc: Any, x: Any) -> Any:
            grads = tans.grad(lambda w: (net(w, x) ** 2).sum())(ws)
            if kind == "reduced":
                assert tans.typeof(grads).sharding.spec.unreduced == {"X"}
            return acc + grads, None

        total, _ = lax.scan(body, tans.reshard(jnp.zeros_like(ws), zero), xs)
        return tans.reshard(ws, P()) - 0.01 * tans.reshard(total, P())

    expected = 1 if kind == "reduced" else layers * batches
    assert counts(step, ws, xs) == {"all-reduce": expected}
    np.testing.assert_allclose(float(tans.jit(step)(ws, xs).sum()), 5.7741, rtol=1e-4)
