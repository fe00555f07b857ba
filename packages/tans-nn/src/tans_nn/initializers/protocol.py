"""What initializers are, and what they do with shapes and dtypes."""

from typing import Any, Protocol

from tans_core import dtypes
from tans_numpy.creation import requested_dtype

type Array = Any
type Key = Any
type DType = Any


class Initializer(Protocol):
    """What an initializer is: a function that draws an array of a given shape."""

    def __call__(
        self, key: Key, shape: Any, dtype: DType = None, out_sharding: Any = None
    ) -> Array:
        """Draw an array.

        Args:
          key: a random key.
          shape: shape of the result.
          dtype: float or complex dtype; that of the initializer if None.
          out_sharding: sharding of the result in explicit mode.
        """
        ...


def initial_dtype(dtype: DType, default: DType) -> Any:
    """Return the dtype to draw: that of the call, of the initializer, or the default float."""
    dtype = default if dtype is None else dtype
    return dtypes.default_float() if dtype is None else requested_dtype(dtype, "initializer")


def as_sizes(shape: Any) -> tuple[int, ...]:
    """Return a shape as a tuple of Python integers.

    Raises:
      TypeError: a size is not an integer.
    """
    try:
        return tuple(n.__index__() for n in shape)
    except (AttributeError, TypeError):
        raise TypeError(
            f"initializer: given the shape {shape!r}, expected integers that are known while "
            "tracing. Pass a tuple of Python integers."
        ) from None
