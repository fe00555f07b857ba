"""Result type of triangular systems."""

from collections.abc import Callable
from typing import Any, Final

from tans_core import Primitive, ShapedArray
from tans_lax.linalg.checks import check_matrix, check_square, same_stack, shown
from tans_lax.linalg.triangular_systems import triangular_solve_p


def _triangular_solve_type(
    a: ShapedArray, b: ShapedArray, *, left_side: bool, **_: Any
) -> ShapedArray:
    check_square("triangular_solve", a)
    check_matrix("triangular_solve", b)
    same_stack("triangular_solve", a, b)
    if a.ndim != b.ndim or b.shape[-2 if left_side else -1] != a.shape[-1]:
        form = "[*batch, m, n]" if left_side else "[*batch, n, m]"
        raise ValueError(
            f"triangular_solve: given a {shown(a)} and b {shown(b)} with left_side={left_side}, "
            f"expected a of shape [*batch, m, m] and b of shape {form}. Transpose b, or turn "
            "left_side over."
        )
    return b


TYPES: Final[dict[Primitive, Callable[..., Any]]] = {
    triangular_solve_p: _triangular_solve_type,
}
