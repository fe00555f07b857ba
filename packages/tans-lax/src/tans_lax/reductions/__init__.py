"""Reductions: sums, products, extrema and logical folds over axes, and folds by any function.

Each named reduction is one primitive. `reduce` folds with a function of two scalars; it becomes a
named reduction when the function and the initial value match one.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

from tans_core import Array, Primitive, tree, typeof
from tans_core.dtypes import canonicalize
from tans_lax.axes import axis_tuple
from tans_lax.reductions.computations import check_init_values, trace_computation
from tans_lax.reductions.monoids import MONOIDS, named_fold

type ArrayLike = Any  # array of the documented shape, tracer, NumPy array or Python scalar
type Axes = Sequence[int]

reduce_sum_p: Final = Primitive("reduce_sum", family=__name__)
reduce_prod_p: Final = Primitive("reduce_prod", family=__name__)
reduce_max_p: Final = Primitive("reduce_max", family=__name__)
reduce_min_p: Final = Primitive("reduce_min", family=__name__)
reduce_and_p: Final = Primitive("reduce_and", family=__name__)
reduce_or_p: Final = Primitive("reduce_or", family=__name__)
reduce_xor_p: Final = Primitive("reduce_xor", family=__name__)
argmax_p: Final = Primitive("argmax", family=__name__)
argmin_p: Final = Primitive("argmin", family=__name__)
reduce_p: Final = Primitive("reduce", family=__name__, multiple_results=True, call_like=True)


def reduce_sum(operand: ArrayLike, axes: Axes, *, out_sharding: Any = None) -> Array:
    """Sum over `axes`.

    Args:
      operand: any shape, numeric dtype.
      axes: distinct axes to sum over, from 0; none gives the operand back.
      out_sharding: sharding of the result in explicit mode.

    Returns:
      Array of the operand's dtype; its shape is the operand's without `axes`.

    Raises:
      TypeError: the dtype is not numeric.
      ValueError: an axis is out of range or given twice.

    Example:
      >>> import numpy as np
      >>> reduce_sum(np.arange(6.0, dtype=np.float32).reshape(2, 3), (1,)).tolist()
      [3.0, 12.0]
    """
    axes = axis_tuple("reduce_sum", axes)
    return reduce_sum_p.bind(operand, axes=axes, out_sharding=out_sharding)


def reduce_prod(operand: ArrayLike, axes: Axes) -> Array:
    """Multiply over `axes`; arguments, result and errors as for `reduce_sum`.

    Example:
      >>> import numpy as np
      >>> int(reduce_prod(np.array([2, 3, 4]), (0,)))
      24
    """
    return reduce_prod_p.bind(operand, axes=axis_tuple("reduce_prod", axes))


def reduce_max(operand: ArrayLike, axes: Axes, *, out_sharding: Any = None) -> Array:
    """Take the maximum over `axes`; nan wins; complex numbers compare lexicographically.

    Args:
      operand: any shape, numeric or bool.
      axes: distinct axes to reduce, from 0.
      out_sharding: sharding of the result in explicit mode.

    Returns:
      Array of the operand's dtype; an empty axis gives the least value of the dtype.

    Raises:
      ValueError: an axis is out of range or given twice.

    Example:
      >>> import numpy as np
      >>> int(reduce_max(np.array([2, 7, 4]), (0,)))
      7
    """
    axes = axis_tuple("reduce_max", axes)
    return reduce_max_p.bind(operand, axes=axes, out_sharding=out_sharding)


def reduce_min(operand: ArrayLike, axes: Axes, *, out_sharding: Any = None) -> Array:
    """Take the minimum over `axes`; otherwise as `reduce_max`.

    Example:
      >>> import numpy as np
      >>> int(reduce_min(np.array([2, 7, 4]), (0,)))
      2
    """
    axes = axis_tuple("reduce_min", axes)
    return reduce_min_p.bind(operand, axes=axes, out_sharding=out_sharding)


def reduce_and(operand: ArrayLike, axes: Axes) -> Array:
    """Take the bitwise (for bools logical) conjunction over `axes`.

    Args:
      operand: any shape, integer or bool.
      axes: distinct axes to reduce, from 0.

    Returns:
      Array of the operand's dtype without `axes`.

    Raises:
      TypeError: the dtype is neither integer nor bool.
      ValueError: an axis is out of range or given twice.

    Example:
      >>> import numpy as np
      >>> bool(reduce_and(np.array([True, False]), (0,)))
      False
    """
    return reduce_and_p.bind(operand, axes=axis_tuple("reduce_and", axes))


def reduce_or(operand: ArrayLike, axes: Axes) -> Array:
    """Take the bitwise (for bools logical) disjunction over `axes`; see `reduce_and`.

    Example:
      >>> import numpy as np
      >>> int(reduce_or(np.array([1, 4]), (0,)))
      5
    """
    return reduce_or_p.bind(operand, axes=axis_tuple("reduce_or", axes))


def reduce_xor(operand: ArrayLike, axes: Axes) -> Array:
    """Take the bitwise (for bools logical) exclusive or over `axes`; see `reduce_and`.

    Example:
      >>> import numpy as np
      >>> int(reduce_xor(np.array([3, 5]), (0,)))
      6
    """
    return reduce_xor_p.bind(operand, axes=axis_tuple("reduce_xor", axes))


def argmax(operand: ArrayLike, axis: int, index_dtype: Any) -> Array:
    """Return the index of the first maximum along `axis`; the first nan wins.

    Args:
      operand: any shape with at least one dimension, real or bool.
      axis: the axis to search, from 0; must not be empty.
      index_dtype: integer dtype of the result.

    Returns:
      Array of `index_dtype`; its shape is the operand's without `axis`.

    Raises:
      TypeError: `index_dtype` is not an integer dtype, or the operand is complex.
      ValueError: the axis is out of range or empty.

    Example:
      >>> import numpy as np
      >>> int(argmax(np.array([1, 3, 3]), 0, np.int32))
      1
    """
    dtype = canonicalize(index_dtype)
    return argmax_p.bind(operand, axes=axis_tuple("argmax", (axis,)), index_dtype=dtype)


def argmin(operand: ArrayLike, axis: int, index_dtype: Any) -> Array:
    """Return the index of the first minimum along `axis`; otherwise as `argmax`.

    Example:
      >>> import numpy as np
      >>> int(argmin(np.array([1, 3, 0]), 0, np.int32))
      2
    """
    dtype = canonicalize(index_dtype)
    return argmin_p.bind(operand, axes=axis_tuple("argmin", (axis,)), index_dtype=dtype)


_REDUCTIONS: Final = {
    "sum": lambda x, axes, out_sharding: reduce_sum(x, axes, out_sharding=out_sharding),
    "prod": lambda x, axes, _: reduce_prod(x, axes),
    "max": lambda x, axes, out_sharding: reduce_max(x, axes, out_sharding=out_sharding),
    "min": lambda x, axes, out_sharding: reduce_min(x, axes, out_sharding=out_sharding),
    "and": lambda x, axes, _: reduce_and(x, axes),
    "or": lambda x, axes, _: reduce_or(x, axes),
    "xor": lambda x, axes, _: reduce_xor(x, axes),
}
assert _REDUCTIONS.keys() == MONOIDS.keys()


def reduce(
    operands: Any,
    init_values: Any,
    computation: Callable[[Any, Any], Any],
    dimensions: Axes,
    out_sharding: Any = None,
) -> Any:
    """Fold arrays over `dimensions` with an associative, commutative function of scalars.

    The order of the fold is unspecified. Several operands are folded together, so that
    `computation` may look at all of them (an argmax, a Welford mean and variance).

    Args:
      operands: an array, or a pytree of arrays of one shape.
      init_values: pytree of scalars of the same structure and dtypes: the identities.
      computation: called with two pytrees of scalars, returns one; must not use traced values
        from outside.
      dimensions: distinct axes to reduce, from 0.
      out_sharding: sharding of the result in explicit mode.

    Returns:
      Pytree like `operands`, without `dimensions`.

    Raises:
      TypeError: dtypes or structures of operands, initial values and results differ.
      ValueError: shapes differ, an initial value is not a scalar, or an axis is out of range.

    Example:
      >>> import numpy as np, tans_lax as lax
      >>> x = np.array([[3.0, 4.0], [0.0, 1.0]], np.float32)
      >>> def norm(a, b):
      ...     return lax.sqrt(lax.add(lax.mul(a, a), lax.mul(b, b)))
      >>> reduce(x, 0.0, norm, (1,)).tolist()
      [5.0, 1.0]
    """
    dimensions = axis_tuple("reduce", dimensions)
    flat, structure = tree.flatten(operands)
    inits, init_structure = tree.flatten(init_values)
    avals = [typeof(x) for x in flat]
    monoid, inits = named_fold(computation, inits, avals)
    check_init_values("reduce", structure, init_structure, avals, [typeof(x) for x in inits])
    if monoid is not None:
        folded = [_REDUCTIONS[monoid](flat[0], dimensions, out_sharding)]
    else:
        jaxpr = trace_computation("reduce", computation, structure, avals)
        folded = reduce_p.bind(*flat, *inits, dimensions=dimensions, jaxpr=jaxpr)
    return tree.unflatten(structure, folded)
