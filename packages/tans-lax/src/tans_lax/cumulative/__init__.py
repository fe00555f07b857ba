"""Cumulative reductions along one axis: running sum, product, extrema and log-sum-exp."""

from typing import Any, Final

from tans_core import Array, Primitive
from tans_xla.sizes import as_int

type ArrayLike = Any  # array of the documented shape, tracer, NumPy array or Python scalar

cumsum_p: Final = Primitive("cumsum", family=__name__)
cumprod_p: Final = Primitive("cumprod", family=__name__)
cummax_p: Final = Primitive("cummax", family=__name__)
cummin_p: Final = Primitive("cummin", family=__name__)
cumlogsumexp_p: Final = Primitive("cumlogsumexp", family=__name__)


def _bind(primitive: Primitive, operand: ArrayLike, axis: int, reverse: bool) -> Array:
    return primitive.bind(operand, axis=as_int(axis), reverse=bool(reverse))


def cumsum(operand: ArrayLike, axis: int = 0, reverse: bool = False) -> Array:
    """Sum cumulatively along an axis.

    Args:
      operand: any shape with at least one dimension, numeric.
      axis: the axis to run along, from 0.
      reverse: run from the last element to the first.

    Returns:
      Array of the operand's shape and dtype; its last element along `axis` (the first when
      reversed) is the whole sum.

    Raises:
      TypeError: the dtype is not numeric.
      ValueError: the axis is out of range.

    Example:
      >>> import numpy as np
      >>> cumsum(np.array([1, 2, 3])).tolist()
      [1, 3, 6]
    """
    return _bind(cumsum_p, operand, axis, reverse)


def cumprod(operand: ArrayLike, axis: int = 0, reverse: bool = False) -> Array:
    """Multiply cumulatively along an axis; arguments and errors as for `cumsum`.

    Example:
      >>> import numpy as np
      >>> cumprod(np.array([1, 2, 3]), reverse=True).tolist()
      [6, 6, 3]
    """
    return _bind(cumprod_p, operand, axis, reverse)


def cummax(operand: ArrayLike, axis: int = 0, reverse: bool = False) -> Array:
    """Take the running maximum along an axis; arguments and errors as for `cumsum`.

    Example:
      >>> import numpy as np
      >>> cummax(np.array([1, 3, 2])).tolist()
      [1, 3, 3]
    """
    return _bind(cummax_p, operand, axis, reverse)


def cummin(operand: ArrayLike, axis: int = 0, reverse: bool = False) -> Array:
    """Take the running minimum along an axis; arguments and errors as for `cumsum`.

    Example:
      >>> import numpy as np
      >>> cummin(np.array([2, 3, 1])).tolist()
      [2, 2, 1]
    """
    return _bind(cummin_p, operand, axis, reverse)


def cumlogsumexp(operand: ArrayLike, axis: int = 0, reverse: bool = False) -> Array:
    """Compute the running ``log(sum(exp(x)))`` along an axis without overflow.

    Args:
      operand: any shape with at least one dimension, float or complex.
      axis: the axis to run along, from 0.
      reverse: run from the last element to the first.

    Returns:
      Array of the operand's shape and dtype.

    Raises:
      TypeError: the dtype is neither float nor complex.
      ValueError: the axis is out of range.

    Example:
      >>> import numpy as np
      >>> cumlogsumexp(np.array([1000.0, -np.inf])).tolist()
      [1000.0, 1000.0]
    """
    return _bind(cumlogsumexp_p, operand, axis, reverse)
