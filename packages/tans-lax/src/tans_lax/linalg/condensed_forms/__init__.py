"""Reduction of matrices to Hessenberg and to tridiagonal form."""

from typing import Any, Final

from tans_core import Array, Primitive

type ArrayLike = Any  # array of the documented shape, tracer or NumPy array

hessenberg_p: Final = Primitive("hessenberg", family=__name__, multiple_results=True)
tridiagonal_p: Final = Primitive("tridiagonal", family=__name__, multiple_results=True)


def hessenberg(a: ArrayLike) -> tuple[Array, Array]:
    """Reduce matrices to upper Hessenberg form, ``a = q @ h @ q^H``.

    Args:
      a: ``[*batch, n, n]``, real or complex.

    Returns:
      ``(packed, taus)``: `h` on and above the first subdiagonal of `packed`, and below it the
      reflectors whose product is `q`, with their factors ``[*batch, n - 1]``; see
      `householder_product`.

    Raises:
      TypeError: the dtype is not a float or complex dtype of 32 bits or more per part.
      ValueError: the matrices are not square.

    Example:
      >>> import numpy as np
      >>> packed, taus = hessenberg(np.eye(3))
      >>> packed.shape, taus.shape
      ((3, 3), (2,))
    """
    packed, taus = hessenberg_p.bind(a)
    return packed, taus


def tridiagonal(a: ArrayLike, *, lower: bool = True) -> tuple[Array, Array, Array, Array]:
    """Reduce Hermitian matrices to real tridiagonal form, ``a = q @ t @ q^H``.

    Args:
      a: ``[*batch, n, n]``, real or complex.
      lower: which triangle is read.

    Returns:
      ``(packed, d, e, taus)``: the reflectors in one triangle of `packed`, the diagonal
      ``[*batch, n]`` and off-diagonal ``[*batch, n - 1]`` of `t`, and the factors of the
      reflectors ``[*batch, n - 1]``.

    Raises:
      TypeError: the dtype is not a float or complex dtype of 32 bits or more per part.
      ValueError: the matrices are not square.

    Example:
      >>> import numpy as np
      >>> packed, d, e, taus = tridiagonal(np.diag([1.0, 2.0, 3.0]))
      >>> d.tolist(), e.tolist()
      ([1.0, 2.0, 3.0], [0.0, 0.0])
    """
    packed, d, e, taus = tridiagonal_p.bind(a, lower=bool(lower))
    return packed, d, e, taus
