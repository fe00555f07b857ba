"""Discrete Fourier transforms over the last dimensions."""

import enum
from collections.abc import Sequence
from typing import Any, Final, Self, override

from tans_core import Array, Primitive, typeof
from tans_core.dtypes import is_complex
from tans_lax.conversion import convert_element_type
from tans_lax.elementwise.complex_parts import complex
from tans_xla.sizes import as_sizes, has_symbolic

type ArrayLike = Any  # array of the documented shape, tracer or NumPy array

fft_p: Final = Primitive("fft", family=__name__)


class FftType(enum.IntEnum):
    """Kind of transform: of complex numbers, of real ones, and their inverses."""

    FFT = 0
    IFFT = 1
    RFFT = 2
    IRFFT = 3

    @classmethod
    @override
    def _missing_(cls, value: object) -> Self | None:
        return cls.__members__.get(value.upper()) if isinstance(value, str) else None


def fft(x: ArrayLike, fft_type: FftType | str, fft_lengths: Sequence[int]) -> Array:
    """Transform the last dimensions.

    Args:
      x: ``[*batch, *lengths]``. Complex for FFT and IFFT (a real array is converted); real for
        RFFT (integers are converted); for IRFFT complex with ``lengths[-1] // 2 + 1`` elements
        along the last dimension.
      fft_type: an `FftType` or its name.
      fft_lengths: one to three lengths of the signal, one for each transformed dimension.

    Returns:
      The unnormalised transform; inverses are divided by the number of elements. Complex, except
      for IRFFT. The last dimension of RFFT has ``lengths[-1] // 2 + 1`` elements.

    Raises:
      NotImplementedError: a length is a symbolic size.
      ValueError: the type is unknown, the lengths don't fit the shape, or the dtype doesn't fit
        the type.

    Example:
      >>> import numpy as np
      >>> fft(np.array([1.0, 0.0, 0.0, 0.0]), "RFFT", (4,)).real.tolist()
      [1.0, 1.0, 1.0]
    """
    try:
        kind = FftType(fft_type)
    except ValueError:
        names = ", ".join(FftType.__members__)
        raise ValueError(
            f"fft: given fft_type={fft_type!r}, expected an FftType or one of {names}. Write "
            'fft_type="FFT".'
        ) from None
    dtype: Any = typeof(x).dtype
    if kind in (FftType.FFT, FftType.IFFT) and dtype.kind in "biuf":
        x = _as_complex(x, dtype)
    elif kind is FftType.RFFT and is_complex(dtype):
        raise ValueError(
            f"fft: given {typeof(x).str_short(short_dtypes=False)} for RFFT, expected a real "
            "array: only real input is supported. Use FFT."
        )
    elif kind is FftType.RFFT and dtype.kind in "biu":
        x = convert_element_type(x, "float32")
    elif kind is FftType.IRFFT and dtype.kind in "biuf":
        x = _as_complex(x, dtype)
    fft_lengths = as_sizes(fft_lengths)
    if has_symbolic(fft_lengths):
        raise NotImplementedError(
            f"fft: given the lengths {tuple(fft_lengths)}, expected numbers: the program of a "
            "transform is made for one length. Export the function for constant lengths; other "
            "dimensions may be symbolic."
        )
    return fft_p.bind(x, fft_type=kind, fft_lengths=fft_lengths)


def _as_complex(x: ArrayLike, dtype: Any) -> ArrayLike:
    double = dtype.name == "float64"
    x = convert_element_type(x, "float64" if double else "float32")
    return complex(x, typeof(x).dtype.type(0))
