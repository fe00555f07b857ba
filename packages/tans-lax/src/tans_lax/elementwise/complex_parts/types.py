"""Type rules of the parts of complex numbers."""

from typing import Final

import numpy as np

from tans_core import Primitive, ShapedArray
from tans_lax.elementwise.complex_parts import complex_p, conj_p, imag_p, real_p
from tans_lax.elementwise.signatures import COMPLEX, TypeRule, check_dtype, nary, unary

_PARTS: Final = (np.float32, np.float64)


def real_dtype(aval: ShapedArray) -> np.dtype:
    """Return the dtype of the parts of a complex type."""
    return np.dtype(np.float32) if aval.dtype == np.complex64 else np.dtype(np.float64)


def complex_dtype(aval: ShapedArray) -> np.dtype:
    """Return the complex dtype whose parts have a type's dtype."""
    return np.dtype(np.complex64) if aval.dtype == np.float32 else np.dtype(np.complex128)


def _conj_type(x: ShapedArray, *, input_dtype: np.dtype) -> ShapedArray:
    del input_dtype
    check_dtype("conj", x, (*COMPLEX, *_PARTS))
    return x if x.dtype.kind == "c" else x.update(dtype=complex_dtype(x))


TYPES: Final[dict[Primitive, TypeRule]] = {
    real_p: unary("real", COMPLEX, real_dtype),
    imag_p: unary("imag", COMPLEX, real_dtype),
    complex_p: nary("complex", _PARTS, complex_dtype),
    conj_p: _conj_type,
}
