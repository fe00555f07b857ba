"""Sorting: several arrays by lexicographic keys, and the largest elements of an axis."""

from collections.abc import Sequence
from typing import Any, Final

from tans_core import Array, Primitive, typeof
from tans_lax.axes import canonical_axis
from tans_xla.sizes import as_int

type ArrayLike = Any  # array of the documented shape, tracer, NumPy array or Python scalar

sort_p: Final = Primitive("sort", family=__name__, multiple_results=True)
top_k_p: Final = Primitive("top_k", family=__name__, multiple_results=True)


def sort(
    operand: Array | Sequence[Array],
    dimension: int = -1,
    is_stable: bool = True,
    num_keys: int = 1,
) -> Any:
    """Sort along a dimension, several arrays together.

    Floats sort with nan last and both zeros equal; complex numbers by real, then imaginary part.

    Args:
      operand: an array, or a sequence of arrays of one shape that are permuted alike.
      dimension: the dimension to sort along; negative counts from the end.
      is_stable: whether equal keys keep their order.
      num_keys: how many leading arrays are compared, lexicographically.

    Returns:
      The sorted array, or a tuple of them when `operand` is a sequence.

    Raises:
      TypeError: no arrays, or their shapes differ.
      ValueError: `dimension` or `num_keys` is out of range.

    Example:
      >>> import numpy as np
      >>> keys, values = sort((np.array([3, 1, 2]), np.array([10, 20, 30])))
      >>> values.tolist()
      [20, 30, 10]
    """
    is_sequence = isinstance(operand, list | tuple)
    operands = tuple(operand) if is_sequence else (operand,)
    if not operands:
        raise TypeError("sort: given no arrays, expected at least one")
    num_keys = as_int(num_keys)
    if not 1 <= num_keys <= len(operands):
        raise ValueError(
            f"sort: given num_keys={num_keys} for {len(operands)} arrays, expected between 1 and "
            f"{len(operands)}. The first num_keys arrays are compared."
        )
    dimension = canonical_axis("sort", dimension, typeof(operands[0]))
    outs = sort_p.bind(*operands, dimension=dimension, is_stable=bool(is_stable), num_keys=num_keys)
    return tuple(outs) if is_sequence else outs[0]


def sort_key_val(
    keys: Array, values: ArrayLike, dimension: int = -1, is_stable: bool = True
) -> tuple[Array, Array]:
    """Sort `keys` along a dimension and apply the same permutation to `values`.

    Args:
      keys: any shape with at least one dimension.
      values: array of the same shape.
      dimension: the dimension to sort along; negative counts from the end.
      is_stable: whether equal keys keep their order.

    Returns:
      The sorted keys and the permuted values.

    Raises:
      TypeError: the shapes differ.
      ValueError: the dimension is out of range.

    Example:
      >>> import numpy as np
      >>> sort_key_val(np.array([2, 1]), np.array([5.0, 6.0]))[1].tolist()
      [6.0, 5.0]
    """
    sorted_keys, sorted_values = sort((keys, values), dimension, is_stable)
    return sorted_keys, sorted_values


def top_k(operand: ArrayLike, k: int, *, axis: int = -1, is_stable: bool = True) -> list[Array]:
    """Return the `k` largest elements along an axis, in descending order, and their indices.

    Args:
      operand: any shape with at least one dimension, real or bool; nan counts as largest.
      k: how many elements.
      axis: the axis to search; negative counts from the end.
      is_stable: whether equal elements come in the order of their indices.

    Returns:
      A list ``[values, indices]`` of arrays with size `k` along `axis`; indices are int32.

    Raises:
      ValueError: `k` is negative or exceeds the axis, the axis is out of range, or the operand is
        complex.

    Example:
      >>> import numpy as np
      >>> values, indices = top_k(np.array([1, 3, 3, 2]), 2)
      >>> values.tolist(), indices.tolist()
      ([3, 3], [1, 2])
    """
    axis = canonical_axis("top_k", axis, typeof(operand))
    return top_k_p.bind(operand, k=as_int(k), axis=axis, is_stable=bool(is_stable))
