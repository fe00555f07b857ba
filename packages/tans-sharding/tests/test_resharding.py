"""Reshard: every transition along one axis, its collectives, its transpose; refusals."""

import itertools
import random
from typing import Any

import numpy as np
import pytest

import tans
from tans import P
from tans_core.partition_spec import UnreducedKind
from tans_core.sharding import NamedSharding

STATES = {
    "S0": P("X", None),
    "S1": P(None, "X"),
    "N": P(),
    "U": P(unreduced={"X"}),
    "R": P(reduced={"X"}),
}
COTANGENT = {"S0": "S0", "S1": "S1", "N": "N", "U": "R", "R": "U"}
VALUES = np.arange(32, dtype=np.float32).reshape(8, 4)


def forward_collectives(source: str, target: str) -> dict[str, int]:
    """Return the collective of one transition, from the table of the algebra."""
    if source == target:
        return {}
    if source[0] == target[0] == "S":
        return {"all-to-all": 1}
    if source[0] == "S":
        return {"all-gather": 1} if target in ("N", "R") else {}
    return {"all-reduce": 1} if source == "U" else {}


TRANSITIONS = list(itertools.product(STATES, repeat=2))


@pytest.mark.parametrize(("source", "target"), TRANSITIONS)
def test_transition_keeps_the_value(counts: Any, mesh: Any, source: str, target: str) -> None:
    x = tans.reshard(VALUES, STATES[source])
    y = tans.reshard(x, STATES[target])
    assert tans.typeof(y).sharding.spec is STATES[target].padded(2)
    np.testing.assert_array_equal(tans.reshard(y, P()), VALUES)
    moved = counts(lambda v: tans.reshard(v, STATES[target]), x)
    assert moved == forward_collectives(source, target)


@pytest.mark.parametrize(("source", "target"), TRANSITIONS)
def test_transpose_goes_to_the_cotangent_type(mesh: Any, source: str, target: str) -> None:
    x = tans.reshard(VALUES, STATES[source])
    _, vjp = tans.vjp(lambda v: tans.reshard(v, STATES[target]), x)
    ct = tans.reshard(VALUES, STATES[COTANGENT[target]])
    (out,) = vjp(ct)
    assert tans.typeof(out).sharding.spec is STATES[COTANGENT[source]].padded(2)
    np.testing.assert_array_equal(tans.reshard(out, P()), VALUES)


def random_spec(chance: random.Random) -> P:
    """Return a spec of rank 2 with a random state per axis."""
    parts: list[list[str]] = [[], []]
    sets: dict[str, set[str]] = {"U": set(), "R": set()}
    for axis in chance.sample("abc", 3):
        state = chance.choice("N01UR")
        if state in "01":
            parts[int(state)].append(axis)
        elif state != "N":
            sets[state].add(axis)
    return P(*map(tuple, parts), unreduced=sets["U"], reduced=sets["R"])


@pytest.mark.parametrize("seed", range(12))
def test_any_transition_over_three_axes_keeps_the_value_or_is_refused(
    mesh: Any, seed: int, capfd: pytest.CaptureFixture
) -> None:
    chance = random.Random(seed)
    values = np.arange(64, dtype=np.float32).reshape(8, 8)
    with tans.set_mesh(tans.make_mesh((2, 2, 2), ("a", "b", "c"))):
        source, target = random_spec(chance), random_spec(chance)
        x = tans.reshard(values, source)
        if target.unreduced - source.unreduced and source.unreduced - target.unreduced:
            with pytest.raises(ValueError, match="two steps"):
                tans.reshard(x, target)
        else:
            np.testing.assert_array_equal(tans.reshard(tans.reshard(x, target), P()), values)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (P(("X", "Y"), None), P(unreduced={"X", "Y"})),
        (P("X", unreduced={"Y"}), P(None, "X", unreduced={"Y"})),
        (P(unreduced={"X", "Y"}), P(unreduced={"X"})),
        (P(unreduced={"X"}), P(unreduced={"X", "Y"})),
        (P(unreduced={"X"}), P(reduced={"Y"})),
    ],
)
def test_transition_over_two_axes(mesh: Any, source: P, target: P) -> None:
    values = np.arange(64, dtype=np.float32).reshape(8, 8)
    y = tans.reshard(tans.reshard(values, source), target)
    np.testing.assert_array_equal(tans.reshard(y, P()), values)


