"""Slices of arrays with an extended dtype, on their physical form with trailing dimensions."""

from collections.abc import Callable
from typing import Any, Final

from tans_core import Primitive, ShapedArray
from tans_lax.slicing import dynamic_slice_p, dynamic_update_slice_p, slice_p


def _trailing(logical: ShapedArray, physical: ShapedArray) -> tuple[int, ...]:
    return physical.shape[logical.ndim :]


def _slice_to_lo(
    logical: tuple[ShapedArray, ...],
    physical: tuple[ShapedArray, ...],
    *,
    start_indices: tuple[int, ...],
    limit_indices: tuple[int, ...],
    strides: tuple[int, ...] | None,
) -> dict[str, Any]:
    extra = _trailing(logical[0], physical[0])
    return {
        "start_indices": start_indices + (0,) * len(extra),
        "limit_indices": limit_indices + extra,
        "strides": None if strides is None else strides + (1,) * len(extra),
    }


def _dynamic_slice_to_lo(
    logical: tuple[ShapedArray, ...],
    physical: tuple[ShapedArray, ...],
    *,
    slice_sizes: tuple[int, ...],
) -> dict[str, Any]:
    return {"slice_sizes": slice_sizes + _trailing(logical[0], physical[0])}


def _dynamic_update_slice_to_lo(
    logical: tuple[ShapedArray, ...], physical: tuple[ShapedArray, ...]
) -> dict[str, Any]:
    # The lowering adds the missing indices.
    return {}


TO_LO: Final[dict[Primitive, Callable[..., dict[str, Any]]]] = {
    slice_p: _slice_to_lo,
    dynamic_slice_p: _dynamic_slice_to_lo,
    dynamic_update_slice_p: _dynamic_update_slice_to_lo,
}
