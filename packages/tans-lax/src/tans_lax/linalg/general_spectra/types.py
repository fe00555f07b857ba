"""Result types of eigenvalue problems without symmetry."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from tans_core import Primitive, ShapedArray
from tans_lax.linalg.checks import check_square, with_shape
from tans_lax.linalg.general_spectra import eig_p, schur_p


def _eig_type(
    x: ShapedArray,
    *,
    compute_left_eigenvectors: bool,
    compute_right_eigenvectors: bool,
    enable_eigvec_derivs: bool,
    implementation: Any,
) -> tuple[ShapedArray, ...]:
    del enable_eigvec_derivs, implementation
    check_square("eig", x)
    n = x.shape[-1]
    dtype = np.result_type(x.dtype, np.complex64)
    vectors = with_shape(x, n, n, dtype=dtype)
    count = compute_left_eigenvectors + compute_right_eigenvectors
    return (with_shape(x, n, dtype=dtype), *[vectors] * count)


def _schur_type(
    x: ShapedArray, *, compute_schur_vectors: bool, **_: Any
) -> tuple[ShapedArray, ...]:
    check_square("schur", x)
    return (x, x) if compute_schur_vectors else (x,)


TYPES: Final[dict[Primitive, Callable[..., Any]]] = {
    eig_p: _eig_type,
    schur_p: _schur_type,
}
