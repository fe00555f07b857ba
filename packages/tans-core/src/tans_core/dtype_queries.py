"""Questions about dtypes: `issubdtype` over NumPy's hierarchy with our types, and their limits."""

import functools
from typing import Any

import ml_dtypes
import numpy as np

from tans_core import dtypes
from tans_core.dtypes import DTypeLike, native

_SMALL_FLOAT = frozenset((*dtypes.SMALL_FLOATS, np.dtype(dtypes.bfloat16)))
_ABSTRACT = (np.generic, np.number, np.inexact, np.floating, np.complexfloating, np.integer)


def issubdtype(a: DTypeLike, b: DTypeLike) -> bool:
    """Whether dtype `a` lies at or below `b` in the hierarchy of scalar types.

    Small floats count as `numpy.floating`, small ints as `numpy.signedinteger` or
    `numpy.unsignedinteger`, and extended dtypes lie below `dtypes.extended`.

    Args:
      a: a dtype or scalar class.
      b: a dtype, or a scalar class, abstract ones included.

    Raises:
      TypeError: one of them is not a dtype.

    Example:
      >>> issubdtype(dtypes.bfloat16, np.floating)
      True
    """
    try:
        return _issubdtype(a, b)
    except TypeError:  # one has no hash, or is no dtype: then this raises
        return _issubdtype.__wrapped__(_hashable(a), _hashable(b))


def _hashable(dtype: DTypeLike) -> Any:
    try:
        hash(dtype)
    except TypeError:
        return native(dtype)
    return dtype


@functools.lru_cache(maxsize=1024)
def _issubdtype(a: DTypeLike, b: DTypeLike) -> bool:
    if dtypes.is_extended(b):
        return a == b
    a = a.type if dtypes.is_extended(a) else a
    kind_a = a if _is_scalar_class(a) else _numpy(a)
    kind_b = b if _is_scalar_class(b) else _numpy(b)
    parents = _parents(kind_a)
    if isinstance(kind_b, np.dtype):
        return kind_a == kind_b
    return any(issubclass(parent, kind_b) for parent in parents)


def _numpy(dtype: DTypeLike) -> Any:
    """Return a dtype object without narrowing or refusing what NumPy knows."""
    if isinstance(dtype, str) and hasattr(ml_dtypes, dtype):
        return np.dtype(getattr(ml_dtypes, dtype))
    return np.dtype(dtype)


def _is_scalar_class(kind: Any) -> bool:
    return (
        isinstance(kind, type)
        and issubclass(kind, np.generic)
        and (kind in _ABSTRACT_CLASSES or issubclass(kind, dtypes.extended))
    )


_ABSTRACT_CLASSES = frozenset(
    (*_ABSTRACT, np.signedinteger, np.unsignedinteger, np.character, np.flexible)
)


def _parents(kind: Any) -> tuple[type, ...]:
    if isinstance(kind, type):
        return (kind,)
    if kind in _SMALL_FLOAT:
        return (np.floating,)
    if kind in dtypes.SMALL_INTS:
        return (np.unsignedinteger if kind.name[0] == "u" else np.signedinteger,)
    return (kind.type,)


def finfo(dtype: DTypeLike) -> Any:
    """Return the limits of a float or complex dtype: eps, max, min, tiny, bits, ...

    Args:
      dtype: a float or complex dtype, or an array of one.

    Raises:
      ValueError: not a float dtype.

    Example:
      >>> float(finfo("bfloat16").eps)
      0.0078125
    """
    found = _of_array_or_dtype(dtype)
    if not issubdtype(found, np.inexact):
        raise ValueError(f"finfo: given dtype {found}, expected a float dtype. See also iinfo.")
    limits: Any = ml_dtypes.finfo
    return limits(found)


def iinfo(dtype: DTypeLike) -> Any:
    """Return the limits of an integer dtype: max, min, bits.

    Args:
      dtype: an integer dtype, or an array of one.

    Raises:
      ValueError: not an integer dtype.

    Example:
      >>> iinfo("int4").max
      7
    """
    found = _of_array_or_dtype(dtype)
    if not issubdtype(found, np.integer):
        raise ValueError(f"iinfo: given dtype {found}, expected an integer. See also finfo.")
    return ml_dtypes.iinfo(found)


def _of_array_or_dtype(dtype: DTypeLike) -> np.dtype:
    inner = getattr(dtype, "dtype", None)
    return _numpy(inner if isinstance(inner, np.dtype) else dtype)


def scalar_type_of(x: Any) -> type:
    """Return the Python scalar class nearest to a value's dtype: bool, int, float or complex.

    Args:
      x: a Python scalar, or anything with a dtype.

    Raises:
      TypeError: the dtype is not numeric.
    """
    if dtypes.is_python_scalar(x):
        return next(kind for kind in dtypes.PYTHON_SCALARS if isinstance(x, kind))
    found = native(x)
    parents = (np.bool_, np.integer, np.floating, np.complexfloating)
    for numpy_kind, kind in zip(parents, dtypes.PYTHON_SCALARS, strict=True):
        if issubdtype(found, numpy_kind):
            return kind
    raise TypeError(f"scalar_type_of: given {x!r}, expected a number or an array of numbers.")
