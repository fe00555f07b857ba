"""Arrays of 64-bit types that were made while x64 was on and are used while it is off.

They count as arrays of the 32-bit type, as 64-bit NumPy arrays do, wherever a function is traced:
transformations narrow what they are given, traces what a function captures. Only a single operation
that runs at once keeps them: it is traced as if x64 were on, so that the constants beside them fit.
"""

from collections.abc import Iterable
from typing import Any, Final

import numpy as np

from tans_core import ArrayImpl, ShapedArray, dtypes, state
from tans_core.config import enable_x64
from tans_core.trace import eval_trace
from tans_core.tree import registry
from tans_xla._jaxlib import batched_device_put

type Value = Any  # a concrete array, a Python scalar or a tracer


_WIDE: Final = frozenset(map(np.dtype, ("int64", "uint64", "float64", "complex128")))


def is_wide(x: Value) -> bool:
    """Whether `x` is a concrete array that the current setting of x64 has no type for."""
    return type(x) is ArrayImpl and x.aval.dtype in _WIDE and not enable_x64.value


def array_type(x: ArrayImpl) -> Any:
    """Return the type that a concrete array has for the current trace."""
    aval = x.aval
    if aval.dtype not in _WIDE or enable_x64.value or state.trace is eval_trace:
        return aval
    return _narrow_type(aval)


def holds_wide(args: tuple, kwargs: dict) -> bool:
    """Whether a leaf of the arguments of a call that runs now is to be narrowed."""
    if state.trace is not eval_trace:
        return False
    return any(map(is_wide, registry.flatten((args, kwargs))[0]))


def narrowed(args: tuple, kwargs: dict) -> tuple[tuple, dict]:
    """Return the arguments with such arrays converted."""
    leaves, treedef = registry.flatten((args, kwargs))
    return treedef.unflatten(narrow_all(leaves))


def narrow_all(values: Iterable[Value]) -> list[Value]:
    """Return the values with wide arrays converted."""
    return [narrow(x) if type(x) is ArrayImpl else x for x in values]


def narrow(x: Value) -> Value:
    """Return `x`, or a copy of a wide array.

    It has the sharding of `x` and is made from the pieces that are here.
    """
    if not is_wide(x) or x.is_deleted():
        return x  # what reads a deleted array says so
    aval, shards = _narrow_type(x.aval), x.addressable_shards
    with np.errstate(over="ignore"):  # to infinity, as a conversion on the device does
        pieces = [np.asarray(s.data).astype(aval.dtype) for s in shards]
    return batched_device_put(aval, x.sharding, pieces, [s.device for s in shards], x._committed)


def fitting(x: Value, aval: Any) -> Value:
    """Return `x`, or a narrowed copy where values of the type `aval` are not wide."""
    return x if getattr(x, "dtype", None) == getattr(aval, "dtype", None) else narrow(x)


def _narrow_type(aval: ShapedArray) -> ShapedArray:
    return aval.update(dtype=dtypes.canonicalize(aval.dtype))
