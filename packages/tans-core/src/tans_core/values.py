"""`typeof`: from a value to its type, for every class of value that programs may hold."""

from collections.abc import Callable
from typing import Any, Final, NoReturn

import numpy as np

from tans_core import dtypes
from tans_core._jaxlib import Array
from tans_core.config import enable_x64
from tans_core.types import AbstractValue, ShapedArray

type TypeOf = Callable[[Any], AbstractValue]


def _scalar_type(kind: type, default: Callable[[], Any]) -> TypeOf:
    weak = kind is not bool
    # The type by the value of enable_x64, held here so that it is made once.
    made: dict[bool, AbstractValue] = {}

    def typeof_scalar(x: Any) -> AbstractValue:
        wide = enable_x64.value
        found = made.get(wide)
        if found is None:
            found = made[wide] = ShapedArray((), default(), weak)
        return found

    return typeof_scalar


def _numpy_type(x: np.ndarray | np.generic) -> ShapedArray:
    dtype = dtypes.canonicalize(x.dtype)
    return ShapedArray(x.shape, dtype)


_TYPEOF: Final[dict[type, TypeOf]] = {
    np.ndarray: _numpy_type,
    bool: _scalar_type(bool, lambda: np.dtype(bool)),
    int: _scalar_type(int, dtypes.default_int),
    float: _scalar_type(float, dtypes.default_float),
    complex: _scalar_type(complex, dtypes.default_complex),
}


def register_value_type(cls: type, typeof: TypeOf) -> None:
    """Make instances of `cls` values: `typeof(x)` answers with their type.

    Raises:
      ValueError: `cls` is registered already.
    """
    if cls in _TYPEOF:
        raise ValueError(
            f"value type {cls.__name__} is registered already; expected one registration per class."
        )
    _TYPEOF[cls] = typeof


def typeof(x: Any) -> AbstractValue:
    """Return the type of a value.

    Args:
      x: array of any shape, tracer, NumPy array or scalar, Python scalar.

    Raises:
      TypeError: values of this class can't be part of a traced program.

    Example:
      >>> typeof(1.5).weak_type
      True
    """
    handler = _TYPEOF.get(type(x))
    return handler(x) if handler is not None else _slow_typeof(x)


def check_fits(x: int) -> None:
    """Check that the default integer dtype, which stands for Python integers, holds `x`.

    Raises:
      OverflowError: it does not.
    """
    if -(1 << 31) <= x < 1 << 31:
        return
    dtype: Any = dtypes.default_int()
    info = np.iinfo(dtype)
    if not info.min <= x <= info.max:
        raise OverflowError(
            f"given the Python integer {x}; expected {info.min} to {info.max}, the range of "
            f"{dtype}. Give it a dtype that holds it, such as jnp.uint32(x), or enable x64."
        )


def is_value(x: Any) -> bool:
    """Whether `typeof` knows the class of `x`."""
    cls: type[Any] = type(x)
    return cls in _TYPEOF or _find_handler(x) is not None


def _find_handler(x: Any) -> TypeOf | None:
    if isinstance(x, Array):
        return lambda value: value.aval
    if isinstance(x, np.generic | np.ndarray):
        # Masked arrays are known by a method: their class would cost the import of its module.
        return _refuse_masked if hasattr(x, "filled") else _numpy_type
    for base in type(x).__mro__[1:]:
        if base in _TYPEOF:
            return _TYPEOF[base]
    if hasattr(x, "__jax_array__"):
        return lambda value: typeof(value.__jax_array__())
    return None


def _refuse_masked(x: Any) -> NoReturn:
    raise ValueError(
        f"given a masked array of shape {x.shape}; expected an array without a mask, which arrays "
        "here can't have. Write x.filled(value), or keep the mask as an array of its own."
    )


def _slow_typeof(x: Any) -> AbstractValue:
    handler = _find_handler(x)
    if handler is None:
        raise TypeError(
            f"value {_shown(x)} of type {type(x).__module__}.{type(x).__qualname__} is not an "
            "array: expected an array, a NumPy array or scalar, or a Python bool, int, float or "
            "complex. Convert it with jnp.asarray, or pass it as a static argument."
        )
    if type(x).__module__ != "builtins" and isinstance(x, Array | np.generic):
        _TYPEOF[type(x)] = handler
    return handler(x)


def _shown(x: Any) -> str:
    text = repr(x)
    return text if len(text) <= 60 else text[:57] + "..."
