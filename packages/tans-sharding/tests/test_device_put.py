"""`device_put` onto Explicit axes: the type of the result, in programs and outside."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tans
import tans.numpy as jnp
from tans import P
from tans.sharding import NamedSharding
from tans_core.sharding import IndivisibleError

HOST = np.arange(32, dtype=np.float32).reshape(8, 4)
FROM = {
    "sharded": P("X"),
    "replicated": P(),
    "reduced": P(reduced={"X"}),
    "unreduced": P(unreduced={"X"}),
    "on both": P(("X", "Y")),
}
TO = {
    "replicated": P(),
    "over Y": P("Y"),
    "columns": P(None, "X"),
    "both": P("X", "Y"),
    "reduced": P(reduced={"X"}),
    "unreduced": P(unreduced={"X"}),
    "unreduced on both": P(unreduced={"X", "Y"}),
}


def at(spec: P, dtype: Any = np.float32) -> Any:
    return tans.reshard(HOST.astype(dtype), spec)


def value(x: Any) -> Any:
    return tans.reshard(x, P(*tans.typeof(x).sharding.spec.partitions))


@pytest.mark.parametrize("given", ["spec", "sharding"])
@pytest.mark.parametrize("target", TO.values(), ids=TO.keys())
@pytest.mark.parametrize("source", FROM.values(), ids=FROM.keys())
def test_in_a_program_it_is_a_reshard(mesh: Any, source: P, target: P, given: str) -> None:
    goal = target if given == "spec" else NamedSharding(mesh, target)
    found = tans.jit(lambda x: tans.device_put(x, goal))(at(source))
    assert tans.typeof(found).sharding.spec == target.padded(2)
    np.testing.assert_array_equal(value(found), HOST)


@pytest.mark.parametrize("source", [P("X"), P(), P(reduced={"X"})], ids=str)
def test_arrays_become_unreduced(mesh: Any, source: P) -> None:
    found = tans.device_put(at(source), P(unreduced={"X"}))
    assert str(tans.typeof(found)) == "float32[8,4]{U:X}"
    np.testing.assert_array_equal(value(found), HOST)


def test_complex_addends(mesh: Any) -> None:
    found = tans.jit(lambda x: tans.device_put(x, P(unreduced={"X"})))(at(P("X"), np.complex64))
    np.testing.assert_array_equal(value(found), HOST.astype(np.complex64))


@pytest.mark.parametrize("given", ["spec", "sharding"])
def test_addends_do_not_move_to_another_axis(mesh: Any, given: str) -> None:
    target = P(unreduced={"Y"})
    goal = target if given == "spec" else NamedSharding(mesh, target)
    with pytest.raises(ValueError, match=r"f32\[8,4\]\{U:X\}.*\['Y'\] in place of \['X'\].*steps"):
        tans.jit(lambda x: tans.device_put(x, goal))(at(P(unreduced={"X"})))


def test_the_cotangent_goes_back(mesh: Any) -> None:
    def loss(target: P) -> Callable[[Any], Any]:
        return lambda x: (tans.device_put(x, target) ** 2).sum()

    for source, target in [(P("X"), P("Y")), (P(), P(reduced={"X"})), (P(reduced={"X"}), P("X"))]:
        for wrap in (tans.jit, lambda f: f):
            found = wrap(tans.grad(loss(target)))(at(source))
            expected = tans.typeof(at(source)).to_cotangent()
            assert tans.typeof(found).sharding.spec == expected.sharding.spec
            np.testing.assert_array_equal(value(found), 2 * HOST)


def test_a_mapped_dimension_stays_sharded(mesh: Any, counts: Callable[..., Any]) -> None:
    put = tans.vmap(lambda row: tans.device_put(row, P("Y")))
    assert str(tans.typeof(put(at(P("X"))))) == "float32[8@X,4@Y]"
    np.testing.assert_array_equal(put(at(P("X"))), HOST)
    assert counts(put, at(P("X"))) == {}
    columns = tans.vmap(lambda column: tans.device_put(column, P("Y")), 1, 1)
    assert str(tans.typeof(columns(at(P(None, "X"))))) == "float32[8@Y,4@X]"
    columns = tans.vmap(lambda column: tans.device_put(column, P()), 1, 1)
    assert str(tans.typeof(columns(at(P(None, "X"))))) == "float32[8,4@X]"


def test_specs_that_do_not_fit(mesh: Any) -> None:
    put = tans.jit(tans.device_put, static_argnums=1)
    with pytest.raises(ValueError, match=r"'Q'.*'X', 'Y'"):
        put(at(P()), P("Q"))
    with pytest.raises(ValueError, match=r"3 entries.*\(8, 4\)"):
        put(at(P()), P(None, None, "X"))
    with pytest.raises(IndivisibleError, match=r"\(7,\).*2 shards"):
        put(jnp.ones(7), P("X"))


def test_a_spec_needs_a_mesh() -> None:
    with pytest.raises(ValueError, match=r"P\('X',\).*set_mesh"):
        tans.jit(lambda x: tans.device_put(x, P("X")))(np.ones(8))


def test_a_spec_that_is_too_long_for_auto_axes() -> None:
    auto = tans.sharding.AxisType.Auto
    mesh = tans.make_mesh((2, 4), ("X", "Y"), (auto, auto))
    with tans.set_mesh(mesh), pytest.raises(ValueError, match=r"2 entries.*\(8,\)"):
        tans.jit(lambda x: tans.device_put(x, P("X", "Y")))(np.ones(8))
