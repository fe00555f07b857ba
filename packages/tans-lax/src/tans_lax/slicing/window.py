"""`Slice` and `ds`: a window of static size at a start that may be traced."""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

type Index = Any  # an int, or an integer scalar that is an array or a tracer

_NOT_GIVEN: Final = object()


@dataclass(frozen=True, slots=True)
class Slice:
    """A window: `size` elements from `start`, `stride` apart.

    Args:
      start: first index, an int or an integer scalar; may be traced.
      size: number of elements.
      stride: distance between elements, at least 1.

    Example:
      >>> ds(2, 3)
      Slice(start=2, size=3, stride=1)
    """

    start: Index
    size: int
    stride: int = 1

    def __post_init__(self) -> None:
        """Check that size and stride are usable."""
        # Symbolic sizes are integers of a type of their own.
        if isinstance(self.size, float | complex | str | bool) or hasattr(self.size, "aval"):
            raise TypeError(
                f"ds: given size {self.size!r} of type {type(self.size).__name__}, expected an "
                "int: the shape of the result depends on it. Convert it with int()."
            )
        if isinstance(self.size, int) and self.size < 0:
            raise ValueError(f"ds: given size {self.size}, expected at least 0. Swap the bounds.")
        if self.stride < 1:
            raise ValueError(
                f"ds: given stride {self.stride}, expected at least 1. To walk backwards, reverse "
                "the result."
            )

    @property
    def is_dynamic_start(self) -> bool:
        """Whether the start is not known while tracing."""
        return not isinstance(self.start, int | np.integer)


def ds(start: Index | None, size: Any = _NOT_GIVEN, stride: int | None = None) -> Slice:
    """Build an index for a window of static size.

    Args:
      start: first index, which may be traced; None is 0. With no other argument it is the size of
        a window that starts at 0.
      size: number of elements.
      stride: distance between elements; None is 1.

    Returns:
      An object for ``x[ds(start, size)]``.

    Raises:
      TypeError: a size that is no int.
      ValueError: neither a start nor a size, a size below 0, or a stride below 1.

    Example:
      >>> ds(4)
      Slice(start=0, size=4, stride=1)
    """
    if size is _NOT_GIVEN:
        start, size = 0, start
    if size is None:
        raise ValueError(
            "ds: given no size, expected the number of elements. Write ds(start, size)."
        )
    return Slice(0 if start is None else start, size, 1 if stride is None else stride)
