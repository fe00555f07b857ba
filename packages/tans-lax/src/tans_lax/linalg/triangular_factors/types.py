"""Result types of LU factors."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from tans_core import Primitive, ShapedArray
from tans_lax.linalg.checks import check_matrix, shown, with_shape
from tans_lax.linalg.triangular_factors import lu_p, lu_pivots_to_permutation_p
from tans_xla.sizes import min_size


def _lu_type(x: ShapedArray) -> tuple[ShapedArray, ShapedArray, ShapedArray]:
    check_matrix("lu", x)
    m, n = x.shape[-2:]
    return x, with_shape(x, min_size(m, n), dtype=np.int32), with_shape(x, m, dtype=np.int32)


def _permutation_type(pivots: ShapedArray, *, permutation_size: int) -> ShapedArray:
    if getattr(pivots.dtype, "kind", "") not in "iu" or pivots.ndim < 1:
        raise TypeError(
            f"lu_pivots_to_permutation: given pivots {shown(pivots)}, expected integers of shape "
            "[*batch, k]. Pass the pivots that lu returned."
        )
    if pivots.shape[-1] > permutation_size:
        raise ValueError(
            f"lu_pivots_to_permutation: given {pivots.shape[-1]} pivots and permutation_size="
            f"{permutation_size}, expected a size of at least {pivots.shape[-1]}. Pass the number "
            "of rows."
        )
    return pivots.update(shape=(*pivots.shape[:-1], permutation_size))


TYPES: Final[dict[Primitive, Callable[..., Any]]] = {
    lu_p: _lu_type,
    lu_pivots_to_permutation_p: _permutation_type,
}
