"""Factors of an orthogonal and a triangular matrix, and products of Householder reflectors."""

from typing import Any, Final

from tans_core import Array, Primitive

type ArrayLike = Any  # array of the documented shape, tracer or NumPy array

qr_p: Final = Primitive("qr", family=__name__, multiple_results=True)
geqrf_p: Final = Primitive("geqrf", family=__name__, multiple_results=True)
householder_product_p: Final = Primitive("householder_product", family=__name__)
ormqr_p: Final = Primitive("ormqr", family=__name__)


def qr(
    x: ArrayLike,
    *,
    pivoting: bool = False,
    full_matrices: bool = True,
    use_magma: bool | None = None,
) -> tuple[Array, Array] | tuple[Array, Array, Array]:
    """Factor matrices as ``x = Q @ R``, or ``x[:, p] = Q @ R`` with column pivoting.

    Args:
      x: ``[*batch, m, n]``, real or complex.
      pivoting: whether to permute columns so that the diagonal of `R` decreases in magnitude.
      full_matrices: whether `Q` is square; otherwise it has ``min(m, n)`` columns.
      use_magma: on GPUs, whether to call MAGMA for pivoting; None chooses by size.

    Returns:
      ``(Q, R)``, or ``(Q, R, p)`` with the int32 permutation ``[*batch, n]`` when `pivoting`.

    Raises:
      TypeError: the dtype is not a float or complex dtype of 32 bits or more per part.

    Example:
      >>> import numpy as np
      >>> q, r = qr(np.array([[3.0], [4.0]]), full_matrices=False)
      >>> np.round(np.abs(r), 4).tolist()
      [[5.0]]
    """
    return tuple(
        qr_p.bind(
            x,
            pivoting=bool(pivoting),
            full_matrices=bool(full_matrices),
            use_magma=use_magma,
        )
    )


def geqrf(a: ArrayLike) -> tuple[Array, Array]:
    """Reduce matrices to triangular form by reflectors, as LAPACK stores them.

    Args:
      a: ``[*batch, m, n]``, real or complex.

    Returns:
      ``(packed, taus)``: `R` in the upper triangle of `packed` and the reflectors below it, with
      their factors ``[*batch, min(m, n)]``; see `householder_product`.

    Raises:
      TypeError: the dtype is not a float or complex dtype of 32 bits or more per part.

    Example:
      >>> import numpy as np
      >>> packed, taus = geqrf(np.eye(3, 2))
      >>> packed.shape, taus.shape
      ((3, 2), (2,))
    """
    packed, taus = geqrf_p.bind(a)
    return packed, taus


def householder_product(a: ArrayLike, taus: ArrayLike) -> Array:
    """Multiply elementary reflectors, as the QR factorization of LAPACK stores them.

    Args:
      a: ``[*batch, m, n]`` with ``m >= n``; column ``i`` below the diagonal holds the vector of
        reflector ``i``, whose element ``i`` is one.
      taus: ``[*batch, k]`` with ``k <= n``; reflector ``i`` is ``I - taus[i] v v^H``.

    Returns:
      The first `n` columns of the product, ``[*batch, m, n]``.

    Raises:
      TypeError: the dtypes or batches differ, or are not numbers that solvers take.
      ValueError: the sizes do not fit.

    Example:
      >>> import numpy as np
      >>> householder_product(np.array([[1.0], [1.0]]), np.array([1.0])).tolist()
      [[0.0], [-1.0]]
    """
    return householder_product_p.bind(a, taus)


def ormqr(
    a: ArrayLike,
    taus: ArrayLike,
    c: ArrayLike,
    *,
    left: bool = True,
    transpose: bool = False,
) -> Array:
    """Multiply `c` by the square orthogonal matrix of reflectors without forming it.

    Args:
      a: ``[*batch, m, k]``, reflectors as in `householder_product`.
      taus: ``[*batch, k]``.
      c: ``[*batch, m, n]`` when `left`, else ``[*batch, n, m]``.
      left: whether the orthogonal matrix stands to the left.
      transpose: whether its adjoint is taken.

    Returns:
      The product, of the shape of `c`.

    Raises:
      TypeError: the dtypes or batches differ, or are not numbers that solvers take.
      ValueError: the sizes do not fit.

    Example:
      >>> import numpy as np
      >>> a, taus = np.array([[1.0], [0.0]]), np.array([2.0])
      >>> ormqr(a, taus, np.array([[5.0], [6.0]])).tolist()
      [[-5.0], [6.0]]
    """
    return ormqr_p.bind(a, taus, c, left=bool(left), transpose=bool(transpose))
