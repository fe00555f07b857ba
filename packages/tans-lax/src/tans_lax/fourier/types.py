"""Result type of Fourier transforms."""

from collections.abc import Callable
from typing import Any, Final, NoReturn

import numpy as np

from tans_core import Primitive, ShapedArray
from tans_lax.fourier import FftType, fft_p

_REAL_OF: Final = {"complex64": "float32", "complex128": "float64"}
_COMPLEX_OF: Final = {real: complex for complex, real in _REAL_OF.items()}


def _fft_type(x: ShapedArray, *, fft_type: FftType, fft_lengths: tuple[int, ...]) -> ShapedArray:
    rank = len(fft_lengths)
    if not 1 <= rank <= 3 or x.ndim < rank:
        _refuse(
            f"fft_lengths={fft_lengths} for {_shown(x)}, expected one to three lengths, and as "
            "many dimensions. Transform further dimensions in a second call."
        )
    names = _COMPLEX_OF if fft_type is FftType.RFFT else _REAL_OF
    if x.dtype.name not in names:
        _refuse(
            f"{_shown(x)} for {fft_type.name}, expected the dtype {' or '.join(names)}. Convert it "
            "with lax.convert_element_type."
        )
    half = (*fft_lengths[:-1], fft_lengths[-1] // 2 + 1 if fft_lengths[-1] else 0)
    expected = half if fft_type is FftType.IRFFT else fft_lengths
    if x.shape[x.ndim - rank :] != expected:
        _refuse(
            f"{_shown(x)} for {fft_type.name} with fft_lengths={fft_lengths}, expected the last "
            f"dimensions {expected}. Slice or pad the array."
        )
    batch = x.shape[: x.ndim - rank]
    x = x.update(weak_type=False)
    if fft_type is FftType.RFFT:
        return x.update(shape=(*batch, *half), dtype=np.dtype(names[x.dtype.name]))
    if fft_type is FftType.IRFFT:
        return x.update(shape=(*batch, *fft_lengths), dtype=np.dtype(names[x.dtype.name]))
    return x


def _shown(x: ShapedArray) -> str:
    return x.str_short(short_dtypes=False)


def _refuse(text: str) -> NoReturn:
    raise ValueError(f"fft: given {text}")


TYPES: Final[dict[Primitive, Callable[..., Any]]] = {
    fft_p: _fft_type,
}
