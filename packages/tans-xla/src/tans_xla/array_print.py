"""Printed forms of arrays."""

import numpy as np

from tans_xla._jaxlib import ArrayImpl
from tans_xla.host_value import check_not_deleted, host_value, why_not_whole

_PREFIX = "Array("


def array_repr(array: ArrayImpl) -> str:
    """Return NumPy's layout under the name ``Array``, with dtype and weak mark.

    Arrays without a whole value here (unreduced, or on other processes) print their type.
    """
    aval = array.aval
    dtype = f"dtype={aval.dtype.name}" + (", weak_type=True)" if aval.weak_type else ")")
    check_not_deleted(array)
    reason = why_not_whole(array)
    if reason is not None:
        spec = getattr(array._sharding, "spec", None)
        where = f", spec={spec!r}" if spec is not None else ""
        return f"{_PREFIX}shape={aval.shape}{where}, {dtype}"
    if aval.size == 0:
        return f"{_PREFIX}[], shape={aval.shape}, {dtype}"
    text = np.array2string(host_value(array), prefix=_PREFIX, suffix=",", separator=", ")
    last_line = len(text) - text.rfind("\n") + (len(_PREFIX) if "\n" not in text else 0)
    fits = last_line + len(dtype) + 1 <= np.get_printoptions()["linewidth"]
    return f"{_PREFIX}{text},{' ' if fits else chr(10) + ' ' * len(_PREFIX)}{dtype}"


def array_str(array: ArrayImpl) -> str:
    """Return the value as NumPy prints it."""
    check_not_deleted(array)
    return array_repr(array) if why_not_whole(array) else str(host_value(array))
