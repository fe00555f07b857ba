"""Comparisons and logic."""

from typing import Any

import numpy as np

import tans_lax as lax
from tans_core import dtypes, typeof
from tans_core.dtype_queries import issubdtype
from tans_numpy.operands import ArrayLike, check_arraylike, promote_shapes, scalar_like
from tans_numpy.ufuncs.makers import binary
from tans_numpy.ufuncs.universal import as_ufunc
from tans_xla import composite

type Array = Any

equal = binary(lax.eq, "equal", "Compare for equality; nan equals nothing.")
not_equal = binary(lax.ne, "not_equal", "Compare for inequality; nan differs from everything.")


def ordered(operation: Any) -> Any:
    """Return a comparison that also orders complex numbers."""

    def compare(x: Any, y: Any) -> Any:
        if not issubdtype(typeof(x).dtype, np.complexfloating):
            return operation(x, y)
        # NumPy's order of complex numbers: real parts first, imaginary parts where these are equal.
        real_x, real_y = lax.real(x), lax.real(y)
        return lax.select(
            lax.eq(real_x, real_y), operation(lax.imag(x), lax.imag(y)), operation(real_x, real_y)
        )

    return compare


less = binary(ordered(lax.lt), "less", "Compute ``x < y``.")
less_equal = binary(ordered(lax.le), "less_equal", "Compute ``x <= y``.")
greater = binary(ordered(lax.gt), "greater", "Compute ``x > y``.")
greater_equal = binary(ordered(lax.ge), "greater_equal", "Compute ``x >= y``.")


def as_bool(x: Any) -> Any:
    """Return whether each element differs from zero."""
    dtype = typeof(x).dtype
    if dtypes.is_extended(dtype):
        return lax.convert_element_type(x, np.dtype(bool))  # raises
    return x if dtype == np.bool_ else lax.ne(x, scalar_like(x, 0))


def _logical(operation: Any, name: str, summary: str, identity: bool) -> Any:
    def ufunc(x: ArrayLike, y: ArrayLike, /) -> Array:
        check_arraylike(name, x, y)
        return operation(*promote_shapes(name, as_bool(x), as_bool(y)))

    ufunc.__name__ = ufunc.__qualname__ = name
    ufunc.__doc__ = (
        f"{summary}\n\n    Args:\n      x, y: arrays whose shapes broadcast, or scalars.\n"
    )
    return as_ufunc(composite(ufunc), 2, identity)


logical_and = _logical(
    lax.bitwise_and, "logical_and", "Whether both operands differ from zero.", True
)
logical_or = _logical(lax.bitwise_or, "logical_or", "Whether one operand differs from zero.", False)
logical_xor = _logical(
    lax.bitwise_xor, "logical_xor", "Whether exactly one operand differs from zero.", False
)


@composite
def logical_not(x: ArrayLike, /) -> Array:
    """Whether `x` is zero.

    Args:
      x: array of any shape, or a scalar.
    """
    check_arraylike("logical_not", x)
    dtype = typeof(x).dtype
    return lax.bitwise_not(x) if dtype == np.bool_ else lax.eq(x, scalar_like(x, 0))
