"""Result types of determinants."""

from collections.abc import Callable
from typing import Any, Final

from tans_core import Primitive, ShapedArray
from tans_lax.linalg.checks import check_square, with_shape
from tans_lax.linalg.determinants import cofactors_p, det_p


def _det_type(x: ShapedArray) -> ShapedArray:
    check_square("det", x)
    return with_shape(x)


def _cofactors_type(x: ShapedArray) -> ShapedArray:
    check_square("cofactors", x)
    return x


TYPES: Final[dict[Primitive, Callable[..., Any]]] = {
    det_p: _det_type,
    cofactors_p: _cofactors_type,
}
