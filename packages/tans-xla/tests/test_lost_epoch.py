"""Arrays, devices and shardings of a client that was dropped say so when they are used."""

import numpy as np
import pytest

from tans_core.mesh import Mesh
from tans_core.partition_spec import P
from tans_core.sharding import NamedSharding, single_device_sharding
from tans_xla import backend, device_put, jit

LOST = r"lost epoch.*expected.*"


@pytest.fixture
def lost():
    """An array and its device, from before the backend was dropped."""
    array, device = device_put(np.ones(3, np.float32)), backend.devices()[0]
    mesh = Mesh(np.array([device]), ("x",))
    for client in backend.clients().values():
        for live in client.live_arrays():
            live.delete()
    backend.drop_backend()
    return array, device, NamedSharding(mesh, P("x"))


@pytest.mark.parametrize("use", [np.asarray, str, repr, device_put, jit(lambda x: x)])
def test_a_lost_array_says_so(lost, use):
    with pytest.raises(RuntimeError, match=r"(float32|f32)\[3\].*" + LOST):
        use(lost[0])


@pytest.mark.parametrize("which", [1, 2], ids=["device", "sharding"])
def test_a_lost_destination_says_so(lost, which):
    with pytest.raises(RuntimeError, match="destination.*" + LOST):
        device_put(np.ones(2), lost[which])


def test_a_deleted_array_of_this_epoch_is_only_deleted(lost):
    array = device_put(np.ones(3, np.float32))
    array.delete()
    with pytest.raises(RuntimeError, match="deleted"):
        np.asarray(array)


def test_compiled_functions_work_again_on_new_devices(lost):
    assert float(jit(lambda x: x)(np.float32(2.0))) == 2.0


def test_no_sharding_of_a_lost_device_is_kept(lost):
    assert single_device_sharding.cache_info().currsize == 0
    one = single_device_sharding(backend.devices()[0])
    assert single_device_sharding(backend.devices()[0]) is one
