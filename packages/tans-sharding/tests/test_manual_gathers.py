"""Gathers to each state and scatters of summed parts: under vmap, and their gradients."""

from typing import Any

import numpy as np
import pytest

import tans
import tans.numpy as jnp
from tans import P, lax
from tans.errors import ShardingTypeError

# On the 2 x 4 mesh, what each of the devices along X holds; along Y it is repeated.
VALUES = np.random.default_rng(0).normal(size=(2, 2, 4, 6)).astype(np.float32)
STATES = ["varying", "invarying", "reduced"]


def run(body: Any, *values: np.ndarray) -> np.ndarray:
    """Return ``out[x]``, what `body` makes of ``values[x]`` on the devices (x, ...)."""
    arrays = [tans.reshard(jnp.asarray(v), P("X")) for v in values]
    each = lambda *vs: body(*(v[0] for v in vs))[None]  # noqa: E731
    return np.asarray(tans.jit(tans.shard_map(each, out_specs=P("X")))(*arrays))


def varying(x: Any) -> Any:
    """Cast to the state that results are returned in."""
    return x if "X" in tans.typeof(x).mat.varying else lax.pcast(x, "X", to="varying")


def joined(rows: Any, axis: int, tiled: bool) -> np.ndarray:
    """Return what gathering one row of each device gives."""
    return (np.concatenate if tiled else np.stack)(list(rows), axis)


@pytest.mark.parametrize("tiled", [False, True], ids=["stacked", "tiled"])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("to", STATES)
class TestGathers:
    @pytest.mark.parametrize("dim", [0, 1, 2])
    def test_vmap_is_a_loop(self, mesh: Any, to: str, axis: int, tiled: bool, dim: int) -> None:
        gather = lambda v: lax.all_gather(v, "X", axis=axis, tiled=tiled, to=to)  # noqa: E731
        got = run(lambda v: varying(tans.vmap(gather, dim)(v)), VALUES)
        lanes = np.moveaxis(VALUES, dim + 1, 0)
        want = np.stack([joined(lane, axis, tiled) for lane in lanes])
        np.testing.assert_array_equal(got, np.stack([want, want]))

    def test_gradient(self, mesh: Any, to: str, axis: int, tiled: bool) -> None:
        values = VALUES[:, 0]
        one = joined(VALUES[:, 1], axis, tiled)
        weights = np.stack([one, 3 * one])  # another cotangent on each device

        def loss(v: Any, w: Any) -> Any:
            gathered = lax.all_gather(v, "X", axis=axis, tiled=tiled, to=to)
            return lax.psum((varying(gathered) * w).sum(), "X")

        got = run(tans.grad(loss), values, weights)
        parts = np.split(weights.sum(0), 2, axis) if tiled else np.moveaxis(weights.sum(0), axis, 0)
        np.testing.assert_allclose(got, np.stack(list(parts)), rtol=1e-5)


@pytest.mark.parametrize("tiled", [False, True], ids=["stacked", "tiled"])
@pytest.mark.parametrize("axis", [0, 1])
class TestScattersOfParts:
    @pytest.mark.parametrize("dim", [0, 1, 2])
    def test_vmap_is_a_loop(self, mesh: Any, axis: int, tiled: bool, dim: int) -> None:
        values = np.moveaxis(VALUES if tiled else VALUES[:, :, :2, :2], 1, dim + 1)

        def scatter(v: Any) -> Any:
            parts = lax.pcast(v, "X", to="unreduced")
            return lax.psum_scatter(parts, "X", scatter_dimension=axis, tiled=tiled)

        got = run(tans.vmap(scatter, dim), values)
        total = np.moveaxis(values.sum(0), dim, 0)
        parts = np.split(total, 2, axis + 1) if tiled else np.moveaxis(total, axis + 1, 0)
        np.testing.assert_allclose(got, np.stack(list(parts)), rtol=1e-5)

    def test_gradient(self, mesh: Any, axis: int, tiled: bool) -> None:
        values = VALUES[:, 0] if tiled else VALUES[:, 0, :2, :2]
        total = values.sum(0)
        weights = np.split(total, 2, axis) if tiled else np.moveaxis(total, axis, 0)
        weights = np.stack(list(weights))

        def loss(v: Any, w: Any) -> Any:
            parts = lax.pcast(v, "X", to="unreduced")
            mine = lax.psum_scatter(parts, "X", scatter_dimension=axis, tiled=tiled)
            return lax.psum((mine * w).sum(), "X")

        got = run(tans.grad(loss), values, weights)
        np.testing.assert_allclose(got, np.stack([total, total]), rtol=1e-5)


def test_a_dimension_that_is_sharded_can_not_be_scattered_away(mesh: Any) -> None:
    x = tans.reshard(jnp.ones((16, 3)), P(("Y", "X")))
    scatter = lambda v: lax.psum_scatter(v, "Y", tiled=False)  # noqa: E731
    with pytest.raises(ShardingTypeError, match="dimension 0, which disappears"):
        tans.shard_map(scatter, out_specs=P("Y"), axis_names={"Y"})(x)
