import ml_dtypes
import numpy as np
import pytest

from tans_core import config
from tans_core.partition_spec import P
from tans_core.sharding import NamedSharding, single_device_sharding
from tans_xla import (
    backend,
    block_until_ready,
    device_get,
    device_put,
    guards,
    jit,
    make_jaxpr,
)
from tans_xla._jaxlib import ArrayImpl, JaxRuntimeError, batched_device_put
from tans_xla.dlpack import from_dlpack
from tans_xla.make_array import (
    live_arrays,
    make_array_from_callback,
    make_array_from_single_device_arrays,
)


def aligned(size):
    raw = np.zeros(size * 4 + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + size * 4].view(np.float32)


def test_tree_of_leaves():
    put = device_put({"a": 1, "b": [2.0, None, np.float64(3)], "c": True})
    assert put["a"].dtype == np.int32
    assert put["a"].weak_type
    assert put["b"][0].weak_type
    assert put["b"][1] is None
    assert not put["b"][2].weak_type
    assert put["b"][2].dtype == np.float32
    assert put["c"].dtype == bool
    assert device_put(None) is None


def test_wide_dtypes_follow_x64():
    value = np.arange(3, dtype=np.int64)
    assert device_put(value).dtype == np.int32
    with config.enable_x64(True):
        assert device_put(value).dtype == np.int64
        assert device_put(1.5).dtype == np.float64
    with pytest.raises(OverflowError, match="range of int32"):
        device_put(2**40)


def test_masked_arrays_are_refused():
    masked = np.ma.MaskedArray([1.0, 2.0], mask=[False, True])
    for fun in (device_put, jit(lambda x: x)):
        with pytest.raises(ValueError, match="masked array"):
            fun(masked)


@pytest.mark.parametrize("dtype", [">f4", ">i2", "<f8", ">c8"])
def test_any_byte_order(dtype):
    value = np.array([1, 2, 3], dtype)
    x = device_put(value)
    assert x.dtype.isnative
    np.testing.assert_array_equal(np.asarray(x), value)


def test_strided_and_read_only_values():
    value = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)
    for view in (value.T, value[:, ::2], value[::-1], np.asfortranarray(value)):
        np.testing.assert_array_equal(np.asarray(device_put(view)), view)
    value.flags.writeable = False
    np.testing.assert_array_equal(np.asarray(device_put(value)), value)


@pytest.mark.parametrize(
    ("value", "fact"),
    [
        ("text", "str"),
        (np.array(["a"]), "<U1"),
        (np.array([object()]), "object"),
        (np.zeros(2, [("a", "f4")]), "'a'"),
        (object(), "object"),
    ],
    ids=["str", "strings", "objects", "records", "object"],
)
def test_other_values_raise(value, fact):
    with pytest.raises(TypeError, match=fact):
        device_put(value)


@pytest.mark.parametrize("may_alias", [None, True, False])
def test_user_memory_is_never_shared(may_alias, mesh):
    targets = [None, backend.devices()[1], NamedSharding(mesh, P("x")), NamedSharding(mesh, P())]
    for target in targets:
        memory = aligned(16)
        x = device_put(memory, target, may_alias=may_alias)
        memory[:] = 7
        assert x.tolist() == [0.0] * 16


def test_many_leaves_cost_one_transfer_each(monkeypatch):
    from tans_xla.transfer import place

    calls = []
    real = place.batched_device_put
    monkeypatch.setattr(place, "batched_device_put", lambda *a: calls.append(1) or real(*a))
    device_put([np.ones((2, 2), np.float32) for _ in range(20)])
    assert len(calls) == 20


def test_devices_and_commitment():
    first, second = backend.devices()[:2]
    x = device_put(np.arange(3.0))
    assert device_put(x) is x
    committed = device_put(x, first)
    assert committed.committed
    assert device_put(committed, first) is committed
    moved = device_put(x, second)
    assert moved.device == second
    assert device_put(moved) is moved
    assert device_put(1.0, second).weak_type


def test_tree_of_devices():
    first, second = backend.devices()[:2]
    a, b = device_put([1, {"k": 2}], [first, second])
    assert (a.device, b["k"].device) == (first, second)
    with pytest.raises(ValueError, match="prefix"):
        device_put({"a": 1, "b": 2}, {"a": first})
    with pytest.raises(ValueError, match="'cpu'"):
        device_put(1, "cpu")
    with pytest.raises(ValueError, match="set_mesh"):
        device_put(np.ones(2), P("x"))


SPECS = [P(), P("x"), P("y"), P(("x", "y")), P(None, "y"), P("y", "x")]


@pytest.mark.parametrize("new", SPECS, ids=str)
@pytest.mark.parametrize("old", SPECS, ids=str)
def test_resharding_keeps_values(mesh, old, new):
    value = np.arange(64, dtype=np.float32).reshape(8, 8)
    x = device_put(device_put(value, NamedSharding(mesh, old)), NamedSharding(mesh, new))
    assert x.sharding == NamedSharding(mesh, new)
    np.testing.assert_array_equal(np.asarray(x), value)
    index = x.sharding.devices_indices_map((8, 8))
    for shard in x.addressable_shards:
        np.testing.assert_array_equal(shard.data, value[index[shard.device]])


def test_sharding_must_divide(mesh):
    with pytest.raises(ValueError, match="divisible"):
        device_put(np.zeros(6, np.float32), NamedSharding(mesh, P("y")))
    with pytest.raises(ValueError, match="2 entries"):
        device_put(np.zeros(8, np.float32), NamedSharding(mesh, P("x", "y")))
    with pytest.raises(ValueError, match="no devices"):
        device_put(np.zeros(8), NamedSharding(mesh.abstract_mesh, P("x")))
    with pytest.raises(NotImplementedError, match="reshard"):
        device_put(np.zeros(8), NamedSharding(mesh, P(unreduced={"x"})))


