"""Result types of the singular value decomposition."""

from collections.abc import Callable
from typing import Any, Final

from tans_core import Primitive, ShapedArray
from tans_lax.linalg.checks import check_matrix, shown, with_shape
from tans_lax.linalg.matrices import real_dtype
from tans_lax.linalg.singular_values import svd_p
from tans_xla.sizes import min_size


def _svd_type(
    x: ShapedArray,
    *,
    full_matrices: bool,
    compute_uv: bool,
    subset_by_index: tuple[int, int] | None,
    algorithm: Any,
) -> tuple[ShapedArray, ...]:
    del algorithm
    check_matrix("svd", x)
    m, n = x.shape[-2:]
    k = min_size(m, n)
    if subset_by_index is not None:
        k = _subset_size(x, subset_by_index, full_matrices and compute_uv)
    s = with_shape(x, k, dtype=real_dtype(x.dtype))
    if not compute_uv:
        return (s,)
    if full_matrices:
        return s, with_shape(x, m, m), with_shape(x, n, n)
    return s, with_shape(x, m, k), with_shape(x, k, n)


def _subset_size(x: ShapedArray, subset: tuple[int, int], square: bool) -> int:
    if square:
        raise ValueError(
            f"svd: full_matrices and subset_by_index cannot both be set: given subset_by_index="
            f"{subset}, expected None. Pass full_matrices=False."
        )
    start, stop = subset
    rank = min_size(*x.shape[-2:])
    if not 0 <= start <= stop <= rank:
        raise ValueError(
            f"svd: given subset_by_index={subset} for {shown(x)}, expected (start, stop) with "
            f"0 <= start <= stop <= {rank}. Singular values are counted from the largest."
        )
    return stop - start


TYPES: Final[dict[Primitive, Callable[..., Any]]] = {
    svd_p: _svd_type,
}
