"""The array methods that make sense for keys: those that move elements, and comparison."""

from collections.abc import Callable
from typing import Any, Final

import tans_numpy  # noqa: F401  (fills the slots that are read here)
from tans_core import ArrayImpl
from tans_random.key_array import KeyArray

_SHARED: Final = (
    "T at copy flatten mT ravel repeat reshape squeeze swapaxes take transpose"
).split()


def _comparison(compare: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        dtype = getattr(other, "dtype", type(other).__name__)
        if dtype != self.dtype:
            raise TypeError(
                f"comparison of keys: given {self.dtype} and {dtype}, expected keys of one "
                "generator. Compare their words with random.key_data."
            )
        return compare(self, other)

    return method


def _astype(self: KeyArray, dtype: Any, *_: Any, **__: Any) -> Any:
    raise NotImplementedError(
        f"astype: given keys of dtype {self.dtype} to convert to {dtype}, expected numbers. Read "
        "their words with random.key_data."
    )


def install() -> None:
    """Give `KeyArray` the methods of arrays."""
    for name in _SHARED:
        setattr(KeyArray, name, getattr(ArrayImpl, name))
    KeyArray.__eq__ = _comparison(ArrayImpl.__eq__)
    KeyArray.__ne__ = _comparison(ArrayImpl.__ne__)
    KeyArray.astype = _astype  # pyright: ignore[reportAttributeAccessIssue]
    KeyArray.__hash__ = None  # pyright: ignore[reportAttributeAccessIssue]
