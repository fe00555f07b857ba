"""Read an array's value as NumPy, once, with errors that say why it can't be read."""

from typing import Any, Final

import numpy as np

from tans_core.errors import JaxRuntimeError
from tans_xla import backend
from tans_xla._jaxlib import ArrayImpl

LOST: Final = (
    "belongs to a lost epoch: the devices it was on were replaced by new ones after a process "
    "came or went; expected an array of this epoch. Keep a copy on the host (device_get) of what "
    "must survive, and put it on the new devices."
)


def host_value(array: ArrayImpl) -> np.ndarray:
    """Return the value as a read-only NumPy array; waits until it is computed.

    Raises:
      RuntimeError: the array was deleted or donated, is not wholly on this process's devices, or
        is unreduced.
    """
    value = array._npy_value
    if value is not None:
        return value
    check_readable(array)
    value, copied = array._to_np_array_did_copy()
    value.flags.writeable = False
    if copied:
        array._npy_value = value
    return value


def check_readable(array: ArrayImpl) -> None:
    """Raise RuntimeError (JaxRuntimeError) if the value can't be read from here."""
    check_not_deleted(array)
    problem = why_not_whole(array)
    if problem is not None:
        raise JaxRuntimeError(
            f"the value of an array of type {printed_type(array)} was asked for, but {problem}"
        )


def check_not_deleted(array: ArrayImpl) -> None:
    """Raise RuntimeError if the buffer is gone."""
    if array.is_deleted():
        if backend.is_lost(array._sharding._internal_device_list[0]):
            raise RuntimeError(f"an array of type {printed_type(array)} {LOST}")
        raise RuntimeError(
            f"given an array of type {printed_type(array)} that has been deleted: it was donated "
            "to a jitted function, or x.delete() was called; expected one that still has its "
            "buffer. Keep a copy, or don't donate it."
        )


def why_not_whole(array: ArrayImpl) -> str | None:
    """Return why no process-local whole value exists, with a remedy; None if it does."""
    sharding = array._sharding
    spec = getattr(sharding, "spec", None)
    if spec is not None and spec.unreduced:
        axes = ", ".join(sorted(map(str, spec.unreduced)))
        return (
            f"it is unreduced over mesh axes {axes}: each device holds an addend, "
            "so there are no UniqueIndexDomains to put together. "
            "Sum it first: tans.reshard(x, P())."
        )
    if not sharding.is_fully_addressable and not sharding.is_fully_replicated:
        return (
            "it spans devices of other processes. Read x.addressable_shards, or gather it with "
            "multihost_utils.process_allgather."
        )
    return None


def printed_type(array: Any) -> str:
    """Return the array's type in long form, such as ``float32[3]``."""
    return array.aval.str_short(short_dtypes=False)
