"""Result types of sorting."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from tans_core import Primitive, ShapedArray
from tans_core.dtypes import float0, is_complex, is_extended
from tans_lax.sorting import sort_p, top_k_p


def _check_order(name: str, aval: ShapedArray) -> None:
    if is_extended(aval.dtype) or aval.dtype == float0:
        raise TypeError(
            f"{name}: given an array of type {aval.str_short(short_dtypes=False)}, expected "
            "numbers or bools. Sort their indices along, and take by these."
        )


def _sort_type(*avals: ShapedArray, **params: Any) -> tuple[ShapedArray, ...]:
    del params
    for aval in avals:
        _check_order("sort", aval)
    if any(aval.shape != avals[0].shape for aval in avals):
        types = ", ".join(aval.str_short(short_dtypes=False) for aval in avals)
        raise TypeError(
            f"sort: given arrays of types {types}, expected equal shapes. "
            "Broadcast the smaller ones first."
        )
    return avals


def _top_k_type(
    x: ShapedArray, *, k: int, axis: int, is_stable: bool
) -> tuple[ShapedArray, ShapedArray]:
    del is_stable
    _check_order("top_k", x)
    if is_complex(x.dtype):
        raise ValueError(
            f"top_k: given an operand of dtype {x.dtype}, expected a real dtype. Complex numbers "
            "have no order: use their magnitude or real part."
        )
    if not 0 <= k <= x.shape[axis]:
        raise ValueError(
            f"top_k: given k={k} for axis {axis} of {x.str_short(short_dtypes=False)}, expected k "
            f"between 0 and {x.shape[axis]}. Choose a smaller k."
        )
    shape = (*x.shape[:axis], k, *x.shape[axis + 1 :])
    indices = x.update(shape=shape, dtype=np.dtype("int32"), weak_type=False)
    return x.update(shape=shape), indices


TYPES: Final[dict[Primitive, Callable[..., Any]]] = {
    sort_p: _sort_type,
    top_k_p: _top_k_type,
}
