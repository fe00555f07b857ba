"""Keys on several devices."""

import numpy as np
import pytest

import tans_random as random
from tans_batching import vmap
from tans_core.mesh import Mesh
from tans_core.partition_spec import PartitionSpec
from tans_core.sharding import NamedSharding
from tans_xla import device_put, devices, jit


@pytest.fixture
def sharding():
    return NamedSharding(Mesh(np.array(devices("cpu")[:4]), ("x",)), PartitionSpec("x"))


def test_keys_are_split_over_devices(sharding):
    keys = random.split(random.key(0), 8)
    put = device_put(keys, sharding)
    assert put.sharding == sharding
    assert not put.is_fully_replicated
    assert [s.data.shape for s in put.addressable_shards] == [(2,)] * 4
    assert [s.index for s in put.addressable_shards][1] == (slice(2, 4, None),)
    np.testing.assert_array_equal(random.key_data(put), random.key_data(keys))
    drawn = jit(vmap(random.uniform))(put)
    assert drawn.sharding.is_equivalent_to(sharding, 1)
    np.testing.assert_array_equal(drawn, vmap(random.uniform)(keys))


def test_programs_take_and_give_sharded_keys(sharding):
    keys = random.split(random.key(0), 8)
    out = jit(lambda k: k[::-1], in_shardings=sharding, out_shardings=sharding)(keys)
    assert out.sharding == sharding
    np.testing.assert_array_equal(random.key_data(out), random.key_data(keys)[::-1])


def test_a_key_goes_to_a_device():
    device = devices("cpu")[1]
    key = device_put(random.key(0), device)
    assert key.devices() == {device}
    assert random.normal(key).devices() == {device}


def test_results_are_placed_as_asked(sharding):
    assert random.normal(random.key(0), (8,), out_sharding=sharding).sharding == sharding
