"""Put one concrete value on devices: no trees, no tracers.

User-owned NumPy memory is always copied, because the runtime would otherwise read it for as long
as the array lives, and a later write to it would change an immutable value.
"""

from typing import Any, Final

import numpy as np

from tans_core import dtypes
from tans_core.cache import register_cache
from tans_core.config import enable_x64
from tans_core.explicit_mode import type_sharding
from tans_core.mesh import AxisType
from tans_core.refs import RefCell, RefView
from tans_core.sharding import NamedSharding
from tans_core.types import ShapedArray
from tans_core.values import check_fits, typeof
from tans_xla._jaxlib import (
    ArrayCopySemantics,
    ArrayImpl,
    HostBufferSemantics,
    batched_copy,
    batched_device_put,
)
from tans_xla.host_value import check_not_deleted, host_value, printed_type
from tans_xla.transfer.computed import is_computed, moved
from tans_xla.transfer.target import Target, default_target

_COPY_NOW: Final = HostBufferSemantics.IMMUTABLE_ONLY_DURING_CALL
_SCALAR_DTYPES: Final = {
    bool: lambda: np.dtype(bool),
    int: dtypes.default_int,
    float: dtypes.default_float,
    complex: dtypes.default_complex,
}


def put_leaf(
    value: Any, target: Target | None, copy: bool = False, name: str = "device_put"
) -> Any:
    """Return `value` as an array at `target`.

    Args:
      value: array, NumPy array or scalar, Python scalar, object with ``__jax_array__``.
      target: where to; None leaves arrays where they are and puts others on the default device.
      copy: whether a result that shares a buffer with `value` is refused.
      name: the public function, for messages.

    Raises:
      TypeError: not a value that arrays can hold.
      OverflowError: a Python int that does not fit the default int dtype.
    """
    kind = type(value)
    if kind is np.ndarray:
        return put_numpy(value, target)
    if kind is ArrayImpl:
        return _move(value, target, copy)
    if kind in _SCALAR_DTYPES:
        return _put_scalar(value, kind, target)
    return _place_other(value, target, copy, name)


def _place_other(value: Any, target: Target | None, copy: bool, name: str) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        typeof(value)  # refuses masked arrays, whose mask the next line would drop
        return put_numpy(np.asarray(value), target)
    if hasattr(value, "__jax_array__"):
        return put_leaf(value.__jax_array__(), target, copy, name)
    if isinstance(value, RefCell | RefView):
        raise TypeError(
            f"{name}: given the value {value!r}, a ref; expected an array. Read it first: write "
            "ref[...] instead of ref."
        )
    dtype = getattr(getattr(value, "aval", None), "dtype", None)
    if isinstance(dtype, dtypes.ExtendedDType):
        return dtype.wrap(put_leaf(dtype.unwrap(value), target, copy, name))
    for kind in _SCALAR_DTYPES:
        if isinstance(value, kind):
            return _put_scalar(value, kind, target)
    raise TypeError(
        f"{name}: the value {value!r} is a {type(value).__name__}, expected an array, a NumPy "
        "array or scalar, or a Python bool, int, float or complex. Convert it to numbers first."
    )


def _put_scalar(value: complex, kind: type, target: Target | None) -> ArrayImpl:
    if kind is int:
        check_fits(value)  # pyright: ignore[reportArgumentType]
    array = np.array(value, _SCALAR_DTYPES[kind]())
    return put_numpy(array, target, weak_type=kind is not bool)


def put_numpy(
    value: np.ndarray, target: Target | None = None, weak_type: bool = False
) -> ArrayImpl:
    """Return a copy of a NumPy array on devices; narrowed to 32 bits while x64 is off.

    Raises:
      TypeError: a dtype that arrays can't have (strings, objects, records).
    """
    if target is None:
        target = default_target()
    key = (value.shape, value.dtype, weak_type, enable_x64.value)
    aval = _KNOWN_TYPES.get(key)
    if aval is None:
        value, aval = _new_type(value, key)
    sharding, devices, committed, is_single = target
    if not is_single:
        return _put_pieces(value, aval, target)
    if type(sharding) is NamedSharding:
        aval = sharded_type(aval, sharding)
    if value.dtype is not aval.dtype and value.dtype != aval.dtype:
        # Narrowed here: in the runtime, a warning of NumPy that is an error ends the process.
        value = value.astype(aval.dtype)
    return batched_device_put(aval, sharding, [value], devices, committed, False, _COPY_NOW)


# Types of plain values, kept alive: making one anew costs as much as the transfer.
_KNOWN_TYPES: Final[dict[Any, ShapedArray]] = {}
register_cache(_KNOWN_TYPES.clear)


