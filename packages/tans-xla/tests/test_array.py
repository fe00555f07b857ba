import copy
import math
import operator
import pickle

import ml_dtypes
import numpy as np
import pytest

from tans_core import Array
from tans_core.partition_spec import P
from tans_core.sharding import NamedSharding
from tans_xla import backend, device_put
from tans_xla._jaxlib import batched_device_put
from tans_xla.dlpack import from_dlpack


def array(value, dtype=None):
    return device_put(np.asarray(value, dtype))


def test_attributes():
    x = array([[1, 2, 3], [4, 5, 6]], np.int16)
    assert isinstance(x, Array)
    assert (x.shape, x.dtype, x.ndim, x.size) == ((2, 3), np.dtype("int16"), 2, 6)
    assert (x.itemsize, x.nbytes, len(x)) == (2, 12, 2)
    assert x.device == backend.devices()[0]
    assert x.devices() == {backend.devices()[0]}
    assert not x.committed
    assert not x.weak_type
    assert x.is_fully_addressable
    assert x.is_fully_replicated
    assert x.on_device_size_in_bytes() >= 12
    assert x.is_ready() in (True, False)
    assert x.block_until_ready() is x


PRINTED = [
    (np.arange(3.0), "Array([0., 1., 2.], dtype=float32)"),
    (np.zeros((0, 3)), "Array([], shape=(0, 3), dtype=float32)"),
    (np.array([True]), "Array([ True], dtype=bool)"),
    (np.array([1.5, 2], ml_dtypes.bfloat16), "Array([1.5, 2], dtype=bfloat16)"),
    (np.array(2, ml_dtypes.bfloat16), "Array(2, dtype=bfloat16)"),
    (np.array([1, 2], ml_dtypes.int4), "Array([1, 2], dtype=int4)"),
    (np.array([1 + 2j]), "Array([1.+2.j], dtype=complex64)"),
    (1.0, "Array(1., dtype=float32, weak_type=True)"),
    (np.arange(4).reshape(2, 2), "Array([[0, 1],\n       [2, 3]], dtype=int32)"),
    (
        np.arange(2000.0),
        "Array([0.000e+00, 1.000e+00, 2.000e+00, ..., 1.997e+03, 1.998e+03,\n"
        "       1.999e+03], dtype=float32)",
    ),
]


@pytest.mark.parametrize(("value", "text"), PRINTED, ids=[text[:20] for _, text in PRINTED])
def test_printed_form(value, text):
    assert repr(device_put(value)) == text


def test_string_forms_are_numpys():
    x = array([0.0, 1.0])
    assert str(x) == f"{x}" == "[0. 1.]"
    assert f"{array(1.25):.1f}" == "1.2"
    with pytest.raises(TypeError):
        f"{x:.1f}"


@pytest.mark.parametrize("convert", [float, int, complex], ids=lambda f: f.__name__)
def test_python_scalars(convert):
    assert convert(array(2.0)) == convert(2.0)
    assert type(convert(array(2.0))) is convert
    with pytest.raises(TypeError, match=r"float32\[1\]"):
        convert(array([2.0]))


def test_index_needs_an_integer_scalar():
    assert operator.index(array(3, np.uint8)) == 3
    assert operator.index(array(3, ml_dtypes.int4)) == 3
    for x in (array(3.0), array([3]), array(2, ml_dtypes.bfloat16)):
        with pytest.raises(TypeError, match="index"):
            operator.index(x)


def test_truth_value():
    assert bool(array([1.0]))
    assert not array(0)
    with pytest.raises(ValueError, match="2 elements"):
        bool(array([1, 2]))
    with pytest.raises(ValueError, match="empty"):
        bool(array([]))


def test_item_tolist_tobytes():
    assert array([[2.5]]).item() == 2.5
    assert array([1, 2]).item(1) == 2
    assert type(array(1.5, ml_dtypes.bfloat16).item()) is float
    assert array([1.5], ml_dtypes.bfloat16).tolist() == [1.5]
    assert array([[1], [2]]).tolist() == [[1], [2]]
    assert array([1, 2], np.int8).tobytes() == b"\x01\x02"
    with pytest.raises(ValueError, match="2 elements"):
        array([1, 2]).item()


def test_iteration_gives_arrays():
    rows = list(array([[1, 2], [3, 4]]))
    assert [row.tolist() for row in rows] == [[1, 2], [3, 4]]
    assert all(isinstance(row, Array) for row in rows)
    assert [float(x) for x in array([1.0, 2.0])] == [1.0, 2.0]
    for use in (iter, len):
        with pytest.raises(TypeError, match="at least one dimension"):
            use(array(1.0))


def test_no_hash_and_no_assignment():
    x = array([1, 2])
    with pytest.raises(TypeError, match="hash"):
        hash(x)
    with pytest.raises(TypeError, match=r"x\.at\[i\]\.set"):
        x[0] = 1
    with pytest.raises(TypeError, match="deleted in place"):
        del x[0]