def test_parts_cannot_change_their_axis(mesh: Any) -> None:
    x = tans.reshard(VALUES, P(unreduced={"X"}))
    with pytest.raises(ValueError, match="two steps"):
        tans.reshard(x, P(unreduced={"Y"}))


def test_only_sums_can_be_taken_apart(mesh: Any) -> None:
    spec = P(unreduced={"X"}, unreduced_kind=UnreducedKind.max)
    with pytest.raises(ValueError, match="only sums"):
        tans.reshard(VALUES, spec)


def test_max_parts_cannot_become_addends(mesh: Any) -> None:
    spec = P(None, unreduced={"X"}, unreduced_kind=UnreducedKind.max)
    x = tans.lax.reduce_max(tans.reshard(VALUES, P("X")), (0,), out_sharding=spec)
    with pytest.raises(ValueError, match="kind"):
        tans.reshard(x, P(unreduced={"X"}))


def test_spec_without_a_mesh_is_refused() -> None:
    with pytest.raises(ValueError, match="without a mesh"):
        tans.reshard(VALUES, P("X"))


def test_named_sharding_needs_no_mesh_in_context() -> None:
    other = tans.make_mesh((2,), ("Z",))
    y = tans.reshard(VALUES, NamedSharding(other, P("Z")))
    assert str(tans.typeof(y * 2.0)) == "float32[8@Z,4]"


def test_spec_longer_than_the_rank_is_refused(mesh: Any) -> None:
    with pytest.raises(ValueError, match="at most 2"):
        tans.reshard(VALUES, P(None, None, "X"))


def test_trees_take_a_prefix_of_specs(mesh: Any) -> None:
    out = tans.reshard({"a": VALUES, "b": (VALUES, VALUES)}, {"a": P("X"), "b": P("Y")})
    printed = [str(tans.typeof(x)) for x in tans.tree.leaves(out)]
    assert printed == ["float32[8@X,4]", "float32[8@Y,4]", "float32[8@Y,4]"]


@pytest.mark.parametrize("spec", [P(), P("X"), P(("X", "Y")), P(None, "Y")])
@pytest.mark.parametrize("axes", [{"X"}, {"X", "Y"}])
def test_complex_values_become_unreduced(mesh: Any, spec: P, axes: set[str]) -> None:
    x = (np.arange(64) + 1j * np.arange(64)[::-1]).reshape(8, 8).astype(np.complex64)
    addends = tans.reshard(tans.reshard(x, spec), P(unreduced=axes))
    np.testing.assert_array_equal(tans.reshard(addends, P()), x)


def test_arrays_on_a_mesh_with_auto_and_explicit_axes_show_their_states() -> None:
    auto, explicit = tans.sharding.AxisType.Auto, tans.sharding.AxisType.Explicit
    with tans.set_mesh(tans.make_mesh((2, 4), ("X", "Y"), (auto, explicit))):
        host = np.arange(32, dtype=np.float32).reshape(8, 4)
        u, r = (tans.reshard(host, P(**{state: {"Y"}})) for state in ("unreduced", "reduced"))
        assert u.sharding.spec == P(unreduced={"Y"})
        assert r.sharding.spec == P(reduced={"Y"})
        assert "unreduced={'Y'}" in repr(u)
        with pytest.raises(RuntimeError, match=r"\{U:Y\}.*addend.*reshard"):
            np.asarray(u)
        np.testing.assert_array_equal(tans.reshard(u, P("Y")), host)
        x = tans.device_put(host, P("X", "Y"))
        product = tans.numpy.matmul(x, x.T, out_sharding=P(unreduced={"Y"}))
        assert product.sharding.spec.unreduced == {"Y"}
        np.testing.assert_array_equal(tans.reshard(product, P()), host @ host.T)
