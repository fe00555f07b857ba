"""Result type of symmetric products."""

from collections.abc import Callable
from typing import Any, Final

from tans_core import Primitive, ShapedArray
from tans_lax.linalg.checks import check_matrix, check_square, same_stack, shown
from tans_lax.linalg.products import symmetric_product_p


def _symmetric_product_type(
    a: ShapedArray, c: ShapedArray, *, alpha: float, beta: float
) -> ShapedArray:
    del alpha, beta
    check_matrix("symmetric_product", a)
    check_square("symmetric_product", c)
    same_stack("symmetric_product", a, c)
    if a.ndim != c.ndim or a.shape[-2] != c.shape[-1]:
        raise ValueError(
            f"symmetric_product: given a_matrix {shown(a)} and c_matrix {shown(c)}, expected "
            "[*batch, n, k] and [*batch, n, n]. Transpose a_matrix if its columns count rows of "
            "the product."
        )
    return c


TYPES: Final[dict[Primitive, Callable[..., Any]]] = {
    symmetric_product_p: _symmetric_product_type,
}
