"""Products in which groups of rows meet matrices of their own.

One dimension of `lhs`, the ragged one, is divided into consecutive groups. It may remain in the
result (each group meets the part of `rhs` that belongs to it), be contracted (the result has one
part for each group), or be a batch dimension.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from tans_core import Array, Primitive
from tans_core.dtypes import requested
from tans_lax.contractions.precision import PrecisionLike, canonicalize_precision

type ArrayLike = Any  # array of the documented shape, tracer or NumPy array
type Axes = tuple[int, ...]

ragged_dot_general_p: Final = Primitive("ragged_dot_general", family=__name__)


class RaggedDotDimensionNumbers(NamedTuple):
    """Which dimensions a ragged product pairs.

    Attributes:
      dot_dimension_numbers: ``((lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch))``.
      lhs_ragged_dimensions: the ragged dimension of `lhs`, alone.
      rhs_group_dimensions: the dimension of `rhs` that counts groups, when the ragged dimension
        is neither contracted nor batched; else none.
    """

    dot_dimension_numbers: tuple[tuple[Axes, Axes], tuple[Axes, Axes]]
    lhs_ragged_dimensions: Axes
    rhs_group_dimensions: Axes


def ragged_dot(
    lhs: ArrayLike,
    rhs: ArrayLike,
    group_sizes: ArrayLike,
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
    group_offset: ArrayLike | None = None,
    out_sharding: Any = None,
) -> Array:
    """Multiply groups of rows by a matrix each.

    Args:
      lhs: ``[m, k]``.
      rhs: ``[g, k, n]``.
      group_sizes: ``[g]`` integers: how many rows, in order, meet each matrix.
      precision: as for `dot_general`.
      preferred_element_type: dtype of the result; None means the promoted dtype.
      group_offset: must be None.
      out_sharding: must be None.

    Returns:
      ``[m, n]``; zero in rows beyond the last group.

    Raises:
      TypeError: shapes or dtypes don't fit.
      NotImplementedError: `group_offset` is given.

    Example:
      >>> import numpy as np
      >>> x, w = np.ones((3, 1)), np.array([[[1.0]], [[5.0]]])
      >>> ragged_dot(x, w, np.array([1, 2])).tolist()
      [[1.0], [5.0], [5.0]]
    """
    numbers = RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), (0,), (0,))
    return ragged_dot_general(
        lhs,
        rhs,
        group_sizes,
        numbers,
        precision,
        preferred_element_type,
        group_offset,
        out_sharding,
    )


def ragged_dot_general(
    lhs: ArrayLike,
    rhs: ArrayLike,
    group_sizes: ArrayLike,
    ragged_dot_dimension_numbers: RaggedDotDimensionNumbers,
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
    group_offset: ArrayLike | None = None,
    out_sharding: Any = None,
) -> Array:
    """Multiply and sum as `dot_general` does, over groups of a ragged dimension.

    Args:
      lhs: any shape.
      rhs: any shape.
      group_sizes: ``[g]`` or ``[*batch, g]`` integers.
      ragged_dot_dimension_numbers: which dimensions are paired, which is ragged.
      precision: as for `dot_general`.
      preferred_element_type: dtype of the result; None means the promoted dtype.
      group_offset: must be None.
      out_sharding: must be None.

    Returns:
      With the ragged dimension kept, ``[*batch, *lhs, *rhs]``; contracted,
      ``[g, *batch, *lhs, *rhs]``; batched, as `dot_general`.

    Raises:
      TypeError: shapes or dtypes don't fit.
      NotImplementedError: `group_offset` or `out_sharding` is given.

    Example:
      >>> import numpy as np
      >>> numbers = RaggedDotDimensionNumbers((((0,), (0,)), ((), ())), (0,), ())
      >>> x = np.ones((3, 1))
      >>> ragged_dot_general(x, x, np.array([1, 2]), numbers).tolist()
      [[[1.0]], [[2.0]]]
    """
    if group_offset is not None or out_sharding is not None:
        raise NotImplementedError(
            "ragged_dot_general: given group_offset or out_sharding, expected None: neither is "
            "supported. Slice the groups, or reshard the result."
        )
    if preferred_element_type is not None:
        preferred_element_type = requested(preferred_element_type, "ragged_dot_general")
    return ragged_dot_general_p.bind(
        lhs,
        rhs,
        group_sizes,
        ragged_dot_dimension_numbers=_canonical(ragged_dot_dimension_numbers),
        precision=canonicalize_precision(precision),
        preferred_element_type=preferred_element_type,
        group_offset=None,
        out_sharding=None,
    )


def _canonical(numbers: RaggedDotDimensionNumbers) -> RaggedDotDimensionNumbers:
    def ints(axes: Sequence[int]) -> Axes:
        return tuple(int(axis) for axis in axes)

    (left, right), (left_batch, right_batch) = numbers.dot_dimension_numbers
    return RaggedDotDimensionNumbers(
        ((ints(left), ints(right)), (ints(left_batch), ints(right_batch))),
        ints(numbers.lhs_ragged_dimensions),
        ints(numbers.rhs_group_dimensions),
    )
