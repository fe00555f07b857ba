"""The DLPack protocol: share buffers with other libraries without a copy."""

import enum
from typing import Any, Final

import numpy as np

from tans_core import dtypes
from tans_core.sharding import Sharding
from tans_xla import backend
from tans_xla._jaxlib import (
    ArrayImpl,
    Device,
    JaxRuntimeError,
    from_dlpack_capsule,
    to_dlpack_capsule,
)
from tans_xla.host_value import check_not_deleted
from tans_xla.startup import serve_piece_shardings
from tans_xla.transfer.place import put_numpy
from tans_xla.transfer.target import make_target


class DLDeviceType(enum.IntEnum):
    """Kinds of device of the DLPack standard that Tans knows."""

    kDLCPU = 1  # noqa: N815  (the names of the standard)
    kDLCUDA = 2  # noqa: N815
    kDLCUDAHost = 3  # noqa: N815
    kDLROCM = 10  # noqa: N815


_BY_PLATFORM: Final = {
    "cpu": DLDeviceType.kDLCPU,
    "cuda": DLDeviceType.kDLCUDA,
    "gpu": DLDeviceType.kDLCUDA,
    "rocm": DLDeviceType.kDLROCM,
}
_PLATFORMS: Final[dict[int, str]] = {
    DLDeviceType.kDLCPU: "cpu",
    DLDeviceType.kDLCUDAHost: "cpu",
    DLDeviceType.kDLCUDA: "cuda",
    DLDeviceType.kDLROCM: "rocm",
}


def is_supported_dtype(dtype: Any) -> bool:
    """Whether arrays of a dtype can be exchanged.

    Args:
      dtype: dtype, or what stands for one.

    Example:
      >>> is_supported_dtype("float32"), is_supported_dtype("int4")
      (True, False)
    """
    found = np.dtype(dtype)
    return found.name in _SUPPORTED


_SUPPORTED: Final = frozenset(
    "bool bfloat16 complex64 complex128 float16 float32 float64 int8 int16 int32 int64 uint8 "
    "uint16 uint32 uint64".split()
)


def dlpack_device(self: ArrayImpl) -> tuple[DLDeviceType, int]:
    """Return the DLPack device type and number of the array's device.

    Raises:
      BufferError: the array is spread over several devices, or the platform has no DLPack type.
    """
    device = _one_device(self)
    kind = _BY_PLATFORM.get(device.platform)
    if kind is None:
        raise BufferError(
            f"__dlpack__: an array on {device} was given, but DLPack has no device type for "
            f"platform {device.platform!r}. Copy it first: device_put(x, devices('cpu')[0])."
        )
    return kind, 0 if kind is DLDeviceType.kDLCPU else device.local_hardware_id


def _one_device(array: ArrayImpl) -> Device:
    devices = array._sharding._internal_device_list
    if len(devices) != 1:
        raise BufferError(
            f"__dlpack__: the array is spread over {len(devices)} devices, expected one. Export "
            "its pieces, x.addressable_shards[i].data, or gather it on one device."
        )
    return devices[0]


def to_capsule(
    self: ArrayImpl,
    *,
    stream: Any = None,
    max_version: tuple[int, int] | None = None,
    dl_device: tuple[int, int] | None = None,
    copy: bool | None = None,
) -> Any:
    """Return a DLPack capsule of the array's buffer.

    Args:
      self: the array, on one device.
      stream: the consumer's stream, where the platform has streams.
      max_version: newest DLPack version the consumer knows; None asks for the old form.
      dl_device: device the consumer wants; None means the array's own.
      copy: True asks for a copy, False forbids one.

    Raises:
      BufferError: the buffer can't be exported as asked.
    """
    check_not_deleted(self)
    own = dlpack_device(self)
    source = self
    if dl_device is not None and tuple(dl_device) != own:
        if copy is False:
            raise BufferError(
                f"__dlpack__: device {tuple(dl_device)} was asked for with copy=False, but the "
                f"array is on {own}. Leave copy out."
            )
        source = _moved(self, dl_device)
    elif copy:
        source = self.__copy__()
    version = (0, 8) if max_version is None else (max_version[0], max_version[1])
    return to_dlpack_capsule(source, stream, version, source is not self)


