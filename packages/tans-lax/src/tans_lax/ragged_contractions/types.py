"""Result type of ragged products."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from tans_core import Primitive, ShapedArray
from tans_core.dtype_queries import issubdtype
from tans_lax.contractions import dot_general_p
from tans_lax.contractions.types import TYPES as DOT_TYPES
from tans_lax.ragged_contractions import RaggedDotDimensionNumbers, ragged_dot_general_p


def _ragged_type(
    lhs: ShapedArray,
    rhs: ShapedArray,
    sizes: ShapedArray,
    *,
    ragged_dot_dimension_numbers: RaggedDotDimensionNumbers,
    precision: Any,
    preferred_element_type: Any,
    group_offset: None,
    out_sharding: None,
) -> ShapedArray:
    del group_offset
    numbers = ragged_dot_dimension_numbers
    (lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch) = numbers.dot_dimension_numbers
    shown = " and ".join(x.str_short(short_dtypes=False) for x in (lhs, rhs))
    if not issubdtype(sizes.dtype, np.integer) or sizes.ndim < 1:
        raise TypeError(
            f"ragged_dot_general: given group_sizes {sizes.str_short(short_dtypes=False)}, "
            "expected integers of shape [g] or [*batch, g]. Convert them first."
        )
    if len(numbers.lhs_ragged_dimensions) != 1:
        raise TypeError(
            f"ragged_dot_general: given lhs_ragged_dimensions={numbers.lhs_ragged_dimensions}, "
            "expected exactly one. Use dot_general when nothing is ragged."
        )
    (ragged,) = numbers.lhs_ragged_dimensions
    groups = sizes.shape[-1]
    kept = ragged not in (*lhs_contracting, *lhs_batch)
    if len(numbers.rhs_group_dimensions) != int(kept):
        raise TypeError(
            f"ragged_dot_general: given rhs_group_dimensions={numbers.rhs_group_dimensions} with "
            f"ragged dimension {ragged} of {shown}, expected one when the ragged dimension remains "
            "in the result and none when it is contracted or batched."
        )
    without = rhs
    if kept:
        (axis,) = numbers.rhs_group_dimensions
        if rhs.shape[axis] != groups:
            raise TypeError(
                f"ragged_dot_general: given {groups} group sizes and an rhs {shown} whose "
                f"dimension {axis} has size {rhs.shape[axis]}, expected the rhs group dimension "
                f"size to be {groups}. Pass one size for each group."
            )
        without = rhs.update(shape=rhs.shape[:axis] + rhs.shape[axis + 1 :])
        rhs_contracting, rhs_batch = (
            tuple(i - (i > axis) for i in axes) for axes in (rhs_contracting, rhs_batch)
        )
    out = DOT_TYPES[dot_general_p](
        lhs,
        without,
        dimension_numbers=((lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch)),
        precision=precision,
        preferred_element_type=preferred_element_type,
        out_sharding=out_sharding,
    )
    return out.update(shape=(groups, *out.shape)) if ragged in lhs_contracting else out


TYPES: Final[dict[Primitive, Callable[..., Any]]] = {
    ragged_dot_general_p: _ragged_type,
}
