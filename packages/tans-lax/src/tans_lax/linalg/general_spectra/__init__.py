"""Eigenvalues, eigenvectors and Schur forms of matrices without symmetry."""

import enum
from collections.abc import Callable
from typing import Any, Final

from tans_core import Array, Primitive

type ArrayLike = Any  # array of the documented shape, tracer or NumPy array

eig_p: Final = Primitive("eig", family=__name__, multiple_results=True)
schur_p: Final = Primitive("schur", family=__name__, multiple_results=True)


class EigImplementation(enum.Enum):
    """Library that computes `eig` on a GPU."""

    CUSOLVER = "cusolver"
    MAGMA = "magma"
    LAPACK = "lapack"


def eig(
    x: ArrayLike,
    *,
    compute_left_eigenvectors: bool = True,
    compute_right_eigenvectors: bool = True,
    enable_eigvec_derivs: bool = False,
    implementation: EigImplementation | None = None,
    use_magma: bool | None = None,
) -> list[Array]:
    """Compute eigenvalues and eigenvectors of general matrices.

    They solve ``x @ vr = vr @ diag(w)`` and ``vl^H @ x = diag(w) @ vl^H``.

    Args:
      x: ``[*batch, n, n]``, real or complex.
      compute_left_eigenvectors: whether to return `vl`.
      compute_right_eigenvectors: whether to return `vr`.
      enable_eigvec_derivs: whether right eigenvectors may be differentiated. That they keep length
        one and a real largest component is then assumed of the function that uses them, and that
        all eigenvalues are distinct.
      implementation: library to use on a GPU; None chooses.
      use_magma: older spelling of a choice between MAGMA (True) and LAPACK (False).

    Returns:
      A list of `w` ``[*batch, n]`` and the wanted ones of `vl` and `vr` ``[*batch, n, n]``, all
      complex. Eigenvectors have length one.

    Raises:
      TypeError: the dtype is not a float or complex dtype of 32 bits or more per part.
      ValueError: the matrices are not square.

    Example:
      >>> import numpy as np
      >>> w, vl, vr = eig(np.array([[2.0, 0.0], [0.0, 3.0]]))
      >>> [z.real for z in w.tolist()]
      [2.0, 3.0]
    """
    if use_magma is not None and implementation is None:
        implementation = EigImplementation.MAGMA if use_magma else EigImplementation.LAPACK
    return eig_p.bind(
        x,
        compute_left_eigenvectors=bool(compute_left_eigenvectors),
        compute_right_eigenvectors=bool(compute_right_eigenvectors),
        enable_eigvec_derivs=bool(enable_eigvec_derivs),
        implementation=implementation,
    )


def schur(
    x: ArrayLike,
    *,
    compute_schur_vectors: bool = True,
    sort_eig_vals: bool = False,
    select_callable: Callable[..., Any] | None = None,
) -> tuple[Array, Array]:
    """Factor matrices as ``x = z @ t @ z^H`` with unitary `z` and triangular `t`.

    Args:
      x: ``[*batch, n, n]``, real or complex. The form of a real matrix is real, with a block of
        size two on the diagonal for each pair of conjugate eigenvalues.
      compute_schur_vectors: whether to return `z`.
      sort_eig_vals: must be False: eigenvalues come in the order in which they are found.
      select_callable: must be None; would choose which eigenvalues come first.

    Returns:
      ``[t, z]``, or ``[t]`` without Schur vectors.

    Raises:
      TypeError: the dtype is not a float or complex dtype of 32 bits or more per part.
      ValueError: the matrices are not square.
      NotImplementedError: sorting is asked for.

    Example:
      >>> import numpy as np
      >>> t, z = schur(np.array([[1.0, 2.0], [0.0, 3.0]]))
      >>> t.tolist()
      [[1.0, 2.0], [0.0, 3.0]]
    """
    if sort_eig_vals or select_callable is not None:
        raise NotImplementedError(
            f"schur: given sort_eig_vals={sort_eig_vals} and select_callable={select_callable}, "
            "expected False and None: the eigenvalues can't be sorted yet. Leave both out."
        )
    return schur_p.bind(
        x,
        compute_schur_vectors=bool(compute_schur_vectors),
        sort_eig_vals=False,
        select_callable=None,
    )
