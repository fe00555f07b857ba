"""Approximate search for the largest or smallest elements, which TPUs do at full speed."""

from typing import Any, Final

from tans_core import Array, Primitive
from tans_xla.sizes import as_int

type ArrayLike = Any  # array of the documented shape, tracer or NumPy array

approx_top_k_p: Final = Primitive(
    "approx_top_k", family=__name__, multiple_results=True, call_like=True
)


def approx_max_k(
    operand: ArrayLike,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
) -> list[Array]:
    """Find the `k` largest elements along a dimension; some may be missed on TPUs.

    Args:
      operand: floats of any shape with at least one dimension.
      k: how many elements.
      reduction_dimension: the dimension to search.
      recall_target: expected share of the true ones among those found, below one.
      reduction_input_size_override: size of the whole dimension, when `operand` is a part of it;
        -1 when it isn't.
      aggregate_to_topk: whether to reduce the candidates to `k`; otherwise all are returned,
        unsorted, to be combined with those of other parts.

    Returns:
      ``[values, indices]``; values descend when aggregated, indices are int32.

    Raises:
      TypeError: `operand` has no dimension.
      ValueError: `operand` is not of floats, or `k` or `recall_target` is out of range.

    Example:
      >>> import numpy as np
      >>> values, indices = approx_max_k(np.array([1.0, 3.0, 2.0]), 2)
      >>> values.tolist(), indices.tolist()
      ([3.0, 2.0], [1, 2])

    References:
      Chern et al., "TPU-KNN: K nearest neighbor search at peak FLOP/s", 2022.
    """
    values, indices = approx_top_k_p.bind(
        operand,
        k=as_int(k),
        reduction_dimension=as_int(reduction_dimension),
        recall_target=float(recall_target),
        is_max_k=True,
        reduction_input_size_override=as_int(reduction_input_size_override),
        aggregate_to_topk=bool(aggregate_to_topk),
    )
    return [values, indices]


def approx_min_k(
    operand: ArrayLike,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
) -> list[Array]:
    """Find the `k` smallest elements, ascending; all else as for `approx_max_k`.

    Example:
      >>> import numpy as np
      >>> approx_min_k(np.array([1.0, 3.0, 2.0]), 2)[0].tolist()
      [1.0, 2.0]
    """
    values, indices = approx_top_k_p.bind(
        operand,
        k=as_int(k),
        reduction_dimension=as_int(reduction_dimension),
        recall_target=float(recall_target),
        is_max_k=False,
        reduction_input_size_override=as_int(reduction_input_size_override),
        aggregate_to_topk=bool(aggregate_to_topk),
    )
    return [values, indices]