def test_donated_array_is_deleted():
    x = device_put(np.arange(3.0))
    y = device_put(x, backend.devices()[1], donate=True)
    assert x.is_deleted()
    assert y.tolist() == [0, 1, 2]
    z = device_put(y, donate=True)
    assert y.is_deleted()
    assert z.tolist() == [0, 1, 2]


def test_memory_kinds():
    device = backend.devices()[0]
    pinned = device_put(np.arange(3.0), single_device_sharding(device, "pinned_host"))
    assert pinned.sharding.memory_kind == "pinned_host"
    back = device_put(pinned, device)
    assert back.sharding.memory_kind == "device"
    assert back.tolist() == [0, 1, 2]


def test_device_get():
    tree = {"a": device_put(np.arange(2.0)), "b": 3, "c": "text", "d": np.ones(1)}
    got = device_get(tree)
    assert type(got["a"]) is np.ndarray
    assert (got["b"], got["c"]) == (3, "text")
    np.testing.assert_array_equal(got["d"], [1])


def test_block_until_ready_takes_trees():
    tree = {"a": device_put(1.0), "b": "text"}
    assert block_until_ready(tree) is tree
    x = device_put(np.ones(2))
    x.delete()
    with pytest.raises(JaxRuntimeError):
        block_until_ready(x)


def test_array_protocol_object():
    class Wrapper:
        def __jax_array__(self):
            return np.arange(2.0)

    assert device_put(Wrapper()).tolist() == [0, 1]


def test_pieces_make_an_array(mesh):
    value = np.arange(8, dtype=np.float32)
    sharding = NamedSharding(mesh, P("y"))
    index = sharding.devices_indices_map((8,))
    pieces = [device_put(value[index[d]], d) for d in mesh.devices.flat]
    x = make_array_from_single_device_arrays((8,), sharding, pieces[::-1])
    np.testing.assert_array_equal(np.asarray(x), value)
    assert x.aval.str_short() == "f32[8@y]"


def test_wrong_pieces_raise(mesh):
    sharding = NamedSharding(mesh, P("y"))
    pieces = [device_put(np.ones(3, np.float32), d) for d in mesh.devices.flat]
    with pytest.raises(ValueError, match=r"expected shape \(2,\)"):
        make_array_from_single_device_arrays((8,), sharding, pieces)
    with pytest.raises(ValueError, match="one array per device"):
        make_array_from_single_device_arrays((8,), sharding, pieces[:1])
    with pytest.raises(TypeError, match="sequence"):
        make_array_from_single_device_arrays((8,), sharding, pieces[0])
    with pytest.raises(TypeError, match="ndarray"):
        make_array_from_single_device_arrays((8,), sharding, [np.ones(2)])


def test_callback_makes_each_distinct_piece_once(mesh):
    value = np.arange(8.0)
    seen = []
    x = make_array_from_callback(
        (8,), NamedSharding(mesh, P("y")), lambda index: seen.append(index) or value[index]
    )
    assert len(seen) == 4
    value[:] = 0
    np.testing.assert_array_equal(np.asarray(x), np.arange(8.0))
    with pytest.raises(ValueError, match=r"shape \(2,\)"):
        make_array_from_callback((8,), NamedSharding(mesh, P("y")), lambda index: np.ones(3))


def test_live_arrays_hold_what_is_alive():
    x = device_put(np.ones(3))
    assert any(a is x for a in live_arrays())
    pointer = id(x)
    del x
    assert all(id(a) != pointer for a in live_arrays())


def test_transfer_guard_forbids_implicit_transfers_only():
    x = device_put(np.zeros(3, np.float32))
    with guards.transfer_guard_host_to_device("disallow"):
        assert device_put(np.ones(3)).shape == (3,)
        with pytest.raises(JaxRuntimeError, match="Disallowed host-to-device"):
            batched_device_put(x.aval, x.sharding, [np.zeros(3)], [x.device])
    with (
        guards.transfer_guard("disallow_explicit"),
        pytest.raises(JaxRuntimeError, match="Disallowed"),
    ):
        device_put(np.ones(3))
    assert device_put(np.ones(3)).shape == (3,)


def test_device_put_is_recorded_while_tracing(mesh):
    assert "device_put" in str(make_jaxpr(device_put)(1.0))
    sharding = NamedSharding(mesh, P("x"))
    x = device_put(np.arange(8.0), NamedSharding(mesh, P()))
    y = jit(lambda x: device_put(x, sharding))(x)
    assert isinstance(y, ArrayImpl)
    assert y.aval.str_short() == "f32[8@x]"
    np.testing.assert_array_equal(np.asarray(y), np.arange(8.0))


def test_small_floats():
    value = np.array([0.5, 1.5], ml_dtypes.float8_e5m2)
    assert device_put(value).dtype == value.dtype


def test_narrowing_out_of_range_warns_and_leaves_the_process_alive():
    for value in (np.array([1e39]), np.float64(1e39), np.array([[1e39j]])):
        with pytest.raises(RuntimeWarning, match="overflow"):  # warnings are errors here
            device_put(value)


def test_read_only_memory_is_imported():
    value = np.arange(6, dtype=np.float32).reshape(2, 3)
    value.flags.writeable = False
    np.testing.assert_array_equal(from_dlpack(value), value)


def test_exporters_without_versions_are_imported():
    class Old:
        def __init__(self, value):
            self.value = value

        def __dlpack__(self, stream=None):
            return self.value.__dlpack__()

        def __dlpack_device__(self):
            return self.value.__dlpack_device__()

    value = np.arange(3, dtype=np.int32)
    np.testing.assert_array_equal(from_dlpack(Old(value)), value)