@pytest.mark.parametrize(
    "dtype", ["float32", "bfloat16", "complex64", "int8", "bool", "float8_e4m3fn"]
)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3, 4)], ids=str)
def test_numpy_round_trip(dtype, shape):
    value = (np.arange(math.prod(shape)) % 3).reshape(shape).astype(dtype)
    x = device_put(value)
    read = np.asarray(x)
    assert read.dtype == value.dtype
    assert not read.flags.writeable
    np.testing.assert_array_equal(read, value)


def test_numpy_protocol():
    x = array([1.0, 2.0])
    assert np.asarray(x, np.int32).dtype == np.int32
    assert np.array(x).flags.writeable
    assert np.asarray(x, copy=False).ctypes.data == x.unsafe_buffer_pointer()
    np.testing.assert_array_equal(np.stack([x, x]), [[1, 2], [1, 2]])
    with pytest.raises(ValueError, match=r"copy"):
        np.asarray(x, np.int32, copy=False)
    assert memoryview(x).shape == (2,)


def test_copies_are_independent():
    x = device_put(np.arange(3.0), backend.devices()[1])
    for y in (copy.copy(x), copy.deepcopy(x)):
        assert y.unsafe_buffer_pointer() != x.unsafe_buffer_pointer()
        assert y.committed
        assert y.device == x.device
    weak = pickle.loads(pickle.dumps(device_put(1.5)))
    assert weak.weak_type
    assert float(weak) == 1.5
    half = pickle.loads(pickle.dumps(array([1.5], ml_dtypes.bfloat16)))
    assert half.dtype == ml_dtypes.bfloat16


def test_deleted_array_says_so():
    x = array([1.0, 2.0])
    x.delete()
    assert x.is_deleted()
    assert x.shape == (2,)
    for read in (repr, str, np.asarray, list, device_put):
        with pytest.raises(RuntimeError, match=r"float32\[2\] that has been deleted"):
            read(x)


def test_sharded_array(mesh):
    x = device_put(np.arange(8.0), NamedSharding(mesh, P("y")))
    assert x.aval.str_short() == "f32[8@y]"
    assert x.committed
    assert x.device == x.sharding
    assert len(x.devices()) == 8
    np.testing.assert_array_equal(np.asarray(x), np.arange(8.0))
    shards = x.addressable_shards
    assert [s.replica_id for s in shards] == [0] * 4 + [1] * 4
    assert shards[1].index == (slice(2, 4),)
    np.testing.assert_array_equal(shards[5].data, [2, 3])
    assert shards[5].data.device == backend.devices()[5]
    assert repr(shards[1]) == (
        "Shard(device=CpuDevice(id=1), index=(slice(2, 4, None),), replica_id=0, data=[2. 3.])"
    )
    np.testing.assert_array_equal(x.addressable_data(3), [6, 7])
    assert [s.device for s in x.global_shards] == [s.device for s in shards]


def test_unreduced_array_prints_but_cannot_be_read(mesh):
    sharding = NamedSharding(mesh, P(unreduced={"x"}))
    aval = device_put(np.zeros(3, np.float32)).aval
    devices = list(mesh.devices.flat)
    x = batched_device_put(aval, sharding, [np.ones(3, np.float32)] * 8, devices)
    assert "unreduced={'x'}" in repr(x)
    assert "unreduced={'x'}" in str(x)
    with pytest.raises(RuntimeError, match=r"unreduced over mesh axes x.*reshard"):
        np.asarray(x)
    np.testing.assert_array_equal(x.addressable_shards[3].data, np.ones(3))


def test_dlpack_export():
    x = array(np.arange(3, dtype=np.float32))
    assert x.__dlpack_device__() == (1, 0)
    shared = np.from_dlpack(x)
    np.testing.assert_array_equal(shared, [0, 1, 2])
    assert shared.ctypes.data == x.unsafe_buffer_pointer()
    copied = np.from_dlpack(x, copy=True)
    assert copied.ctypes.data != x.unsafe_buffer_pointer()


def test_dlpack_export_of_a_sharded_array_raises(mesh):
    x = device_put(np.arange(8.0), NamedSharding(mesh, P("x")))
    with pytest.raises(BufferError, match="8 devices"):
        x.__dlpack__()


def test_dlpack_import():
    x = from_dlpack(np.arange(3, dtype=np.int32))
    assert x.dtype == np.int32
    assert x.tolist() == [0, 1, 2]
    narrowed = from_dlpack(np.arange(3, dtype=np.int64))
    assert narrowed.dtype == np.int32
    assert narrowed.tolist() == [0, 1, 2]
    second = backend.devices()[1]
    assert from_dlpack(np.ones(2, np.float32), device=second).device == second


def test_dlpack_import_copies_on_request():
    memory = aligned(16)
    copied = from_dlpack(memory, copy=True)
    memory[:] = 7
    assert copied.tolist() == [0.0] * 16


def test_dlpack_import_errors():
    with pytest.raises(TypeError, match="__dlpack__"):
        from_dlpack([1, 2])
    with pytest.raises(ValueError, match="copy=False"):
        from_dlpack(np.arange(3.0), copy=False)
    with pytest.raises(ValueError, match="copy=False"):
        from_dlpack(np.ones(2, np.float32), device=backend.devices()[1], copy=False)


def aligned(size):
    raw = np.zeros(size * 4 + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + size * 4].view(np.float32)
