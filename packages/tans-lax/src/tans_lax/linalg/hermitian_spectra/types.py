"""Result types of Hermitian eigenvalue problems."""

from collections.abc import Callable
from typing import Any, Final

from tans_core import Primitive, ShapedArray
from tans_lax.linalg.checks import check_square, shown, with_shape
from tans_lax.linalg.hermitian_spectra import eigh_p
from tans_lax.linalg.matrices import real_dtype


def _eigh_type(
    x: ShapedArray, *, subset_by_index: tuple[int, int] | None, **_: Any
) -> tuple[ShapedArray, ShapedArray]:
    check_square("eigh", x)
    n = x.shape[-1]
    start, stop = subset_by_index or (0, n)
    if not 0 <= start <= stop <= n:
        raise ValueError(
            f"eigh: given subset_by_index={subset_by_index} for {shown(x)}, expected (start, stop) "
            f"with 0 <= start <= stop <= {n}. Eigenvalues are counted from the smallest."
        )
    k = stop - start
    return with_shape(x, n, k), with_shape(x, k, dtype=real_dtype(x.dtype))


TYPES: Final[dict[Primitive, Callable[..., Any]]] = {
    eigh_p: _eigh_type,
}