def _moved(array: ArrayImpl, dl_device: tuple[int, int]) -> ArrayImpl:
    platform = _PLATFORMS.get(dl_device[0])
    if platform is None:
        raise BufferError(f"__dlpack__: device {tuple(dl_device)} is of an unknown type.")
    return array.to_device(_device_of(dl_device))


def _device_of(dl_device: tuple[int, int]) -> Device:
    kind, number = dl_device
    platform = _PLATFORMS.get(kind)
    if platform is None:
        raise BufferError(
            f"from_dlpack: the buffer is on a device of DLPack type {int(kind)}, expected one of "
            f"{[int(k) for k in _PLATFORMS]} (CPU, CUDA, ROCm). Copy it to the CPU first."
        )
    devices = backend.get_client(platform).local_devices()
    if platform == "cpu":
        return devices[0]
    return next(d for d in devices if d.local_hardware_id == number)


def from_dlpack(external_array: Any, device: Any = None, copy: bool | None = None) -> ArrayImpl:
    """Return an array that holds the data of another library's array.

    The result may share memory: don't write to the other array afterwards unless `copy=True`.

    Args:
      external_array: object with ``__dlpack__`` and ``__dlpack_device__``, any shape.
      device: device or single-device sharding of the result; None means where the data is.
      copy: True asks for a copy, False forbids one, None copies when needed.

    Raises:
      TypeError: the object lacks the protocol.
      ValueError: `copy=False`, but a copy is needed.
    """
    if not hasattr(external_array, "__dlpack__") or not hasattr(
        external_array, "__dlpack_device__"
    ):
        raise TypeError(
            f"from_dlpack: a {type(external_array).__name__} was given, expected an object with "
            "__dlpack__ and __dlpack_device__. Pass the array itself, not a capsule."
        )
    source = _device_of(external_array.__dlpack_device__())
    wanted = _wanted_device(device)
    if copy is False and wanted not in (None, source):
        raise ValueError(
            f"from_dlpack: copy=False was given, but the data is on {source} and {wanted} was "
            "asked for. Leave copy out."
        )
    array = _import(external_array, source, copy)
    return array if wanted in (None, source) else array.to_device(wanted)


def _wanted_device(device: Any) -> Device | None:
    if not isinstance(device, Sharding):
        return device
    devices = list(device._internal_device_list)
    if len(devices) != 1:
        raise ValueError(
            f"from_dlpack: {device!r} has {len(devices)} devices, expected a single-device "
            "sharding. Import on one device, then use device_put."
        )
    return devices[0]


def _import(external: Any, device: Device, copy: bool | None) -> ArrayImpl:
    stream = None
    if device.platform != "cpu":
        stream = device.get_stream_for_external_ready_events()
    options = {} if stream is None else {"stream": stream}
    try:
        # Only the new form can say that memory is read-only.
        capsule = external.__dlpack__(max_version=(1, 0), **options)
    except TypeError:  # an exporter of before 2024, without max_version
        capsule = external.__dlpack__(**options)
    try:
        with serve_piece_shardings():
            array = from_dlpack_capsule(capsule, device, stream, copy)
    except JaxRuntimeError as error:
        if copy is False:
            raise ValueError(
                f"from_dlpack: copy=False was given, but the buffer can't be shared: {error}. "
                "Leave copy out."
            ) from None
        raise
    if copy:
        # The owner may write to its memory as soon as this returns.
        array = array.__copy__().block_until_ready()
    return _canonical(array, copy)


def _canonical(array: ArrayImpl, copy: bool | None) -> ArrayImpl:
    """Give the array our interned type; narrow 64-bit data while x64 is off."""
    dtype = np.dtype(array.aval.dtype)
    narrow = dtypes.canonicalize(dtype)
    if narrow == dtype:
        return array
    if copy is False:
        raise ValueError(
            f"from_dlpack: copy=False was given, but {dtype} data becomes {narrow} while x64 is "
            "off. Leave copy out, or set jax_enable_x64."
        )
    return put_numpy(array._to_np_array_did_copy()[0], make_target(array._sharding))
