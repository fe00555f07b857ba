"""Rows of a table that is whole on every device, looked up by indices that are spread over them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tans
import tans.numpy as jnp
from tans import P
from tans_core.errors import ShardingTypeError

TABLE = np.arange(64, dtype=np.float32).reshape(16, 4) / 10
IDS = np.array([[0, 3, 3, 15], [1, 1, 1, 1], [7, 0, 2, 9], [4, 5, 6, 7]] * 2)


def place(x: Any, *spec: Any, **states: Any) -> Any:
    return tans.reshard(np.asarray(x), P(*spec, **states))


def expected_gradient(ids: np.ndarray) -> np.ndarray:
    """Return the gradient of the sum of squares of the rows."""
    total = np.zeros(TABLE.shape)
    np.add.at(total, ids, 2 * TABLE[ids].astype(np.float64))
    return total


def loss(spec: P) -> Callable[[Any, Any], Any]:
    return lambda table, ids: (table.at[ids].get(out_sharding=spec) ** 2).sum()


CASES = {
    "rows over X": (("X",), IDS[:, 0], P(reduced={"X"}), P("X", None), P(unreduced={"X"})),
    "blocks over X": (("X", None), IDS, P(reduced={"X"}), P("X"), P(unreduced={"X"})),
    "over X and Y": (
        ("X", "Y"), IDS, P(reduced={"X", "Y"}), P("X", "Y"), P(unreduced={"X", "Y"}),
    ),
    "columns over Y": (
        ("X",), IDS[:, 0], P(None, "Y", reduced={"X"}), P("X", "Y"),
        P(None, "Y", unreduced={"X"}),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_the_gradient_is_unreduced_without_communication(
    mesh: Any, case: Any, counts: Callable[..., Any]
) -> None:
    entries, ids, table_spec, out, gradient = case
    table, places = tans.reshard(TABLE, table_spec), place(ids, *entries)
    grad = tans.grad(loss(out))
    for run in (grad, tans.jit(grad)):
        found = run(table, places)
        assert tans.typeof(found).sharding.spec == gradient.padded(2)
        rest = P(*gradient.partitions)
        np.testing.assert_allclose(tans.reshard(found, rest), expected_gradient(ids), rtol=1e-6)
    assert counts(grad, table, places) == {}


def test_accumulated_over_micro_batches(mesh: Any, counts: Callable[..., Any]) -> None:
    table, batches = place(TABLE, reduced={"X"}), place(IDS, None, "X")
    grad = tans.grad(loss(P("X", None)))

    def total(table: Any, batches: Any) -> Any:
        zero = tans.reshard(jnp.zeros(TABLE.shape), P(unreduced={"X"}))
        out, _ = tans.lax.scan(lambda acc, ids: (acc + grad(table, ids), None), zero, batches)
        return tans.reshard(out, P())

    np.testing.assert_allclose(total(table, batches), expected_gradient(IDS), rtol=1e-5)
    assert counts(total, table, batches) == {"all-reduce": 1}


def test_second_derivatives(mesh: Any) -> None:
    table, places = place(TABLE, reduced={"X"}), place(IDS[:, 0], "X")
    grad = tans.grad(loss(P("X", None)))
    _, tangent = tans.jvp(lambda t: grad(t, places), (table,), (table,))
    np.testing.assert_allclose(tans.reshard(tangent, P()), expected_gradient(IDS[:, 0]), rtol=1e-6)

    def twice(table: Any) -> Any:
        return (tans.reshard(grad(table, places), P()) ** 2).sum()

    counted = np.bincount(IDS[:, 0], minlength=16)[:, None]
    found = tans.reshard(tans.grad(twice)(table), P())
    np.testing.assert_allclose(found, 8 * TABLE * counted**2, rtol=1e-6)


@pytest.mark.parametrize("mode", ["clip", "fill", "drop", "promise_in_bounds"])
def test_places_out_of_bounds(mesh: Any, mode: str) -> None:
    table, ids = (
        place(TABLE, reduced={"X"}),
        place(IDS[:, 0] + (12 if mode != "promise_in_bounds" else 0), "X"),
    )
    whole = tans.reshard(table, P())

    def sums(table: Any, ids: Any, spec: P) -> Any:
        return jnp.nansum(table.at[ids].get(out_sharding=spec, mode=mode) ** 2)

    here = tans.grad(sums)(table, ids, P("X", None))
    there = tans.grad(sums)(whole, tans.reshard(ids, P()), P())
    np.testing.assert_allclose(tans.reshard(here, P()), there, rtol=1e-6)


def test_a_table_that_is_not_reduced_needs_the_wanted_sharding(mesh: Any) -> None:
    with pytest.raises(ShardingTypeError, match=r"i32\[8@X,1\].*replicated indices.*out_sharding"):
        place(TABLE)[place(IDS[:, 0], "X")]
    assert str(tans.typeof(place(TABLE, reduced={"X"})[place(IDS[:, 0], "X")])) == "float32[8@X,4]"


def test_updates_lie_as_their_indices(mesh: Any) -> None:
    zero = place(TABLE, unreduced={"X"})
    with pytest.raises(ShardingTypeError, match=r"sharded as 'X'.*updates are sharded as None"):
        zero.at[place(IDS[:, 0], "X")].add(place(np.ones((8, 4), np.float32)))
    with pytest.raises(ShardingTypeError, match=r"unreduced or reduced along the same axes"):
        zero.at[place(IDS[:, 0], "X")].add(place(np.ones((8, 4), np.float32), "X", unreduced={"Y"}))


def test_sums_into_addends(mesh: Any, counts: Callable[..., Any]) -> None:
    zero, updates = place(TABLE, unreduced={"X"}), place(np.ones((8, 4), np.float32), "X")
    places = place(IDS[:, 0], "X")
    add = lambda z, i, u: z.at[i].add(u)  # noqa: E731
    expected = TABLE.copy()
    np.add.at(expected, IDS[:, 0], 1)
    np.testing.assert_allclose(tans.reshard(add(zero, places, updates), P()), expected, rtol=1e-6)
    assert counts(add, zero, places, updates) == {}
