"""Named results of decompositions."""

from typing import Any, NamedTuple

type Array = Any


class EigResult(NamedTuple):
    """Eigenvalues ``[..., n]`` and eigenvectors ``[..., n, n]``, as columns."""

    eigenvalues: Array
    eigenvectors: Array


class EighResult(NamedTuple):
    """Real, ascending eigenvalues ``[..., n]`` and eigenvectors ``[..., n, n]``, as columns."""

    eigenvalues: Array
    eigenvectors: Array


class QRResult(NamedTuple):
    """Orthonormal columns `Q` and upper-triangular `R`."""

    Q: Array
    R: Array


class SVDResult(NamedTuple):
    """Left singular vectors, descending singular values, adjoint right singular vectors."""

    U: Array
    S: Array
    Vh: Array


class SlogdetResult(NamedTuple):
    """Sign (or phase) and logarithm of the magnitude of determinants ``[...]``."""

    sign: Array
    logabsdet: Array
