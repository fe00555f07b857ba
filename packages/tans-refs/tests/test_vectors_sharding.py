"""The numbered vectors R71 and R89 to R95: refs over several devices."""

from typing import Any

import numpy as np
import pytest

import tans
import tans.numpy as jnp
from tans import P, jit, lax, make_jaxpr, new_ref, reshard, shard_map, vjp
from tans.sharding import AxisType

pytestmark = pytest.mark.usefixtures("mesh")


def sharded(n: int = 8) -> Any:
    """Return 0 to n - 1, split over i."""
    return tans.device_put(jnp.arange(float(n)), P("i"))


def test_r71_unreduced_accumulator() -> None:
    w = reshard(jnp.ones(2), P(reduced={"i"}))
    x = tans.device_put(jnp.ones((8, 2)), P("i", None))
    _, f_vjp = vjp(lambda w: jnp.sum(x @ w), w)
    g = new_ref(reshard(jnp.zeros(2), P(unreduced={"i"})))
    f_vjp.with_refs(g)(1.0)
    assert repr(tans.typeof(g)) == "Ref{float32[2]{U:i}}"
    assert reshard(g[...], P()).tolist() == [8, 8]


def test_r89_type() -> None:
    r = new_ref(sharded())
    assert repr(tans.typeof(r)) == "Ref{float32[8@i]}"
    assert r.sharding.spec == P("i")
    assert repr(tans.typeof(r[...])) == "ShapedArray(float32[8@i])"


def test_r90_only_slices() -> None:
    r = new_ref(sharded())
    for read in (lambda r: r[0], jit(lambda r: r[0]), lambda r: r[jnp.array([0, 1])]):
        with pytest.raises(TypeError, match="expected slices"):
            read(r)
    with pytest.raises(TypeError, match="expected slices"):
        r[0] = 1.0


def test_sharding_is_kept() -> None:
    r = new_ref(sharded())

    @jit
    def double(r: Any) -> None:
        r[...] *= 2.0

    text = double.lower(r).as_text()
    assert text.count('[{"i"}]') >= 2
    double(r)
    assert r.sharding.spec == P("i")
    assert r[...].tolist() == [0, 2, 4, 6, 8, 10, 12, 14]
    r[...] = sharded()
    assert r.sharding.spec == P("i")
    with pytest.raises(ValueError, match="sharding"):
        r[...] = jnp.ones(8)


def double_block(r: Any) -> None:
    """Double a block, and check its type."""
    assert repr(tans.typeof(r)) == "Ref{float32[2]{V:i}}"
    r[...] = r[...] * 2


def test_r91_shard_map() -> None:
    r = new_ref(sharded())
    mapped = shard_map(double_block, in_specs=P("i"), out_specs=None)
    jit(mapped)(r)
    assert r[...].tolist() == [0, 2, 4, 6, 8, 10, 12, 14]
    assert "Ref{f32[2]{V:i}}" in str(make_jaxpr(mapped)(r))


def test_r92_eager_shard_map() -> None:
    r = new_ref(sharded())
    with pytest.raises(NotImplementedError, match="jit"):
        shard_map(double_block, in_specs=P("i"), out_specs=None)(r)
    assert r[...].tolist() == list(range(8))


def test_r93_unmapped_ref() -> None:
    x = tans.device_put(jnp.ones(8), P("i"))
    r = new_ref(jnp.zeros(2))

    def run(write: Any) -> None:
        jit(shard_map(write, in_specs=(P(), P("i")), out_specs=None))(r, x)

    with pytest.raises(ValueError, match="manual"):
        run(lambda r, x: r.set(x))
    assert r[...].tolist() == [0, 0]
    run(lambda r, x: r.set(lax.psum(x, "i")))
    assert r[...].tolist() == [4, 4]


def test_refs_made_inside_shard_map() -> None:
    def total(x: Any) -> Any:
        r = new_ref(lax.pcast(jnp.zeros(2), "i", to="varying"))
        r[...] += x
        return r[...]

    f = jit(shard_map(total, in_specs=P("i"), out_specs=P("i")))
    assert f(sharded()).tolist() == list(range(8))


def test_closed_over_in_shard_map() -> None:
    r = new_ref(jnp.zeros(2))
    with pytest.raises(ValueError, match="argument of shard_map"):
        jit(shard_map(lambda x: x + r[...], in_specs=P("i"), out_specs=P("i")))(sharded())


def test_r94_automatic_axes() -> None:
    mesh = tans.make_mesh((4,), ("i",), axis_types=(AxisType.Auto,))
    with tans.set_mesh(mesh):
        spec = tans.NamedSharding(mesh, P("i"))
        r = new_ref(tans.device_put(jnp.arange(8.0), spec))
        r[0] = 5.0
        jit(lambda r: r.set(9.0, 1))(r)
        assert r[...].tolist() == [5, 9, 2, 3, 4, 5, 6, 7]
        assert r.sharding.is_equivalent_to(spec, 1)


def test_r95_sharded_gradient() -> None:
    x = sharded()
    _, f_vjp = vjp(lambda x: jnp.sum(x**2), x)
    g = new_ref(tans.device_put(jnp.zeros(8), P("i")))
    f_vjp.with_refs(g)(1.0)
    np.testing.assert_array_equal(g[...], np.arange(0, 16, 2))
    assert g.sharding.spec == P("i")


@pytest.mark.parametrize("passed", [True, False])
def test_sharded_ref_closed_over_in_shard_map(passed: bool) -> None:
    r, x = new_ref(sharded()), sharded()
    for use in (lambda x: x + r[:2], lambda x: r.set(x), lambda x: r.addupdate(x)):
        f = shard_map(lambda x, use=use: use(x) and None, in_specs=P("i"), out_specs=None)
        run = jit(lambda r, x, f=f: f(x)) if passed else jit(lambda _, x, f=f: f(x))
        with pytest.raises(ValueError, match="pass the ref as an argument of shard_map"):
            run(r if passed else None, x)
