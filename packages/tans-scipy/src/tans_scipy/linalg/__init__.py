"""Linear algebra with the names and options of SciPy."""

from tans_scipy.linalg.exponential import expm
from tans_scipy.linalg.factors import cholesky, eigh, lu, qr, svd
from tans_scipy.linalg.solving import (
    cho_factor,
    cho_solve,
    det,
    inv,
    lu_factor,
    lu_solve,
    solve,
    solve_triangular,
)
from tans_scipy.linalg.structured import block_diag, circulant, hankel, hilbert, toeplitz

__all__ = [
    "block_diag",
    "cho_factor",
    "cho_solve",
    "cholesky",
    "circulant",
    "det",
    "eigh",
    "expm",
    "hankel",
    "hilbert",
    "inv",
    "lu",
    "lu_factor",
    "lu_solve",
    "qr",
    "solve",
    "solve_triangular",
    "svd",
    "toeplitz",
]
