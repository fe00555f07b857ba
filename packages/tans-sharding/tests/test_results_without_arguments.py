"""Values of sharded types that no argument says the place of: their type's mesh does."""

import numpy as np
import pytest

import tans
import tans.lax as lax
import tans.numpy as jnp
from tans.sharding import AxisType, Mesh, NamedSharding
from tans.sharding import PartitionSpec as P


def mesh_over(devices, name):
    return Mesh(np.array(devices), (name,), axis_types=(AxisType.Explicit,))


@pytest.fixture
def x():
    sharding = NamedSharding(mesh_over(tans.devices()[:4], "rows"), P("rows"))
    return tans.device_put(np.arange(8, dtype=np.float32), sharding)


MAKERS = {
    "ones_like": jnp.ones_like,
    "zeros_like": jnp.zeros_like,
    "full_like": lambda x: lax.full_like(x, 2.0),
    "zeros": lambda x: jnp.zeros(8, out_sharding=x.sharding),
    "zeros of a type": lambda x: jnp.zeros(8, out_sharding=tans.typeof(x).sharding),
    "jitted zeros": lambda x: tans.jit(lambda: jnp.zeros(8, out_sharding=x.sharding))(),
    "iota": lambda x: lax.broadcasted_iota(np.float32, (8,), 0, out_sharding=x.sharding),
    "cotangent of what is unused": lambda x: tans.vjp(lambda x, y: x, x, x)[1](x)[1],
    "gradient that vanishes": tans.grad(lambda x: lax.stop_gradient(x).sum()),
    "tangent that vanishes": lambda x: tans.jvp(lax.stop_gradient, (x,), (x,))[1],
    "gradient of a sum": tans.grad(lambda x: x.sum()),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_they_lie_as_their_type_says(make, x):
    found = make(x)
    assert tans.typeof(found).sharding.spec == P("rows")
    assert found.sharding == x.sharding
    assert [s.data.shape for s in found.addressable_shards] == [(2,)] * 4
    np.testing.assert_array_equal(np.asarray(found + x), np.asarray(found) + np.arange(8))


def test_two_meshes_of_one_type_need_a_context():
    devices = tans.devices()[:2]
    first, second = mesh_over(devices, "two"), mesh_over(devices[::-1], "two")
    x = tans.device_put(np.arange(2.0), NamedSharding(first, P("two")))
    y = tans.device_put(np.arange(2.0), NamedSharding(second, P("two")))
    zero = tans.grad(lambda x, y: x.sum(), argnums=1)
    with pytest.raises(ValueError, match=r"stands for 2 meshes over devices, expected one.*set_me"):
        zero(x, x)
    with tans.set_mesh(second):
        assert zero(y, y).sharding.mesh is second
