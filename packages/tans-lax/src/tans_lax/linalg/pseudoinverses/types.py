"""Result type of pseudoinverses."""

from collections.abc import Callable
from typing import Any, Final

from tans_core import Primitive, ShapedArray
from tans_lax.linalg.checks import check_matrix, check_square, shown, with_shape
from tans_lax.linalg.matrices import real_dtype
from tans_lax.linalg.pseudoinverses import pinv_p


def _pinv_type(x: ShapedArray, rtol: ShapedArray, *, hermitian: bool) -> ShapedArray:
    (check_square if hermitian else check_matrix)("pinv", x)
    if rtol.shape != x.shape[:-2] or rtol.dtype != real_dtype(x.dtype):
        raise TypeError(
            f"pinv: given {shown(x)} with rtol {shown(rtol)}, expected a real rtol of shape "
            f"{x.shape[:-2]} and dtype {real_dtype(x.dtype)}. Broadcast and convert it first."
        )
    m, n = x.shape[-2:]
    return with_shape(x, n, m)


TYPES: Final[dict[Primitive, Callable[..., Any]]] = {
    pinv_p: _pinv_type,
}
