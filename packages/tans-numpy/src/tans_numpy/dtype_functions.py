"""Questions about dtypes, with arrays among the arguments."""

from typing import Any

import numpy as np

from tans_core import dtypes, typeof
from tans_core.dtype_queries import finfo as finfo
from tans_core.dtype_queries import iinfo as iinfo
from tans_core.dtype_queries import issubdtype as _issubdtype
from tans_core.promotion import promote_types as promote_types
from tans_core.promotion import result_type as _result_type
from tans_numpy.creation import asarray


def issubdtype(arg1: Any, arg2: Any) -> bool:
    """Whether a dtype lies at or below another one in the hierarchy of scalar types.

    Args:
      arg1: dtype.
      arg2: dtype, or class such as `numpy.floating`; small floats and integers belong to these.
    """
    return _issubdtype(arg1, arg2)


def result_type(*args: Any) -> Any:
    """Return the dtype that an operation on all arguments would have.

    Args:
      *args: arrays, scalars and dtypes.

    Raises:
      TypePromotionError: they have no common dtype.
    """
    return _result_type(*args)


def astype(x: Any, dtype: Any, /, *, copy: bool = False, device: Any = None) -> Any:
    """Return an array converted to a dtype; see the method.

    Args:
      x: any shape.
      dtype: dtype of the result.
      copy: has no effect.
      device: device or sharding to put the result on.
    """
    return asarray(x).astype(dtype, copy=copy, device=device)


def can_cast(from_: Any, to: Any, casting: str = "safe") -> bool:
    """Whether a conversion is allowed under NumPy's casting rule.

    Args:
      from_: dtype or array.
      to: dtype.
      casting: "no", "equiv", "safe", "same_kind" or "unsafe".
    """
    # A scalar class of NumPy has an attribute dtype too, which is not a dtype.
    is_typed = hasattr(from_, "dtype") and not isinstance(from_, type)
    source = from_.dtype if is_typed else np.dtype(from_)
    return bool(np.can_cast(source, np.dtype(to), casting=casting))


def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether a dtype is of a kind of the array API standard, or equal to a dtype.

    Args:
      dtype: a dtype.
      kind: a dtype; "bool", "signed integer", "unsigned integer", "integral", "real floating",
        "complex floating" or "numeric"; or a tuple of these.

    Raises:
      ValueError: unknown kind.
    """
    classes = {
        "bool": (np.bool_,),
        "signed integer": (np.signedinteger,),
        "unsigned integer": (np.unsignedinteger,),
        "integral": (np.integer,),
        "real floating": (np.floating,),
        "complex floating": (np.complexfloating,),
        "numeric": (np.number,),
    }
    found = np.dtype(dtype)
    for option in kind if isinstance(kind, tuple) else (kind,):
        if isinstance(option, str) and option in classes:
            if any(issubdtype(found, c) for c in classes[option]):
                return True
        elif isinstance(option, str) and option not in np.sctypeDict:
            raise ValueError(
                f"isdtype: given the kind {option!r}, expected a dtype or one of "
                f"{', '.join(map(repr, classes))}."
            )
        elif found == np.dtype(option):
            return True
    return False


def dtype_of(x: Any) -> Any:
    """Return the dtype of a value, canonical for the x64 setting."""
    return dtypes.canonicalize(typeof(x).dtype)
