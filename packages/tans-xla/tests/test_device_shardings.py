import pickle

import numpy as np
import pytest

from tans_core.mesh import Mesh
from tans_core.partition_spec import P
from tans_core.sharding import (
    GSPMDSharding,
    NamedSharding,
    SingleDeviceSharding,
    named_sharding,
    single_device_sharding,
)
from tans_xla import backend


def test_devices_of_a_sharding(mesh):
    sharding = NamedSharding(mesh, P("x"))
    assert sharding.device_set == set(backend.devices())
    assert sharding.addressable_devices == set(backend.devices())
    assert sharding.is_fully_addressable
    assert sharding.num_devices == 8
    assert sharding.memory_kind == "device"
    assert repr(sharding).endswith("spec=P('x',), memory_kind=device)")


def test_sharding_over_an_abstract_mesh_has_none(mesh):
    sharding = NamedSharding(mesh.abstract_mesh, P("x"))
    for query in ("device_set", "addressable_devices", "is_fully_addressable"):
        with pytest.raises(ValueError, match="no devices"):
            getattr(sharding, query)
    with pytest.raises(ValueError, match="no devices"):
        sharding.devices_indices_map((8,))


def test_abstract_mesh_keeps_the_kind_of_device(mesh):
    assert "device_kind=cpu, num_cores=None, platform=cpu" in repr(mesh.abstract_mesh)
    assert mesh.local_mesh is mesh
    assert not mesh.is_multi_process


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (P(), [(0, 6)] * 8),
        (P("x"), [(0, 3)] * 4 + [(3, 6)] * 4),
        (P(None, "y"), [(0, 6)] * 8),
    ],
    ids=str,
)
def test_slices_of_the_first_dimension(mesh, spec, expected):
    indices = NamedSharding(mesh, spec).devices_indices_map((6, 4))
    assert [index[0].indices(6)[:2] for index in indices.values()] == expected


def test_slices_follow_axis_order(mesh):
    first = NamedSharding(mesh, P(("x", "y"))).devices_indices_map((8,))
    second = NamedSharding(mesh, P(("y", "x"))).devices_indices_map((8,))
    assert [index[0].start for index in first.values()] == [0, 1, 2, 3, 4, 5, 6, 7]
    assert [index[0].start for index in second.values()] == [0, 2, 4, 6, 1, 3, 5, 7]


def test_unreduced_has_no_slices(mesh):
    with pytest.raises(NotImplementedError, match="reshard"):
        NamedSharding(mesh, P(unreduced={"x"})).devices_indices_map((8,))


def test_equivalence(mesh):
    assert NamedSharding(mesh, P("x")).is_equivalent_to(NamedSharding(mesh, P("x", None)), 2)
    assert not NamedSharding(mesh, P("x")).is_equivalent_to(NamedSharding(mesh, P("y")), 2)
    one = Mesh(np.array(backend.devices()[:1]), "a")
    single = single_device_sharding(backend.devices()[0])
    assert single.is_equivalent_to(NamedSharding(one, P()), 2)
    assert not single.is_equivalent_to(single_device_sharding(backend.devices()[1]), 2)


def test_single_device_shardings_compare_by_value():
    first, second = backend.devices()[:2]
    assert SingleDeviceSharding(first) == single_device_sharding(first)
    assert hash(SingleDeviceSharding(first)) == hash(SingleDeviceSharding(first))
    assert SingleDeviceSharding(first) != SingleDeviceSharding(second)
    assert SingleDeviceSharding(first) != SingleDeviceSharding(first, memory_kind="pinned_host")
    assert repr(SingleDeviceSharding(first)) == (
        "SingleDeviceSharding(device=CpuDevice(id=0), memory_kind=device)"
    )
    assert single_device_sharding(first).shard_shape((3, 2)) == (3, 2)
    assert single_device_sharding(first).is_fully_replicated


def test_gspmd_shardings_compare_by_value(mesh):
    devices = mesh._internal_device_list
    hlo = NamedSharding(mesh, P("x"))._to_xla_hlo_sharding(1)
    a, b = GSPMDSharding(devices, hlo), GSPMDSharding(devices, hlo)
    assert a == b
    assert hash(a) == hash(b)
    assert a.shard_shape((8,)) == (4,)


def test_memory_kinds(mesh):
    sharding = named_sharding(mesh, P("x"))
    assert sharding.with_memory_kind("pinned_host").memory_kind == "pinned_host"
    with pytest.raises(ValueError, match="nope"):
        sharding.with_memory_kind("nope")


def test_devices_do_not_pickle(mesh):
    with pytest.raises(TypeError, match="Device"):
        pickle.dumps(NamedSharding(mesh, P("x")))
