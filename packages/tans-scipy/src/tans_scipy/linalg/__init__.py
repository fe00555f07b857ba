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
from tans_scipy.linalg.special_matrices import (
    companion,
    convolution_matrix,
    dft,
    fiedler,
    fiedler_companion,
    hadamard,
    helmert,
    invhilbert,
    invpascal,
    leslie,
    pascal,
)
from tans_scipy.linalg.structured import block_diag, circulant, hankel, hilbert, toeplitz
from tans_scipy.linalg.sylvester import solve_sylvester
from tans_scipy.linalg.triangular_forms import (
    expm_frechet,
    funm,
    hessenberg,
    polar,
    qr_multiply,
    rsf2csf,
    schur,
    sqrtm,
)
from tans_scipy.linalg.tridiagonal import eigh_tridiagonal

__all__ = [
    "block_diag",
    "cho_factor",
    "cho_solve",
    "cholesky",
    "circulant",
    "companion",
    "convolution_matrix",
    "det",
    "dft",
    "eigh",
    "eigh_tridiagonal",
    "expm",
    "expm_frechet",
    "fiedler",
    "fiedler_companion",
    "funm",
    "hadamard",
    "hankel",
    "helmert",
    "hessenberg",
    "hilbert",
    "inv",
    "invhilbert",
    "invpascal",
    "leslie",
    "lu",
    "lu_factor",
    "lu_solve",
    "pascal",
    "polar",
    "qr",
    "qr_multiply",
    "rsf2csf",
    "schur",
    "solve",
    "solve_sylvester",
    "solve_triangular",
    "sqrtm",
    "svd",
    "toeplitz",
]
