"""Matrix products: `dot_general` contracts and batches any dimensions of two arrays."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from tans_core import Array, Primitive, typeof
from tans_core.dtypes import requested
from tans_lax.axes import axis_tuple
from tans_lax.contractions.algorithms import DotAlgorithm, DotAlgorithmPreset
from tans_lax.contractions.precision import Precision, PrecisionLike, canonicalize_precision

type ArrayLike = Any  # array of the documented shape, tracer, NumPy array or Python scalar
type DTypeLike = Any
type DotDimensionNumbers = tuple[
    tuple[Sequence[int], Sequence[int]], tuple[Sequence[int], Sequence[int]]
]
type _Canonical = tuple[
    tuple[tuple[int, ...], tuple[int, ...]], tuple[tuple[int, ...], tuple[int, ...]]
]

__all__ = [
    "DotAlgorithm",
    "DotAlgorithmPreset",
    "DotDimensionNumbers",
    "Precision",
    "PrecisionLike",
    "batch_matmul",
    "canonicalize_precision",
    "dot",
    "dot_general",
    "dot_general_p",
]

dot_general_p: Final = Primitive("dot_general", family=__name__)


def dot_general(
    lhs: ArrayLike,
    rhs: ArrayLike,
    dimension_numbers: DotDimensionNumbers,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Multiply and sum over contracting dimensions, element by element over batch dimensions.

    Args:
      lhs: any shape.
      rhs: any shape; its dtype may differ and is promoted.
      dimension_numbers: ``((lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch))``; paired
        dimensions have equal sizes.
      precision: a level such as "highest", a pair of levels, an algorithm or its name; None means
        the configured default.
      preferred_element_type: dtype of the result; None means the promoted dtype.
      out_sharding: sharding of the result in explicit mode.

    Returns:
      Array with the batch dimensions, then the remaining ones of `lhs`, then those of `rhs`.

    Raises:
      TypeError: dimension numbers are malformed or sizes differ.
      ValueError: `precision` is not a precision.

    Example:
      >>> import numpy as np
      >>> x, y = np.ones((4, 8), np.float32), np.ones((8, 2), np.float32)
      >>> dot_general(x, y, (((1,), (0,)), ((), ()))).shape
      (4, 2)
    """
    element_type = preferred_element_type
    if element_type is not None:
        element_type = requested(element_type, "dot_general")
    return dot_general_p.bind(
        lhs,
        rhs,
        dimension_numbers=_canonical_numbers(dimension_numbers),
        precision=canonicalize_precision(precision),
        preferred_element_type=element_type,
        out_sharding=out_sharding,
    )


def _canonical_numbers(numbers: DotDimensionNumbers) -> _Canonical:
    try:
        (lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch) = numbers
    except (TypeError, ValueError):
        raise TypeError(
            f"dot_general: given dimension_numbers {numbers!r}, expected "
            "((lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch)). "
            "For a plain matrix product write (((1,), (0,)), ((), ()))."
        ) from None
    return (
        (_axes(lhs_contracting), _axes(rhs_contracting)),
        (_axes(lhs_batch), _axes(rhs_batch)),
    )


def _axes(axes: Iterable[int]) -> tuple[int, ...]:
    return axes if type(axes) is tuple and not axes else axis_tuple("dot_general", axes)


def dot(
    lhs: ArrayLike,
    rhs: ArrayLike,
    *,
    dimension_numbers: DotDimensionNumbers | None = None,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: Any = None,
) -> Array:
    """Multiply vectors and matrices; with `dimension_numbers` the same as `dot_general`.

    Args:
      lhs: ``[k]`` or ``[m, k]``.
      rhs: ``[k]`` or ``[k, n]``.
      dimension_numbers: as for `dot_general`; then any shapes are allowed.
      precision: as for `dot_general`.
      preferred_element_type: as for `dot_general`.
      out_sharding: as for `dot_general`.

    Returns:
      Array of shape ``[]``, ``[m]``, ``[n]`` or ``[m, n]``.

    Raises:
      ValueError: without `dimension_numbers`, the shapes are none of the above.

    Example:
      >>> import numpy as np
      >>> float(dot(np.array([1.0, 2.0]), np.array([3.0, 4.0])))
      11.0
    """
    if dimension_numbers is None:
        lhs_aval, rhs_aval = typeof(lhs), typeof(rhs)
        if (
            not (1 <= lhs_aval.ndim <= 2 and 1 <= rhs_aval.ndim <= 2)
            or lhs_aval.shape[-1] != rhs_aval.shape[0]
        ):
            raise ValueError(
                f"dot: given lhs {lhs_aval.str_short(short_dtypes=False)} and rhs "
                f"{rhs_aval.str_short(short_dtypes=False)}, expected vectors or matrices whose "
                "inner dimensions agree. Give dimension_numbers for other products."
            )
        dimension_numbers = (((lhs_aval.ndim - 1,), (0,)), ((), ()))
    return dot_general(
        lhs,
        rhs,
        dimension_numbers,
        precision,
        preferred_element_type,
        out_sharding=out_sharding,
    )


def batch_matmul(lhs: ArrayLike, rhs: ArrayLike, precision: PrecisionLike = None) -> Array:
    """Multiply stacks of matrices.

    Args:
      lhs: ``[*batch, m, k]``.
      rhs: ``[*batch, k, n]``.
      precision: as for `dot_general`.

    Returns:
      Array of shape ``[*batch, m, n]``.

    Raises:
      ValueError: an operand has fewer than two dimensions, or their ranks differ.

    Example:
      >>> import numpy as np
      >>> batch_matmul(np.ones((5, 4, 8)), np.ones((5, 8, 3))).shape
      (5, 4, 3)
    """
    lhs_ndim, rhs_ndim = typeof(lhs).ndim, typeof(rhs).ndim
    if min(lhs_ndim, rhs_ndim) < 2 or lhs_ndim != rhs_ndim:
        raise ValueError(
            f"batch_matmul: given operands of {lhs_ndim} and {rhs_ndim} dimensions, expected the "
            "same number, at least 2. Add leading dimensions of size 1 or use dot_general."
        )
    batch = tuple(range(lhs_ndim - 2))
    numbers = (((lhs_ndim - 1,), (lhs_ndim - 2,)), (batch, batch))
    return dot_general(lhs, rhs, numbers, precision)
