"""Comparisons: eq, ne, lt, le, gt, ge, and total orders of floats for sorting."""

from typing import Any, Final

from tans_core import Primitive
from tans_lax.elementwise.operands import PYTHON_SCALARS, adapt

type Value = Any  # an array, a Python scalar or a tracer

eq_p: Final = Primitive("eq", family=__name__)
ne_p: Final = Primitive("ne", family=__name__)
lt_p: Final = Primitive("lt", family=__name__)
le_p: Final = Primitive("le", family=__name__)
gt_p: Final = Primitive("gt", family=__name__)
ge_p: Final = Primitive("ge", family=__name__)
# Total orders: -nan < -inf < ... < -0 < 0 < ... < inf < nan.
eq_to_p: Final = Primitive("eq_to", family=__name__)
lt_to_p: Final = Primitive("lt_to", family=__name__)
le_to_p: Final = Primitive("le_to", family=__name__)


def eq(x: Value, y: Value) -> Value:
    """Tell where ``x == y``.

    Args:
      x: any shape, any dtype.
      y: same dtype and shape as `x`, or of rank 0.

    Returns:
      Boolean array; comparisons with nan are false.

    Raises:
      TypeError: the dtypes or shapes differ.

    Example:
      >>> bool(lax.eq(2, 2))
      True
    """
    if type(x) in PYTHON_SCALARS or type(y) in PYTHON_SCALARS:
        x, y = adapt(x, y)
    return eq_p.bind(x, y)


def ne(x: Value, y: Value) -> Value:
    """Tell where ``x != y``.

    Args:
      x: any shape, any dtype.
      y: same dtype and shape as `x`, or of rank 0.

    Returns:
      Boolean array; comparisons with nan are true.

    Raises:
      TypeError: the dtypes or shapes differ.

    Example:
      >>> bool(lax.ne(2, 2))
      False
    """
    if type(x) in PYTHON_SCALARS or type(y) in PYTHON_SCALARS:
        x, y = adapt(x, y)
    return ne_p.bind(x, y)


def lt(x: Value, y: Value) -> Value:
    """Tell where ``x < y``.

    Args:
      x: any shape, any dtype but complex ones.
      y: same dtype and shape as `x`, or of rank 0.

    Returns:
      Boolean array; comparisons with nan are false.

    Raises:
      TypeError: the dtypes or shapes differ, or the dtype is complex.

    Example:
      >>> bool(lax.lt(1, 2))
      True
    """
    if type(x) in PYTHON_SCALARS or type(y) in PYTHON_SCALARS:
        x, y = adapt(x, y)
    return lt_p.bind(x, y)


def le(x: Value, y: Value) -> Value:
    """Tell where ``x <= y``.

    Args:
      x: any shape, any dtype but complex ones.
      y: same dtype and shape as `x`, or of rank 0.

    Returns:
      Boolean array; comparisons with nan are false.

    Raises:
      TypeError: the dtypes or shapes differ, or the dtype is complex.

    Example:
      >>> bool(lax.le(2, 2))
      True
    """
    if type(x) in PYTHON_SCALARS or type(y) in PYTHON_SCALARS:
        x, y = adapt(x, y)
    return le_p.bind(x, y)


def gt(x: Value, y: Value) -> Value:
    """Tell where ``x > y``.

    Args:
      x: any shape, any dtype but complex ones.
      y: same dtype and shape as `x`, or of rank 0.

    Returns:
      Boolean array; comparisons with nan are false.

    Raises:
      TypeError: the dtypes or shapes differ, or the dtype is complex.

    Example:
      >>> bool(lax.gt(1, 2))
      False
    """
    if type(x) in PYTHON_SCALARS or type(y) in PYTHON_SCALARS:
        x, y = adapt(x, y)
    return gt_p.bind(x, y)


def ge(x: Value, y: Value) -> Value:
    """Tell where ``x >= y``.

    Args:
      x: any shape, any dtype but complex ones.
      y: same dtype and shape as `x`, or of rank 0.

    Returns:
      Boolean array; comparisons with nan are false.

    Raises:
      TypeError: the dtypes or shapes differ, or the dtype is complex.

    Example:
      >>> bool(lax.ge(2, 2))
      True
    """
    if type(x) in PYTHON_SCALARS or type(y) in PYTHON_SCALARS:
        x, y = adapt(x, y)
    return ge_p.bind(x, y)
