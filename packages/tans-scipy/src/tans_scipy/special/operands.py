"""What special functions do with their operands: promote, broadcast, refuse complex ones."""

from typing import Any

import numpy as np

import tans_lax as lax
import tans_numpy as jnp
from tans_core import dtypes, typeof
from tans_numpy.operands import (
    ArrayLike,
    broadcast_shapes,
    common_shape,
    promote_dtypes_inexact,
)

type Array = Any


def broadcast(name: str, *args: ArrayLike, error: type[Exception] = TypeError) -> list[Array]:
    """Return operands of one floating-point dtype and one shape.

    Args:
      name: the function, for messages.
      args: arrays whose shapes broadcast, and scalars; integers become floats.
      error: what shapes of one rank raise that do not broadcast, TypeError or ValueError.

    Raises:
      ValueError: shapes of different ranks do not broadcast.
    """
    operands = promote_dtypes_inexact(name, *args)
    check = common_shape if error is TypeError else broadcast_shapes
    check(name, *(typeof(x).shape for x in operands))
    return list(jnp.broadcast_arrays(*operands))


def strong(name: str, x: ArrayLike, error: type[Exception] = ValueError) -> Array:
    """Return one operand in floating point, without a weak type."""
    (x,) = promote_dtypes_inexact(name, x)
    refuse_complex(name, x, error=error)
    return lax.convert_element_type(x, typeof(x).dtype)


def refuse_complex(name: str, *args: Any, error: type[Exception] = ValueError) -> None:
    """Raise `error` for a complex operand."""
    for x in args:
        if dtypes.is_complex(typeof(x).dtype):
            raise error(
                f"{name}: given {typeof(x).str_short()}, expected real numbers. Take the real part "
                "if the imaginary part is 0."
            )


def wide(x: Array) -> Array:
    """Return half precision, which can't hold the coefficients of most series, in float32."""
    return x.astype(np.float32) if typeof(x).dtype.itemsize < 4 else x
