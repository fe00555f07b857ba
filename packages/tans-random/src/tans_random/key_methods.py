"""The array methods that make sense for keys: those that move elements, and comparison."""

from typing import Final

import tans_numpy  # noqa: F401  (fills the slots that are read here)
from tans_core import ArrayImpl
from tans_random.key_array import KeyArray

_SHARED: Final = (
    "__eq__ __ne__ T at copy flatten mT ravel repeat reshape squeeze swapaxes "
    "take transpose"
).split()


def install() -> None:
    """Give `KeyArray` the methods of arrays."""
    for name in _SHARED:
        setattr(KeyArray, name, getattr(ArrayImpl, name))
    KeyArray._select = ArrayImpl.__getitem__  # pyright: ignore[reportAttributeAccessIssue]
    KeyArray.__hash__ = None  # pyright: ignore[reportAttributeAccessIssue]
