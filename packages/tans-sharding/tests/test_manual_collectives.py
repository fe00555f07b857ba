"""Collectives over manual axes: values against NumPy, states of results, gradients and errors."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tans
import tans.numpy as jnp
from tans import P, lax

SIZES = {"X": 2, "Y": 4}
ORDERS: list[Any] = ["X", "Y", ("X", "Y"), ("Y", "X")]
# On the 2 x 4 mesh, values of both devices along X and of all four along Y.
VALUES = np.random.default_rng(0).normal(size=(2, 4, 8, 3)).astype(np.float32)


def run(body: Callable[[Any], Any], values: np.ndarray = VALUES, **options: Any) -> np.ndarray:
    """Return ``out[x, y]``, what `body` makes of ``values[x, y]`` on the device (x, y)."""
    array = tans.reshard(jnp.asarray(values), P("X", "Y"))
    fun = tans.shard_map(lambda v: body(v[0, 0])[None, None], out_specs=P("X", "Y"), **options)
    return np.asarray(tans.jit(fun)(array))


def lined_up(values: np.ndarray, axes: Any) -> np.ndarray:
    """Return values[x, y] with the named axes merged into dimension 0, others in front."""
    names = (axes,) if isinstance(axes, str) else axes
    places = ["XY".index(a) for a in names]
    rest = [i for i in (0, 1) if i not in places]
    moved = values.transpose(*rest, *places, *range(2, values.ndim))
    count = int(np.prod([SIZES[a] for a in names]))
    return moved.reshape(*moved.shape[: len(rest)], count, *values.shape[2:])


def spread(rows: np.ndarray, axes: Any) -> np.ndarray:
    """Undo `lined_up`: from [rest..., member, ...] to [x, y, ...]."""
    names = (axes,) if isinstance(axes, str) else axes
    rest = [a for a in "XY" if a not in names]
    shape = (*(SIZES[a] for a in (*rest, *names)), *rows.shape[len(rest) + 1 :])
    order = [*rest, *names]
    full = rows.reshape(shape)
    return full.transpose(order.index("X"), order.index("Y"), *range(2, full.ndim))


def on_members(fun: Callable[[np.ndarray], np.ndarray], axes: Any) -> np.ndarray:
    """Apply ``fun(members) -> results per member`` to each group of devices."""
    rows = lined_up(VALUES, axes)
    one_left = rows.ndim == VALUES.ndim  # an axis is left over, in front
    return spread(np.stack([fun(group) for group in rows]) if one_left else fun(rows), axes)


@pytest.mark.parametrize("axes", ORDERS)
class TestValues:
    @pytest.mark.parametrize(
        ("collective", "oracle"),
        [
            (lax.psum, lambda a: a.sum(0)),
            (lax.pmean, lambda a: a.mean(0)),
            (lax.pmax, lambda a: a.max(0)),
            (lax.pmin, lambda a: a.min(0)),
        ],
    )
    def test_reductions(self, mesh: Any, axes: Any, collective: Any, oracle: Any) -> None:
        got = run(lambda v: collective(v, axes))
        want = on_members(lambda g: np.broadcast_to(oracle(g), g.shape), axes)
        np.testing.assert_allclose(got, want, rtol=1e-5)

    @pytest.mark.parametrize(("axis", "tiled"), [(0, False), (1, True), (-1, False), (0, True)])
    def test_all_gather(self, mesh: Any, axes: Any, axis: int, tiled: bool) -> None:
        got = run(lambda v: lax.all_gather(v, axes, axis=axis, tiled=tiled))
        join = np.concatenate if tiled else np.stack
        want = on_members(lambda g: np.stack([join(list(g), axis)] * len(g)), axes)
        np.testing.assert_array_equal(got, want)

    def test_psum_scatter(self, mesh: Any, axes: Any) -> None:
        for start in (False, True):
            tiled = lambda v: (  # noqa: E731
                lax.psum_scatter_start(v, axes, tiled=True).done()
                if start  # noqa: B023
                else lax.psum_scatter(v, axes, tiled=True)
            )
            want = on_members(lambda g: np.stack(np.split(g.sum(0), len(g))), axes)
            np.testing.assert_allclose(run(tiled), want, rtol=1e-5)

    def test_all_to_all(self, mesh: Any, axes: Any) -> None:
        got = run(lambda v: lax.all_to_all(v, axes, 0, 1, tiled=True))

        def exchange(g: np.ndarray) -> np.ndarray:
            parts = [np.split(x, len(g)) for x in g]
            return np.stack([np.concatenate([p[i] for p in parts], 1) for i in range(len(g))])

        np.testing.assert_array_equal(got, on_members(exchange, axes))

    def test_ppermute_and_pshuffle(self, mesh: Any, axes: Any) -> None:
        n = lax_size(axes)
        got = run(lambda v: lax.ppermute(v, axes, [(i, i + 1) for i in range(n - 1)]))
        shifted = lambda g: np.concatenate([np.zeros_like(g[:1]), g[:-1]])  # noqa: E731
        np.testing.assert_array_equal(got, on_members(shifted, axes))
        order = np.random.default_rng(n).permutation(n)
        got = run(lambda v: lax.pshuffle(v, axes, list(order)))
        np.testing.assert_array_equal(got, on_members(lambda g: g[order], axes))

    def test_axis_index_and_size(self, mesh: Any, axes: Any) -> None:
        got = run(lambda v: v * 0 + lax.axis_index(axes) * 10 + lax.axis_size(axes))
        n = lax_size(axes)
        want = on_members(
            lambda g: g * 0 + (np.arange(n) * 10 + n).reshape(n, *[1] * (g.ndim - 1)), axes
        )
        np.testing.assert_array_equal(got, want)

    @pytest.mark.parametrize("check", [True, False])
    def test_gradients_of_sums_over_all_devices(self, mesh: Any, axes: Any, check: bool) -> None:
        """Each linear collective against the transpose of the matrix that it is."""
        weights = np.random.default_rng(1).normal(size=(64, 3)).astype(np.float32)
        for body in (
            lambda v: lax.psum(v, axes),
            lambda v: lax.all_gather(v, axes, tiled=True),
            lambda v: lax.psum_scatter(v, axes, tiled=True),
            lambda v: lax.all_to_all(v, axes, 0, 0, tiled=True),
            lambda v: lax.ppermute(v, axes, [(0, 1)]),
        ):

            def loss(a: Any, body: Any = body) -> Any:
                fun = tans.shard_map(
                    lambda v: body(v[0, 0])[None, None], out_specs=P("X", "Y"), check_vma=check
                )
                out = fun(a)
                return (out * weights[: out.shape[2]]).sum()

            a = tans.reshard(jnp.asarray(VALUES), P("X", "Y"))
            direction = tans.reshard(jnp.asarray(VALUES[::-1].copy()), P("X", "Y"))
            # The loss is linear, so its value along a direction is its derivative.
            along = float((tans.grad(loss)(a) * direction).sum())
            np.testing.assert_allclose(along, float(loss(direction)), rtol=2e-4)


def lax_size(axes: Any) -> int:
    return int(np.prod([SIZES[a] for a in ((axes,) if isinstance(axes, str) else axes)]))


class TestGroups:
    GROUPS = ((0, 2), (3, 1))

    def test_values(self, mesh: Any) -> None:
        options = {"axis_index_groups": [list(g) for g in self.GROUPS]}
        got = run(lambda v: lax.psum(v, "Y", **options), check_vma=False)
        for group in self.GROUPS:
            want = VALUES[:, list(group)].sum(1)
            for member in group:
                np.testing.assert_allclose(got[:, member], want, rtol=1e-5)
        got = run(lambda v: lax.all_gather(v, "Y", **options), check_vma=False)
        for group in self.GROUPS:
            for member in group:
                np.testing.assert_array_equal(got[:, member], VALUES[:, list(group)])
        got = run(lambda v: lax.psum_scatter(v, "Y", tiled=True, **options), check_vma=False)
        for group in self.GROUPS:
            total = VALUES[:, list(group)].sum(1)
            for i, member in enumerate(group):
                np.testing.assert_allclose(got[:, member], total[:, i * 4 : i * 4 + 4], rtol=1e-5)
        got = run(lambda v: lax.all_to_all(v, "Y", 0, 0, tiled=True, **options), check_vma=False)
        for group in self.GROUPS:
            for i, member in enumerate(group):
                parts = [VALUES[:, m, i * 4 : i * 4 + 4] for m in group]
                np.testing.assert_array_equal(got[:, member], np.concatenate(parts, 1))

    def test_reductions_need_the_check_off(self, mesh: Any) -> None:
        with pytest.raises(NotImplementedError, match="check_vma=False"):
            run(lambda v: lax.psum(v, "Y", axis_index_groups=[[0, 1], [2, 3]]))

    @pytest.mark.parametrize("groups", [[[0, 1], [2]], [[0, 1], [1, 2]], [[0, 1]]])
    def test_groups_that_are_none(self, mesh: Any, groups: Any) -> None:
        with pytest.raises(ValueError, match="axis_index_groups"):
            run(lambda v: lax.psum(v, "Y", axis_index_groups=groups), check_vma=False)


def state_after(fun: Any, spec: Any = ("X",), **states: Any) -> str:
    found: list[str] = []

    def body(v: Any) -> Any:
        found.append(str(tans.typeof(fun(v))))
        return jnp.zeros(())

    x = tans.reshard(jnp.zeros(8), P(*spec, **states))
    tans.shard_map(body, out_specs=P())(x)
    return found[0]


MOVES = {("inv", "varying"), ("inv", "reduced"), ("V", "unreduced"), ("R", "varying")}


class TestStates:
    @pytest.mark.parametrize(
        ("fun", "given", "expected"),
        [
            (lambda v: lax.psum(v, "X"), "V", "float32[4]"),
            (lambda v: lax.psum(v, "X"), "inv", "float32[8]"),
            (lambda v: lax.psum(v, "X"), "U", "float32[8]"),
            (lambda v: lax.psum(v, ()), "V", "float32[4]{V:X}"),
            (lambda v: lax.psum(v > 0, "X"), "V", "int32[4]"),
            (lambda v: lax.pmax(v, "X"), "V", "float32[4]"),
            (lambda v: lax.pmean(v, "X"), "inv", "float32[8]"),
            (lambda v: lax.all_gather(v, "X"), "V", "float32[2,4]{V:X}"),
            (lambda v: lax.all_gather(v, "X"), "inv", "float32[2,8]{V:X}"),
            (lambda v: lax.all_gather(v, "X", to="invarying"), "V", "float32[2,4]"),
            (lambda v: lax.all_gather(v, "X", to="reduced"), "V", "float32[2,4]{R:X}"),
            (lambda v: lax.psum_scatter(v, "X", tiled=True), "V", "float32[2]{V:X}"),
            (lambda v: lax.psum_scatter(v, "X", tiled=True), "U", "float32[4]{V:X}"),
            (lambda v: lax.ppermute(v, "X", [(0, 1)]), "inv", "float32[8]{V:X}"),
            (lambda v: lax.all_to_all(v, "X", 0, 0, tiled=True), "V", "float32[4]{V:X}"),
            (lambda v: lax.pbroadcast(v, "X", 0), "inv", "float32[8]{V:X}"),
            (lambda v: lax.pcast(v, "Y", to="varying"), "V", "float32[4]{V:(X,Y)}"),
            (lambda v: lax.pcast(v, ("X", "Y"), to="reduced"), "inv", "float32[8]{R:(X,Y)}"),
            (lambda v: lax.pcast(v, "X", to="unreduced"), "V", "float32[4]{U:X}"),
            (lambda v: lax.pcast(v, "X", to="varying"), "R", "float32[8]{V:X}"),
        ],
    )
    def test_of_results(self, mesh: Any, fun: Any, given: str, expected: str) -> None:
        spec = ("X",) if given == "V" else ()
        states = {"U": {"unreduced": {"X"}}, "R": {"reduced": {"X"}}}.get(given, {})
        assert state_after(fun, spec, **states) == expected

    def test_scaling_of_equal_values(self, mesh: Any) -> None:
        x = tans.reshard(jnp.arange(4.0), P())
        for body, want in (
            (lambda v: lax.psum(v, ("X", "Y")), 8 * np.arange(4)),
            (lambda v: lax.pmean(v, ("X", "Y")), np.arange(4)),
            (lambda v: v * lax.psum(2, "Y"), 8 * np.arange(4)),
        ):
            np.testing.assert_array_equal(tans.shard_map(body, out_specs=P())(x), want)

    @pytest.mark.parametrize("given", ["inv", "V", "U", "R"])
    @pytest.mark.parametrize("to", ["varying", "reduced", "unreduced"])
    def test_casts(self, mesh: Any, given: str, to: str) -> None:
        spec = ("X",) if given == "V" else ()
        states = {"U": {"unreduced": {"X"}}, "R": {"reduced": {"X"}}}.get(given, {})
        cast = lambda v: lax.pcast(v, "X", to=to)  # noqa: E731
        if (given, to) in MOVES:
            letter = {"varying": "V", "reduced": "R", "unreduced": "U"}[to]
            assert state_after(cast, spec, **states).endswith(f"{{{letter}:X}}")
        else:
            with pytest.raises(ValueError, match="Unsupported pcast"):
                state_after(cast, spec, **states)


ERRORS: list[tuple[type[Exception], str, Callable[[Any], Any]]] = [
    (NameError, "unbound axis name 'Z'", lambda v: lax.psum(v, "Z")),
    (NameError, "unbound axis name 'Z'", lambda v: lax.axis_index("Z")),
    (ValueError, "different states", lambda v: lax.psum(v, ("X", "Y"))),
    (ValueError, "different states", lambda v: lax.pcast(v, ("X", "Y"), to="varying")),
    (ValueError, "expected one of", lambda v: lax.pcast(v, "X", to="other")),
    (ValueError, "no manual axis", lambda v: lax.pcast(v, "Z", to="varying")),
    (TypeError, "tuple of names", lambda v: lax.pcast(v, {"X"}, to="varying")),
    (ValueError, "to='other'", lambda v: lax.all_gather(v, "X", to="other")),
    (ValueError, "dimension 3", lambda v: lax.all_gather(v, "X", axis=3)),
    (ValueError, "dimension 3", lambda v: lax.psum_scatter(v, "X", scatter_dimension=3)),
    (ValueError, "length 2", lambda v: lax.psum_scatter(v, "X")),
    (ValueError, "a multiple of 2", lambda v: lax.psum_scatter(v[:3], "X", tiled=True)),
    (ValueError, "2 entries there", lambda v: lax.all_to_all(v, "X", 0, 0)),
    (ValueError, "at most once", lambda v: lax.ppermute(v, "X", [(0, 1), (0, 0)])),
    (ValueError, "from 0 to 1", lambda v: lax.ppermute(v, "X", [(0, 2)])),
    (ValueError, "a permutation", lambda v: lax.pshuffle(v, "X", [1, 1])),
    (ValueError, "source=2", lambda v: lax.pbroadcast(v, "X", 2)),
    (NotImplementedError, "collective broadcasts", lambda v: lax.pbroadcast(v, "X", 0)),
]


class TestErrors:
    @pytest.mark.parametrize(("error", "text", "body"), ERRORS)
    def test_inside(self, mesh: Any, error: Any, text: str, body: Any) -> None:
        x = tans.reshard(jnp.zeros(8), P("X"))
        with pytest.raises(error, match=text):
            tans.shard_map(body, out_specs=P("X"))(x)

    def test_outside(self) -> None:
        for body in (lambda v: lax.psum(v, "X"), lambda v: lax.all_gather(v, "X")):
            with pytest.raises(NameError, match="unbound axis name"):
                body(np.ones(2))
        with pytest.raises(ValueError, match="no manual axis"):
            lax.pcast(np.ones(2), "X", to="varying")
        with pytest.raises(ValueError, match="'varying' outside"):
            tans.vmap(lambda v: lax.all_gather(v, "i", to="invarying"), axis_name="i")(np.ones(2))

    def test_maxima_have_no_derivative(self, mesh: Any) -> None:
        x = tans.reshard(jnp.zeros(8), P("X"))
        for collective in (lax.pmax, lax.pmin):
            fun = tans.shard_map(lambda v, c=collective: c(v, "X"), out_specs=P())
            with pytest.raises(NotImplementedError, match=collective.__name__):
                tans.grad(lambda a, fun=fun: fun(a).sum())(x)

    def test_ragged_exchanges(self, mesh: Any) -> None:
        def body(v: Any, **change: Any) -> Any:
            ints = jnp.zeros(2, jnp.int32)
            args = {"operand": v, "output": v, "input_offsets": ints, "send_sizes": ints,
                    "output_offsets": ints, "recv_sizes": ints} | change  # fmt: skip
            return lax.ragged_all_to_all(*args.values(), axis_name="X")

        x = tans.reshard(jnp.zeros(8), P("X"))
        typed = tans.make_jaxpr(tans.shard_map(body, out_specs=P("X")))(x)
        assert str(typed.out_avals[0]) == "float32[8@X]"
        for change, error, text in (
            ({}, NotImplementedError, "ragged exchanges"),
            ({"output": jnp.zeros(4, jnp.int32)}, ValueError, "the same dtype"),
            ({"send_sizes": jnp.zeros(2)}, ValueError, "integers of shape"),
            ({"recv_sizes": jnp.zeros((2, 1), jnp.int32)}, ValueError, "one dimension"),
        ):
            mapped = tans.shard_map(lambda v, c=change: body(v, **c), out_specs=P("X"))
            with pytest.raises(error, match=text):
                mapped(x)
