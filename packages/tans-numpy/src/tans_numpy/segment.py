"""Reductions over segments: elements that carry the same number are combined."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

import tans_lax as lax
from tans_core import Tracer, typeof
from tans_core.dtype_queries import iinfo, issubdtype
from tans_numpy.creation import asarray
from tans_numpy.filled import full
from tans_numpy.operands import ArrayLike, check_arraylike
from tans_numpy.reductions import max as max_
from tans_numpy.reductions import min as min_
from tans_numpy.reductions import prod, sum
from tans_xla.sizes import as_size

__all__ = ("segment_max", "segment_min", "segment_prod", "segment_sum")

type Array = Any

_DETAILS: Final = """

    Args:
      data: [n, ...], the elements.
      segment_ids: [n] integers, the segment of each element; elements whose number is negative or
        not below `num_segments` are left out.
      num_segments: static number of segments; one more than the largest number if None.
      indices_are_sorted: promise that the numbers ascend.
      unique_indices: promise that no number occurs twice.
      bucket_size: combine so many elements at a time, and then the partial results; rounding
        errors of long segments become smaller.
      mode: what to do with numbers out of range, as in ``x.at``.
      out_sharding: sharding of the result in explicit mode.

    Returns:
      Array [num_segments, ...]; segments without elements hold the neutral element.

    Raises:
      ValueError: `num_segments` is negative.
      TypeError: `segment_ids` is traced and `num_segments` is missing.

    Example:
      >>> {name}(jnp.array([1, 2, 3]), jnp.array([0, 0, 1])).tolist()
      [{first}, 3]
    """


def _smallest(dtype: Any) -> Any:
    if issubdtype(dtype, np.inexact):
        return dtype.type(-np.inf)
    return False if dtype == np.bool_ else iinfo(dtype).min


def _largest(dtype: Any) -> Any:
    if issubdtype(dtype, np.inexact):
        return dtype.type(np.inf)
    return True if dtype == np.bool_ else iinfo(dtype).max


def _count(num_segments: Any, segment_ids: Array, name: str) -> int:
    if num_segments is not None:
        count = as_size(num_segments)
        if count < 0:
            raise ValueError(
                f"{name}: given num_segments={count}, expected at least 0. Leave it out to count "
                "them."
            )
        return count
    if isinstance(segment_ids, Tracer):
        raise TypeError(
            f"{name}: given traced segment_ids and no num_segments, expected the number of "
            "segments: the shape of the result depends on it. Pass num_segments=n."
        )
    return int(np.max(np.asarray(segment_ids), initial=-1)) + 1


def _segment_reduction(
    kind: str, unit: Callable[[Any], Any], bucket_reduction: Any, summary: str
) -> Callable[..., Array]:
    name = f"segment_{kind}"
    method = {"sum": "add", "prod": "multiply"}.get(kind, kind)

    def reduction(
        data: ArrayLike,
        segment_ids: ArrayLike,
        num_segments: int | None = None,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        bucket_size: int | None = None,
        mode: Any = None,
        out_sharding: Any = None,
    ) -> Array:
        check_arraylike(name, data, segment_ids)
        data, segment_ids = asarray(data), asarray(segment_ids)
        count = _count(num_segments, segment_ids, name)
        dtype = typeof(data).dtype
        options = {
            "indices_are_sorted": indices_are_sorted,
            "unique_indices": unique_indices,
            "mode": "drop" if mode is None else mode,
            "wrap_negative_indices": False,
        }

        def reduce(data: Array, ids: Array) -> Array:
            start = full((count, *data.shape[1:]), unit(dtype), dtype)
            return getattr(start.at[ids], method)(data, **options)

        if bucket_size is None or not data.shape[0]:
            out = reduce(data, segment_ids)
        else:
            parts = [
                reduce(data[i : i + bucket_size], segment_ids[i : i + bucket_size])[None]
                for i in range(0, data.shape[0], bucket_size)
            ]
            out = bucket_reduction(lax.concatenate(parts, 0), axis=0).astype(dtype)
        if out_sharding is not None:
            out = lax.reshape(out, out.shape, out_sharding=out_sharding)
        return out

    reduction.__name__ = reduction.__qualname__ = name
    first = {"sum": 3, "prod": 2, "max": 2, "min": 1}[kind]
    reduction.__doc__ = summary + _DETAILS.format(name=name, first=first)
    return reduction


segment_sum = _segment_reduction("sum", lambda dtype: 0, sum, "Add the elements of each segment.")
segment_prod = _segment_reduction(
    "prod", lambda dtype: 1, prod, "Multiply the elements of each segment."
)
segment_max = _segment_reduction(
    "max", _smallest, max_, "Return the largest element of each segment."
)
segment_min = _segment_reduction(
    "min", _largest, min_, "Return the smallest element of each segment."
)
