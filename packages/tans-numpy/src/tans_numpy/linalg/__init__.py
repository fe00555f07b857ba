"""Linear algebra with the names and signatures of `numpy.linalg`.

Functions take stacks of matrices ``[..., m, n]``; integers become the default float.
"""

from tans_numpy.linalg.factorizations import cholesky, qr, svd
from tans_numpy.linalg.norms import cond, matrix_norm, norm, vector_norm
from tans_numpy.linalg.products import (
    cross,
    diagonal,
    matmul,
    matrix_power,
    matrix_transpose,
    multi_dot,
    outer,
    tensordot,
    trace,
    vecdot,
)
from tans_numpy.linalg.spectra import eig, eigh, eigvals, eigvalsh, matrix_rank, svdvals
from tans_numpy.linalg.systems import (
    det,
    inv,
    lstsq,
    pinv,
    slogdet,
    solve,
    tensorinv,
    tensorsolve,
)

__all__ = [
    "cholesky",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "lstsq",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "multi_dot",
    "norm",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "tensorinv",
    "tensorsolve",
    "trace",
    "vecdot",
    "vector_norm",
]
