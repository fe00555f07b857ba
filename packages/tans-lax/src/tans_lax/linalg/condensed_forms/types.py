"""Result types of condensed forms."""

from collections.abc import Callable
from typing import Any, Final

from tans_core import Primitive, ShapedArray
from tans_lax.linalg.checks import check_square, shown, with_shape
from tans_lax.linalg.condensed_forms import hessenberg_p, tridiagonal_p
from tans_lax.linalg.matrices import real_dtype


def _check_nonempty(name: str, x: ShapedArray) -> int:
    check_square(name, x)
    n = x.shape[-1]
    if n == 0:
        raise TypeError(
            f"{name}: given {shown(x)}, expected matrices of size one or more. An empty matrix "
            "has no such form."
        )
    return n


def _hessenberg_type(x: ShapedArray) -> tuple[ShapedArray, ShapedArray]:
    return x, with_shape(x, _check_nonempty("hessenberg", x) - 1)


def _tridiagonal_type(x: ShapedArray, *, lower: bool) -> tuple[ShapedArray, ...]:
    del lower
    n = _check_nonempty("tridiagonal", x)
    dtype = real_dtype(x.dtype)
    return (
        x,
        with_shape(x, n, dtype=dtype),
        with_shape(x, n - 1, dtype=dtype),
        with_shape(x, n - 1),
    )


TYPES: Final[dict[Primitive, Callable[..., Any]]] = {
    hessenberg_p: _hessenberg_type,
    tridiagonal_p: _tridiagonal_type,
}
