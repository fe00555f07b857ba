"""Result type of tridiagonal systems."""

from collections.abc import Callable
from typing import Any, Final

from tans_core import Primitive, ShapedArray
from tans_lax.linalg.checks import check_matrix, same_stack, shown
from tans_lax.linalg.tridiagonal_systems import tridiagonal_solve_p


def _tridiagonal_solve_type(
    dl: ShapedArray, d: ShapedArray, du: ShapedArray, b: ShapedArray, *, perturb_singular: bool
) -> ShapedArray:
    del perturb_singular
    for x in (dl, d, du):
        check_matrix("tridiagonal_solve", x, 1)
    check_matrix("tridiagonal_solve", b)
    if not dl.shape == d.shape == du.shape:
        types = ", ".join(map(shown, (dl, d, du)))
        raise TypeError(
            f"tridiagonal_solve: given diagonals {types}, expected the same shape of all three. "
            "Pad dl in front and du behind; what they hold there isn't read."
        )
    same_stack("tridiagonal_solve", d, dl, du, b, core=1)
    if b.ndim != d.ndim + 1 or b.shape[-2] != d.shape[-1]:
        raise ValueError(
            f"tridiagonal_solve: given diagonals {shown(d)} and b {shown(b)}, expected b of shape "
            "[*batch, m, n] with m the length of the diagonal. Add a dimension to a vector."
        )
    return b


TYPES: Final[dict[Primitive, Callable[..., Any]]] = {
    tridiagonal_solve_p: _tridiagonal_solve_type,
}
