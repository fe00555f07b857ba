"""Result types of the approximate search."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from tans_core import Primitive, ShapedArray
from tans_core.dtype_queries import issubdtype
from tans_lax.approximate_top_k import approx_top_k_p
from tans_lax.axes import canonical_axis
from tans_xla.ffi_targets import approximate_candidates


def _approx_top_k_type(
    x: ShapedArray,
    *,
    k: int,
    reduction_dimension: int,
    recall_target: float,
    is_max_k: bool,
    reduction_input_size_override: int,
    aggregate_to_topk: bool,
) -> tuple[ShapedArray, ShapedArray]:
    del is_max_k
    shown = x.str_short(short_dtypes=False)
    if x.ndim == 0:
        raise TypeError(
            f"approx_top_k: given {shown}, expected at least one dimension. Reshape the scalar."
        )
    if not issubdtype(x.dtype, np.floating):
        raise ValueError(
            f"approx_top_k: given {shown}, expected floats: the operand must be of a floating "
            "type. Use top_k for integers."
        )
    axis = canonical_axis("approx_top_k", reduction_dimension, x)
    size = x.shape[axis]
    if not 0 < k <= size:
        raise ValueError(
            f"approx_top_k: given k={k} for dimension {axis} of {shown}, expected k between 1 and "
            f"{size}. Choose another k."
        )
    if not 0 < recall_target <= 1:
        raise ValueError(
            f"approx_top_k: given recall_target={recall_target}, expected a number above 0 and up "
            "to 1. Use top_k to find all."
        )
    kept = k
    if not aggregate_to_topk:
        kept = approximate_candidates(size, x.ndim, k, recall_target, reduction_input_size_override)
    values = x.update(shape=(*x.shape[:axis], kept, *x.shape[axis + 1 :]))
    return values, values.update(dtype=np.dtype("int32"), weak_type=False)


TYPES: Final[dict[Primitive, Callable[..., Any]]] = {
    approx_top_k_p: _approx_top_k_type,
}
