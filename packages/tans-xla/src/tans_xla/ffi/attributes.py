"""Attributes of foreign calls: keyword arguments as hashable params, and as MLIR."""

from typing import Any, Final, NoReturn

import numpy as np

from tans_core.errors import message
from tans_xla import hlo
from tans_xla._jaxlib import ir

type Attributes = tuple[tuple[str, Any], ...]

_SCALARS: Final = (bool, int, float, str, np.generic)


class FrozenArray:
    """An array as part of a program: compared by its contents."""

    __slots__ = ("_key", "value")

    def __init__(self, value: np.ndarray) -> None:
        self.value = value.copy()
        self._key = value.shape, value.dtype.str, value.tobytes()

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FrozenArray) and self._key == other._key

    def __repr__(self) -> str:
        return repr(self.value)


class FrozenDict(tuple[tuple[str, Any], ...]):
    """A dict as part of a program."""

    __slots__ = ()


def frozen(target: str, attributes: dict[str, Any]) -> Attributes:
    """Return attributes in a form that has a hash.

    Raises:
      TypeError: a value has no form in the program; names it.
    """
    for key in attributes:
        if not isinstance(key, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            _refuse(target, repr(key), attributes[key], f"Name it, as in {{'{key}': ...}}.")
    return tuple((k, _frozen(target, k, attributes[k])) for k in sorted(attributes))


def _frozen(target: str, name: str, value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return FrozenArray(value)
    if isinstance(value, dict):
        return FrozenDict(frozen(target, value))
    supported = isinstance(value, _SCALARS) and not isinstance(value, np.void)
    if not supported or (isinstance(value, np.generic) and value.dtype.kind not in "biufSU"):
        _refuse(target, name, value)
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        _refuse(target, name, value, "Integers have 64 bits: pass it as a string or two numbers.")
    return value


def _refuse(
    target: str,
    name: str,
    value: Any,
    remedy: str = "Pass what is computed by position, and keep constants as NumPy arrays.",
) -> NoReturn:
    if isinstance(value, list | tuple):
        remedy = f"Write np.array({list(value)!r}) for it."
    raise TypeError(
        message(
            f"ffi_call of {target!r}",
            f"the attribute {name}={value!r} of type {type(value).__name__}",
            "a bool, int, float, string, NumPy scalar or array, or a dict of them",
            remedy,
        )
    )


def ir_attribute(value: Any) -> Any:
    """Return the MLIR attribute of a value: int is i64, float is f64, NumPy scalars keep theirs."""
    if isinstance(value, bool | np.bool_):
        return ir.BoolAttr.get(bool(value))
    if isinstance(value, str):
        return hlo.string(str(value))
    if isinstance(value, FrozenDict):
        return ir.DictAttr.get({k: ir_attribute(v) for k, v in value})
    if isinstance(value, FrozenArray):
        return hlo.dense(value.value)
    if isinstance(value, np.ndarray):
        return hlo.dense(value)
    dtype = np.asarray(value).dtype if isinstance(value, np.generic) else None
    if isinstance(value, int | np.integer):
        kind = hlo.scalar_type(dtype or np.dtype(np.int64))
        return ir.IntegerAttr.get(kind, int(value))
    return ir.FloatAttr.get(hlo.scalar_type(dtype or np.dtype(np.float64)), float(value))