def _new_type(value: np.ndarray, key: Any) -> tuple[np.ndarray, ShapedArray]:
    """Return the value in native form with its type; remember the type if nothing was changed."""
    dtype = value.dtype
    if not dtype.isnative:
        value = value.astype(dtype.newbyteorder("="))
    elif dtype == dtypes.float0:
        value = np.zeros(value.shape, bool)
    aval = ShapedArray(value.shape, dtypes.canonicalize(value.dtype), key[2])
    if value.dtype is dtype:
        if len(_KNOWN_TYPES) > 4096:
            _KNOWN_TYPES.clear()
        _KNOWN_TYPES[key] = aval
    return value, aval


def _put_pieces(value: np.ndarray, aval: ShapedArray, target: Target) -> ArrayImpl:
    sharding = target.sharding
    if getattr(getattr(sharding, "spec", None), "unreduced", None):
        raise NotImplementedError(
            f"device_put: a host value was given for the unreduced sharding {sharding!r}; its "
            "addends are not defined. Put it replicated, then use reshard to make it unreduced."
        )
    indices = sharding.devices_indices_map(aval.shape)
    # One private copy that all pieces may share. Asking the runtime to copy instead fails
    # (bad_function_call) when two devices get the same part.
    value = np.array(value, dtype=aval.dtype)
    pieces = [value[indices[device]] for device in target.devices]
    return batched_device_put(
        sharded_type(aval, sharding),
        sharding, pieces, target.devices, target.committed, False, HostBufferSemantics.ZERO_COPY,
    )  # fmt: skip


def sharded_type(aval: ShapedArray, sharding: Any) -> ShapedArray:
    """Return the type of an array with this sharding: Explicit axes are part of it."""
    if type(sharding) is not NamedSharding:
        return aval
    if AxisType.Explicit not in sharding.mesh.axis_types:
        return aval
    return aval.update(sharding=type_sharding(sharding.mesh, sharding.spec, aval.ndim))


def _move(array: ArrayImpl, target: Target | None, copy: bool) -> ArrayImpl:
    """Return `array` at `target`, sharing the buffer where that is possible and allowed."""
    check_not_deleted(array)
    old = array._sharding
    if target is None or (not target.committed and not array._committed and old == target.sharding):
        return _copy_in_place(array) if copy else array
    new = target.sharding
    if old is new or old == new:
        if copy:
            return _copy_in_place(array, committed=target.committed)
        if array._committed == target.committed or array._committed:
            return array
    aval = sharded_type(array.aval.update(sharding=None), new)
    if target.is_single and len(old._internal_device_list) == 1:
        return batched_device_put(aval, new, [array], target.devices, target.committed, copy)
    if _same_pieces(old, new, array.ndim):
        new.shard_shape(array.shape)
        return _move_pieces(array, aval, new, copy)
    if _unreduced(new) and not _unreduced(old) and is_computed(old, new):
        return moved(array, new)
    if _unreduced(old) or _unreduced(new):
        raise NotImplementedError(
            f"device_put: from {old!r} to {new!r} needs addends to be summed or made, which is a "
            "computation. Use reshard."
        )
    if not old.is_fully_addressable and not old.is_fully_replicated:
        raise NotImplementedError(
            f"device_put: an array of type {printed_type(array)} spans devices of other processes "
            f"and its layout would change from {old!r} to {new!r}. Use reshard, or jit with "
            "out_shardings."
        )
    return put_numpy(host_value(array), target, array.aval.weak_type)


def _unreduced(sharding: Any) -> bool:
    return bool(getattr(getattr(sharding, "spec", None), "unreduced", None))


def _same_pieces(old: Any, new: Any, ndim: int) -> bool:
    """Whether device number i holds the same part under both shardings."""
    if len(old._internal_device_list) != len(new._internal_device_list):
        return False
    return old._to_xla_hlo_sharding(ndim) == new._to_xla_hlo_sharding(ndim)


def _move_pieces(array: ArrayImpl, aval: ShapedArray, new: Any, copy: bool) -> ArrayImpl:
    semantics = ArrayCopySemantics.ALWAYS_COPY if copy else ArrayCopySemantics.REUSE_INPUT
    (moved,) = batched_copy([array], [new._internal_device_list], [new], [semantics])
    return moved._rewrap_with_aval_and_sharding(aval, new)


def _copy_in_place(array: ArrayImpl, committed: bool | None = None) -> ArrayImpl:
    sharding = array._sharding
    committed = array._committed if committed is None else committed
    if len(sharding._internal_device_list) == 1:
        devices = list(sharding._internal_device_list)
        return batched_device_put(array.aval, sharding, [array], devices, committed, True)
    return _move_pieces(array, array.aval, sharding, copy=True)
