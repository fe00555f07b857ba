"""Result types of Cholesky factors."""

from collections.abc import Callable
from typing import Any, Final

from tans_core import Primitive, ShapedArray
from tans_lax.linalg.checks import check_square, same_stack, shown
from tans_lax.linalg.cholesky_factors import cholesky_p, cholesky_update_p


def _cholesky_type(x: ShapedArray) -> ShapedArray:
    check_square("cholesky", x)
    return x


def _cholesky_update_type(r: ShapedArray, w: ShapedArray) -> ShapedArray:
    check_square("cholesky_update", r)
    same_stack("cholesky_update", r, w)
    if r.dtype.kind == "c":
        raise TypeError(
            f"cholesky_update: given {shown(r)}, expected a real dtype. For complex matrices "
            "factor r^H @ r + w @ w^H with cholesky."
        )
    if w.shape != r.shape[:-1]:
        raise ValueError(
            f"cholesky_update: given r_matrix {shown(r)} and w_vector {shown(w)}, expected a "
            f"vector of shape {r.shape[:-1]}."
        )
    return r


TYPES: Final[dict[Primitive, Callable[..., Any]]] = {
    cholesky_p: _cholesky_type,
    cholesky_update_p: _cholesky_update_type,
}
