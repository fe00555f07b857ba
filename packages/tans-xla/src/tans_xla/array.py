"""The Python surface of jaxlib's array class: attributes, conversions to Python and NumPy.

There is one array class per process and it can't be subclassed, so everything is attached to it.
Operators and NumPy-style methods come from packages above, through `tans_core.slots`.
"""

from collections.abc import Iterator
from operator import attrgetter
from typing import Any, Final, NoReturn

import numpy as np

from tans_core import values
from tans_core.trace import Tracer
from tans_core.types import ShapedArray
from tans_xla import dispatch_object, dlpack, shards, wide_arrays
from tans_xla._jaxlib import (
    ArrayImpl,
    Device,
    batched_copy_to_host_async,
    batched_device_put,
    jaxlib_core,
)
from tans_xla.array_print import array_repr, array_str
from tans_xla.host_value import check_not_deleted, host_value
from tans_xla.layouts import format_of
from tans_xla.transfer import device_put
from tans_xla.transfer.place import put_numpy


def _as_numpy(self: ArrayImpl, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
    """Return the value as a NumPy array; a read-only view of the buffer where that is possible."""
    value = host_value(self)
    if copy or (dtype is not None and np.dtype(dtype) != value.dtype):
        return np.array(value, dtype=dtype, copy=copy)
    return value


def _scalar(self: ArrayImpl, kind: str) -> Any:
    if self.aval.shape:
        raise TypeError(
            f"{kind}() of an array of type {self.aval.str_short(short_dtypes=False)}: only arrays "
            f"of shape () convert to a Python scalar. Pick one element, as in {kind}(x[0]), or "
            "reshape a single-element array with x.reshape(())."
        )
    return host_value(self)


def _float(self: ArrayImpl) -> float:
    return float(_scalar(self, "float"))


def _int(self: ArrayImpl) -> int:
    return int(_scalar(self, "int"))


def _complex(self: ArrayImpl) -> complex:
    return complex(_scalar(self, "complex"))


def _index(self: ArrayImpl) -> int:
    aval = self.aval
    if aval.shape or not np.issubdtype(aval.dtype, np.integer):
        kind = aval.dtype.kind
        if aval.shape or kind not in "iuV" or not aval.dtype.name.startswith(("int", "uint")):
            raise TypeError(
                f"an array of type {aval.str_short(short_dtypes=False)} was given where an index "
                "is needed; expected an integer array of shape (). Convert it with int(x)."
            )
    return int(host_value(self))


def _bool(self: ArrayImpl) -> bool:
    size = self.aval.size
    if size != 1:
        what = "is empty" if size == 0 else f"has {size} elements"
        remedy = "x.size > 0" if size == 0 else "x.any() or x.all()"
        raise ValueError(
            f"the truth value of an array of type {self.aval.str_short(short_dtypes=False)} is "
            f"ambiguous: it {what}, and a single element was expected. Write {remedy}."
        )
    return bool(host_value(self).reshape(()))


def _item(self: ArrayImpl, *args: int) -> Any:
    """Return one element as a Python scalar; without `args` the array must have one element."""
    if not args and self.aval.size != 1:
        raise ValueError(
            f"item() of an array of type {self.aval.str_short(short_dtypes=False)} with "
            f"{self.aval.size} elements: exactly one was expected. Say which, as in x.item(0)."
        )
    return _python_scalar(host_value(self).item(*args))


def _python_scalar(value: Any) -> Any:
    """Turn the scalars of ml_dtypes, which `item` leaves alone, into Python numbers."""
    if not isinstance(value, np.generic):
        return value
    return int(value) if value.dtype.name.startswith(("int", "uint")) else float(value)


def _tolist(self: ArrayImpl) -> Any:
    """Return nested lists of Python scalars."""
    value = host_value(self)
    if value.dtype.kind == "V":
        wide = np.int32 if value.dtype.name.startswith(("int", "uint")) else np.float32
        value = value.astype(wide)
    return value.tolist()


def _tobytes(self: ArrayImpl, order: Any = "C") -> bytes:
    """Return the raw bytes of the value."""
    return host_value(self).tobytes(order)


def _len(self: ArrayImpl) -> int:
    shape = self.aval.shape
    if not shape:
        raise TypeError(
            "len() of an array of shape (): expected at least one dimension. Use x.size."
        )
    return shape[0]


def _iter(self: ArrayImpl) -> Iterator[ArrayImpl]:
    aval = self.aval
    if not aval.shape:
        raise TypeError(
            "iteration over an array of shape (): expected at least one dimension. "
            "Use x itself, or x.reshape(1)."
        )
    devices = self._sharding._internal_device_list
    if len(devices) > 1:
        return (self[i] for i in range(aval.shape[0]))
    return _iterate_rows(self, aval, devices)


def _iterate_rows(self: ArrayImpl, aval: ShapedArray, devices: Any) -> Iterator[ArrayImpl]:
    value = host_value(self)
    row = ShapedArray(aval.shape[1:], aval.dtype, aval.weak_type)
    devices = list(devices)
    for i in range(len(value)):
        yield batched_device_put(
            row, self._sharding, [value[i]], devices, self._committed, force_copy=True
        )


def _format(self: ArrayImpl, spec: str) -> str:
    value = host_value(self)
    return format(value[()] if value.ndim == 0 else value, spec)


def _hash(self: ArrayImpl) -> NoReturn:
    raise TypeError(
        "an array has no hash: its values may be traced, and equality is element by element. "
        "Use id(x), or a hash of x.tobytes()."
    )


def _restore(value: np.ndarray, weak_type: bool) -> ArrayImpl:
    """Return the array of a pickle, on the default device."""
    return put_numpy(value, weak_type=weak_type)


def _reduce(self: ArrayImpl) -> tuple[Any, ...]:
    return _restore, (np.asarray(host_value(self)), self.aval.weak_type)


def _copy(self: ArrayImpl) -> ArrayImpl:
    return device_put(self, may_alias=False)


def _deepcopy(self: ArrayImpl, memo: dict[int, Any]) -> ArrayImpl:
    return device_put(self, may_alias=False)


def _copy_to_host_async(self: ArrayImpl) -> None:
    """Start copying the value to the host, so that reading it later waits less."""
    check_not_deleted(self)
    if self._npy_value is None:
        batched_copy_to_host_async([self])


def _device(self: ArrayImpl) -> Any:
    devices = self._sharding._internal_device_list
    return devices[0] if len(devices) == 1 else self._sharding


def _devices(self: ArrayImpl) -> set[Device]:
    """Return the set of devices that hold the array."""
    return set(self._sharding._internal_device_list)


def _nbytes(self: ArrayImpl) -> int:
    aval = self.aval
    return aval.size * aval.dtype.itemsize


def _to_device(self: ArrayImpl, device: Any, *, stream: Any = None) -> ArrayImpl:
    """Return the array on another device or with another sharding."""
    if stream is not None:
        raise NotImplementedError(
            f"to_device: stream={stream!r} was given, expected None: the runtime orders transfers."
        )
    return device_put(self, device)


_free: Final = ArrayImpl.delete


def _delete(self: ArrayImpl, *args: Any, **kwargs: Any) -> None:
    """Free the buffer; the array can't be used any more."""
    if getattr(self, "_is_captured", False):
        # C++ would run the calls that hold the array; Python says what is wrong with them.
        dispatch_object.forget_known_calls()
    _free(self, *args, **kwargs)


_METHODS: Final[dict[str, Any]] = {
    "_tans_owner": True,
    "__array__": _as_numpy,
    "__float__": _float,
    "__int__": _int,
    "__complex__": _complex,
    "__index__": _index,
    "__bool__": _bool,
    "__len__": _len,
    "__iter__": _iter,
    "__format__": _format,
    "__repr__": array_repr,
    "__str__": array_str,
    "__hash__": _hash,
    "__setitem__": Tracer.__setitem__,
    "__delitem__": Tracer.__delitem__,
    "__reduce__": _reduce,
    "__copy__": _copy,
    "__deepcopy__": _deepcopy,
    "__dlpack__": dlpack.to_capsule,
    "__dlpack_device__": dlpack.dlpack_device,
    "item": _item,
    "tolist": _tolist,
    "tobytes": _tobytes,
    "devices": _devices,
    "to_device": _to_device,
    "copy_to_host_async": _copy_to_host_async,
    "addressable_data": shards.addressable_data,
    "_fitting": wide_arrays.fitting,
    "delete": _delete,
}
# A getter made of C functions saves a Python frame per access.
_PROPERTIES: Final[dict[str, Any]] = {
    "shape": attrgetter("aval.shape"),
    "dtype": attrgetter("aval.dtype"),
    "ndim": attrgetter("aval.ndim"),
    "size": attrgetter("aval.size"),
    "weak_type": attrgetter("aval.weak_type"),
    "itemsize": attrgetter("aval.dtype.itemsize"),
    "format": format_of,
    "sharding": attrgetter("_sharding"),
    "committed": attrgetter("_committed"),
    "is_fully_addressable": attrgetter("_sharding.is_fully_addressable"),
    "is_fully_replicated": attrgetter("_sharding.is_fully_replicated"),
    "nbytes": _nbytes,
    "device": _device,
    "_value": host_value,
    "addressable_shards": shards.addressable_shards,
    "global_shards": shards.global_shards,
}


def _attach() -> None:
    for name, method in _METHODS.items():
        setattr(ArrayImpl, name, method)
    for name, getter in _PROPERTIES.items():
        setattr(ArrayImpl, name, property(getter))
    values.register_value_type(ArrayImpl, wide_arrays.array_type)
    ArrayImpl._check_and_rearrange = staticmethod(shards.check_and_rearrange)
    jaxlib_core.Array.__module__ = "tans"


_attach()
