"""shard_map under and around every transformation, against the same program on one device."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tans
import tans.numpy as jnp
from tans import P, lax
from tans.sharding import AxisType

RNG = np.random.default_rng(3)
X = RNG.normal(size=(8, 4)).astype(np.float32)
W = RNG.normal(size=(4, 2)).astype(np.float32)
WS = RNG.normal(size=(3, 4, 4)).astype(np.float32) / 2


def sharded(x: Any, *spec: Any, **states: Any) -> Any:
    return tans.reshard(jnp.asarray(x), P(*spec, **states))


def layer(x: Any, w: Any) -> Any:
    return jnp.tanh(x @ w)


def mapped_layer(**options: Any) -> Any:
    return tans.shard_map(layer, out_specs=P("X"), **options)


def whole(x: Any) -> np.ndarray:
    return np.asarray(tans.reshard(x, P()) if tans.typeof(x).sharding.spec.unreduced else x)


def close(got: Any, want: Any) -> None:
    leaves = zip(tans.tree.leaves(got), tans.tree.leaves(want), strict=True)
    for a, b in leaves:
        np.testing.assert_allclose(whole(a), np.asarray(b), rtol=1e-4, atol=1e-5)


CHECKS = [{}, {"check_vma": False}, {"axis_names": {"X"}}]


@pytest.mark.parametrize("options", CHECKS, ids=["checked", "unchecked", "partial"])
class TestAround:
    """Transformations of mapped functions."""

    def test_grad(self, mesh: Any, options: Any) -> None:
        loss = lambda f: lambda x, w: (f(x, w) ** 2).sum()  # noqa: E731
        want = tans.grad(loss(layer), (0, 1))(X, W)
        for run in (lambda f: f, tans.jit):
            got = run(tans.grad(loss(mapped_layer(**options)), (0, 1)))(sharded(X, "X"), sharded(W))
            close(got, want)
        assert [str(tans.typeof(g)) for g in got] == ["float32[8@X,4]", "float32[4,2]"]

    def test_jvp_and_linearize(self, mesh: Any, options: Any) -> None:
        f, x, w = mapped_layer(**options), sharded(X, "X"), sharded(W)
        close(tans.jvp(f, (x, w), (x, w)), tans.jvp(layer, (X, W), (X, W)))
        out, linear = tans.linearize(f, x, w)
        close((out, linear(x, w)), tans.jvp(layer, (X, W), (X, W)))

    def test_second_derivatives(self, mesh: Any, options: Any) -> None:
        f, x = mapped_layer(**options), sharded(X, "X")
        loss = lambda f, x: lambda w: (f(x, w) ** 2).sum()  # noqa: E731
        close(tans.hessian(loss(f, x))(sharded(W)), tans.hessian(loss(layer, X))(W))
        forward_over_reverse = lambda g, w: tans.jvp(tans.grad(g), (w,), (w,))  # noqa: E731
        close(forward_over_reverse(loss(f, x), sharded(W)), forward_over_reverse(loss(layer, X), W))

    def test_jacobians(self, mesh: Any, options: Any) -> None:
        f, x = mapped_layer(**options), sharded(X, "X")
        for jacobian in (tans.jacrev, tans.jacfwd):
            close(jacobian(lambda w: f(x, w))(sharded(W)), jacobian(lambda w: layer(X, w))(W))

    def test_checkpoint(self, mesh: Any, options: Any) -> None:
        f, x = mapped_layer(**options), sharded(X, "X")
        saved = lambda f, x: tans.grad(lambda w: tans.checkpoint(f)(x, w).sum())  # noqa: E731
        close(saved(f, x)(sharded(W)), saved(layer, X)(W))

    def test_scan_cond_and_while(self, mesh: Any, options: Any) -> None:
        f, x = mapped_layer(**options), sharded(X, "X")

        def net(f: Any, x: Any, ws: Any) -> Any:
            h = lax.scan(lambda h, w: (f(h, w), None), x, ws)[0]
            h = lax.cond(ws.sum() > 0, f, lambda h, w: h, h, ws[0])
            return lax.fori_loop(0, 2, lambda i, h: f(h, ws[1]), h)

        close(net(f, x, sharded(WS)), net(layer, X, WS))
        slope = lambda f, x: tans.grad(lambda ws: net(f, x, ws).sum())  # noqa: E731
        close(slope(f, x)(sharded(WS)), slope(layer, X)(WS))

    def test_vmap(self, mesh: Any, options: Any) -> None:
        f = mapped_layer(**options)
        xs, ws = np.stack([X, -X, 2 * X]), np.stack([W, W + 1, -W])
        over = sharded(xs, None, "X"), sharded(ws)
        close(tans.vmap(f)(*over), np.stack([layer(*p) for p in zip(xs, ws, strict=True)]))
        close(tans.vmap(f, (0, None))(over[0], sharded(W)), np.tanh(xs @ W))
        out = tans.vmap(f, (None, 0), 1)(sharded(X, "X"), over[1])
        close(out, np.stack([np.tanh(X @ w) for w in ws], 1))
        slope = tans.vmap(tans.grad(lambda w: f(sharded(X, "X"), w).sum()))
        close(slope(over[1]), tans.vmap(tans.grad(lambda w: layer(X, w).sum()))(ws))

    def test_vmap_of_a_sharded_batch(self, mesh: Any, options: Any) -> None:
        xs = np.stack([X, -X, 2 * X, X + 1])
        f = mapped_layer(**options)
        out = tans.vmap(f, (0, None))(sharded(xs, "Y", "X"), sharded(W))
        assert str(tans.typeof(out)) == "float32[4@Y,8@X,2]"
        close(out, np.tanh(xs @ W))
        slope = tans.grad(lambda w: tans.vmap(f, (0, None))(sharded(xs, "Y", "X"), w).sum())
        close(slope(sharded(W)), tans.grad(lambda w: jnp.tanh(xs @ w).sum())(W))

    def test_dead_code(self, mesh: Any, options: Any) -> None:
        f = tans.shard_map(lambda x, w: (x * 2, layer(x, w)), out_specs=P("X"), **options)
        text = tans.jit(lambda x, w: f(x, w)[0]).lower(sharded(X, "X"), sharded(W)).as_text()
        assert "tanh" not in text
        assert "dot_general" not in text

    def test_effects(self, mesh: Any, options: Any, capsys: Any) -> None:
        def body(v: Any) -> Any:
            tans.debug.print("part of {}", v[0, 0])
            return v

        mapped = tans.shard_map(body, out_specs=P("X"), **options)
        if "axis_names" in options:
            with pytest.raises(NotImplementedError, match="one over all axes"):
                mapped(sharded(X, "X"))
            return
        mapped(sharded(X, "X"))
        tans.effects_barrier()
        printed = set(capsys.readouterr().out.splitlines())
        assert printed <= {f"part of {x}" for x in (X[0, 0], X[4, 0])}


class TestPrinting:
    def lines(self, capsys: Any, body: Any, **options: Any) -> list[str]:
        tans.jit(tans.shard_map(body, out_specs=P("X"), **options))(sharded(X, "X"))
        tans.effects_barrier()
        return sorted(capsys.readouterr().out.split())

    def test_once_per_distinct_part(self, mesh: Any, capsys: Any) -> None:
        def body(v: Any) -> Any:
            tans.debug.print("{} ", lax.axis_index("X"))
            return v

        assert self.lines(capsys, body) == ["0", "1"]
        # Types that do not say what varies can't tell equal parts from others.
        assert self.lines(capsys, body, check_vma=False) == ["0"] * 4 + ["1"] * 4

    def test_in_a_loop(self, mesh: Any, capsys: Any) -> None:
        def body(v: Any) -> Any:
            def step(c: Any, i: Any) -> Any:
                tans.debug.print("{} ", i * 10 + lax.axis_index("X"))
                return c, None

            return lax.scan(step, v, jnp.arange(2))[0]

        assert self.lines(capsys, body) == ["0", "1", "10", "11"]


class TestInside:
    """Transformations in the body of a mapped function."""

    def run(self, body: Callable[..., Any], out: Any, *args: Any, **options: Any) -> Any:
        return tans.jit(tans.shard_map(body, out_specs=out, **options))(*args)

    def test_gradients_by_the_state_of_the_weights(self, mesh: Any) -> None:
        slope = lambda v, w: tans.grad(lambda w: (layer(v, w) ** 2).sum())(w)  # noqa: E731
        want = slope(X, W)
        x = sharded(X, "X")
        close(self.run(slope, P(), x, sharded(W)), want)
        close(self.run(slope, P(unreduced={"X"}), x, sharded(W, reduced={"X"})), want)
        local = lambda v, w: slope(v, lax.pcast(w, "X", to="varying"))[None]  # noqa: E731
        close(self.run(local, P("X"), x, sharded(W)), np.stack([slope(X[:4], W), slope(X[4:], W)]))

    def test_a_loss_that_is_reduced(self, mesh: Any) -> None:
        slope = lambda v: tans.grad(lambda z: lax.psum((z**2).sum(), "X"))(v)  # noqa: E731
        x = sharded(np.arange(4.0, dtype=np.float32), "X")
        close(self.run(slope, P("X"), x), np.array([0, 2, 4, 6]))
        close(self.run(slope, P("X"), x, check_vma=False), np.array([0, 4, 8, 12]))

    def test_the_seed_of_a_reduced_loss_is_one(self, mesh: Any) -> None:
        slope = lambda w: tans.grad(lambda w: w.sum())(w)  # noqa: E731
        got = self.run(slope, P(unreduced={"X"}), sharded(W, reduced={"X"}))
        close(got, np.ones_like(W))

    def test_forward_mode(self, mesh: Any) -> None:
        body = lambda v, w: tans.jvp(lambda w: layer(v, w), (w,), (w,))  # noqa: E731
        got = self.run(body, P("X"), sharded(X, "X"), sharded(W))
        close(got, tans.jvp(lambda w: layer(X, w), (W,), (W,)))

    def test_hessian(self, mesh: Any) -> None:
        def body(v: Any, w: Any) -> Any:
            local = lambda w: (layer(v, w) ** 2).sum()  # noqa: E731
            return lax.psum(tans.hessian(local)(lax.pcast(w, "X", to="varying")), "X")

        got = self.run(body, P(), sharded(X, "X"), sharded(W))
        close(got, tans.hessian(lambda w: (layer(X, w) ** 2).sum())(W))

    def test_loops(self, mesh: Any) -> None:
        def net(h: Any, ws: Any) -> Any:
            h = lax.scan(tans.checkpoint(lambda h, w: (layer(h, w), h.sum())), h, ws)[0]
            return lax.fori_loop(0, 2, lambda i, h: layer(h, ws[0]), h)

        close(self.run(net, P("X"), sharded(X, "X"), sharded(WS)), net(X, WS))
        for states in ({}, {"reduced": {"X"}}):
            f = tans.shard_map(net, out_specs=P("X"))
            loss = lambda ws, f=f: f(sharded(X, "X"), ws).sum()  # noqa: E731
            got = tans.jit(tans.grad(loss))(sharded(WS, **states))
            close(got, tans.grad(lambda ws: net(X, ws).sum())(WS))

    def test_conditions_may_vary(self, mesh: Any) -> None:
        body = lambda v: lax.cond(v.sum() > 14, lambda v: v * 2, lambda v: -v, v)  # noqa: E731
        x = np.arange(8.0, dtype=np.float32)
        want = np.concatenate([-x[:4], 2 * x[4:]])
        close(self.run(body, P("X"), sharded(x, "X")), want)
        loop = lambda v: lax.while_loop(lambda c: c.sum() < 20, lambda c: c * 2, v)  # noqa: E731
        want = np.concatenate([x[:4] * 4, x[4:]])
        close(self.run(loop, P("X"), sharded(x, "X")), want)

    def test_types_of_carries_and_branches_are_checked(self, mesh: Any) -> None:
        x = sharded(np.arange(8.0, dtype=np.float32), "X")
        with pytest.raises(TypeError, match="to='varying'"):
            self.run(lambda v: lax.fori_loop(0, 2, lambda i, c: c + v, jnp.zeros(4)), P("X"), x)
        with pytest.raises(TypeError):
            self.run(lambda v: lax.fori_loop(0, 2, lambda i, c: lax.psum(c, "X"), v), P(), x)
        branches = (lambda v: v, lambda v: jnp.zeros(4))
        with pytest.raises(TypeError):
            self.run(lambda v: lax.cond(v[0] > 0, *branches, v), P("X"), x)

    def test_vmap_names_and_mesh_axes(self, mesh: Any) -> None:
        x = sharded(X, "X")
        body = tans.vmap(lambda v: lax.psum(v, "X"))
        close(self.run(body, P(), x), X[:4] + X[4:])
        body = tans.vmap(lambda v: lax.psum(v, "i"), axis_name="i")
        want = np.repeat([X[:4].sum(0), X[4:].sum(0)], 4, 0)
        close(self.run(body, P("X"), x), want)
        body = tans.vmap(lambda v: lax.psum(v, ("i", "X")), axis_name="i")
        close(self.run(body, P(), x), np.tile(X.sum(0), (4, 1)))

    def test_custom_derivatives(self, mesh: Any) -> None:
        product = tans.custom_vjp(lambda x, w: x @ w)
        product.defvjp(
            lambda x, w: (x @ w, (x, w)),
            lambda r, ct: (ct @ r[1].T, lax.psum(r[0].T @ ct, "X")),
        )
        f = tans.shard_map(lambda x, w: product(x, w), out_specs=P("X"))
        close(tans.grad(lambda w: (f(sharded(X, "X"), w) ** 2).sum())(sharded(W)),
              tans.grad(lambda w: ((X @ w) ** 2).sum())(W))  # fmt: skip
        twice = tans.custom_jvp(lambda x: 2 * x)
        twice.defjvp(lambda p, t: (2 * p[0], 3 * t[0]))
        g = tans.shard_map(lambda x: twice(x), out_specs=P("X"))
        close(tans.grad(lambda x: g(x).sum())(sharded(X, "X")), np.full_like(X, 3))

    def test_cotangents_of_custom_rules_are_checked(self, mesh: Any) -> None:
        product = tans.custom_vjp(lambda x, w: x @ w)
        product.defvjp(lambda x, w: (x @ w, (x, w)), lambda r, ct: (ct @ r[1].T, r[0].T @ ct))
        f = tans.shard_map(lambda x, w: product(x, w), out_specs=P("X"))
        with pytest.raises(ValueError, match="vary along different manual axes"):
            tans.grad(lambda w: f(sharded(X, "X"), w).sum())(sharded(W))


class TestNesting:
    def test_one_axis_in_the_other(self, mesh: Any) -> None:
        def inner(v: Any) -> Any:
            assert tans.typeof(v).mat.varying == {"X", "Y"}
            return lax.psum(v, "Y") * lax.axis_index("Y") * 0 + lax.psum(v, "Y")

        def outer(v: Any) -> Any:
            assert str(tans.typeof(v)) == "float32[4,4@Y]{V:X}"
            inside = tans.shard_map(lambda w: lax.psum(w, "Y"), out_specs=P(), axis_names={"Y"})
            return inside(v)

        f = tans.shard_map(outer, out_specs=P("X"), axis_names={"X"})
        want = X.sum(1, keepdims=True)
        close(tans.jit(f)(sharded(X, "X", "Y")), want)
        slope = tans.jit(tans.grad(lambda x: (f(x) ** 2).sum()))(sharded(X, "X", "Y"))
        close(slope, np.broadcast_to(2 * want, X.shape))

    def test_in_auto_mode(self) -> None:
        mesh = tans.make_mesh((2, 4), ("X", "Y"), (AxisType.Auto,) * 2)

        def outer(v: Any) -> Any:
            v = lax.with_sharding_constraint(v, P(None, "Y"))
            inner = tans.shard_map(
                lambda w: lax.psum(w, "Y"), in_specs=P(None, "Y"), out_specs=P(), axis_names={"Y"}
            )
            return inner(v) * lax.axis_index("X")

        with tans.set_mesh(mesh):
            f = tans.shard_map(outer, in_specs=P("X"), out_specs=P("X"), axis_names={"X"})
            want = X.sum(1, keepdims=True) * np.repeat([0, 1], 4)[:, None]
            np.testing.assert_allclose(tans.jit(f)(X), want, rtol=1e-5)

    def test_partial_mode_keeps_explicit_types(self, mesh: Any) -> None:
        def body(v: Any, w: Any) -> Any:
            h = v @ w
            assert str(tans.typeof(h)) == "float32[4,8@Y]{V:X}"
            return tans.reshard(h, P(None, None))

        w = RNG.normal(size=(4, 8)).astype(np.float32)
        f = tans.shard_map(body, out_specs=P("X"), axis_names={"X"})
        out = tans.jit(f)(sharded(X, "X"), sharded(w, None, "Y"))
        assert str(tans.typeof(out)) == "float32[8@X,8]"
        close(out, X @ w)
        slope = tans.jit(tans.grad(lambda w: f(sharded(X, "X"), w).sum()))(sharded(w, None, "Y"))
        assert str(tans.typeof(slope)) == "float32[4,8@Y]"
        close(slope, np.broadcast_to(X.sum(0)[:, None], (4, 8)))

    @pytest.mark.parametrize("axis", ["X", "Y"])
    def test_positions_in_partial_mode(self, mesh: Any, axis: str) -> None:
        f = tans.shard_map(
            lambda v: v * 0 + lax.axis_index(axis), out_specs=P(axis), axis_names={axis}
        )
        n = mesh.shape[axis]
        out = f(sharded(np.zeros((8, 4), np.float32), axis))
        close(out, np.repeat(np.arange(n), 8 // n)[:, None] * np.ones((8, 4)))
