"""Eigenvalues and eigenvectors of Hermitian matrices."""

import enum
from typing import Any, Final

from tans_core import Array, Primitive, typeof
from tans_lax.linalg.checks import check_square
from tans_lax.linalg.matrices import symmetrized
from tans_xla.sizes import as_ints

type ArrayLike = Any  # array of the documented shape, tracer or NumPy array

eigh_p: Final = Primitive("eigh", family=__name__, multiple_results=True)


class EighImplementation(enum.Enum):
    """How `eigh` is computed, where a platform offers a choice."""

    QR = "qr"
    JACOBI = "jacobi"
    QDWH = "qdwh"


def eigh(
    x: ArrayLike,
    *,
    lower: bool = True,
    symmetrize_input: bool = True,
    sort_eigenvalues: bool = True,
    subset_by_index: tuple[int, int] | None = None,
    implementation: EighImplementation | None = None,
) -> tuple[Array, Array]:
    """Factor Hermitian matrices as ``x = v @ diag(w) @ v^H``.

    The eigenvalues are differentiable wherever a symmetric function of them is. Eigenvectors of an
    eigenvalue that occurs several times are determined up to a rotation; a derivative is right when
    the function doesn't change under these rotations.

    Args:
      x: ``[*batch, n, n]``, real or complex.
      lower: which triangle is read when `symmetrize_input` is False.
      symmetrize_input: whether to factor ``(x + x^H) / 2``.
      sort_eigenvalues: whether eigenvalues must come in ascending order.
      subset_by_index: ``(start, stop)``: only the eigenvalues from `start` to before `stop`.
      implementation: a method, on platforms that have several; None chooses.

    Returns:
      ``(v, w)``: eigenvectors as columns, ``[*batch, n, k]``, and real eigenvalues
      ``[*batch, k]``; `k` is `n`, or the size of the subset.

    Raises:
      TypeError: the dtype is not a float or complex dtype of 32 bits or more per part.
      ValueError: the matrices are not square, or the subset is out of range.

    Example:
      >>> import numpy as np
      >>> v, w = eigh(np.array([[2.0, 1.0], [1.0, 2.0]]))
      >>> [round(x, 4) for x in w.tolist()]
      [1.0, 3.0]
    """
    aval: Any = typeof(x)
    if aval.ndim < 2:
        raise ValueError(
            f"eigh: given {aval.str_short(short_dtypes=False)}, expected square matrices of "
            "shape [*batch, n, n]. Add the missing dimensions with lax.expand_dims."
        )
    check_square("eigh", aval)
    if subset_by_index is not None:
        start, stop = as_ints(subset_by_index)
        subset_by_index = (start, stop)
    v, w = eigh_p.bind(
        symmetrized(x) if symmetrize_input else x,
        lower=bool(lower),
        sort_eigenvalues=bool(sort_eigenvalues),
        subset_by_index=subset_by_index,
        algorithm=implementation,
    )
    return v, w
