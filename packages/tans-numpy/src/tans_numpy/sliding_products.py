"""Sliding products of two vectors: convolve and correlate."""

from typing import Any

import tans_lax as lax
from tans_core import dtypes, typeof
from tans_numpy.creation import requested_dtype
from tans_numpy.operands import ArrayLike, check_arraylike, promote_dtypes_inexact
from tans_xla import composite

type Array = Any


def _slide(a: Any, v: Any, *, mode: str, precision: Any, dtype: Any, convolve: bool) -> Array:
    """Slide the shorter vector along the longer one.

    The convolution operation of XLA does not turn its kernel round, so `convolve` does; a
    correlation whose second operand is the longer one comes out backwards.
    """
    a, v = promote_dtypes_inexact("convolve" if convolve else "correlate", a, v)
    if not convolve and dtypes.is_complex(typeof(v).dtype):
        v = lax.conj(v)
    swapped = typeof(a).size < typeof(v).size
    if swapped:
        a, v = v, a
    if convolve:
        v = lax.rev(v, (0,))
    n = typeof(v).size
    padding = {"valid": (0, 0), "same": (n // 2, n - n // 2 - 1), "full": (n - 1, n - 1)}[mode]
    out = lax.conv_general_dilated(
        a[None, None, :], v[None, None, :], (1,), [padding], precision=precision,
        preferred_element_type=dtype,
    )[0, 0]  # fmt: skip
    return lax.rev(out, (0,)) if swapped and not convolve else out


def _product(
    name: str, a: Any, v: Any, mode: str, precision: Any, dtype: Any, convolve: bool
) -> Array:
    check_arraylike(name, a, v)
    if mode not in ("full", "same", "valid"):
        raise ValueError(f"{name}: given mode={mode!r}, expected 'full', 'same' or 'valid'.")
    if typeof(a).ndim != 1 or typeof(v).ndim != 1:
        raise ValueError(
            f"{name}: given operands of shapes {typeof(a).shape} and {typeof(v).shape}, expected "
            "vectors."
        )
    if not typeof(a).size or not typeof(v).size:
        raise ValueError(f"{name}: given an empty vector, expected at least one element.")
    dtype = None if dtype is None else requested_dtype(dtype, name)
    return _slide(a, v, mode=mode, precision=precision, dtype=dtype, convolve=convolve)


@composite(static_argnames=("mode", "precision", "preferred_element_type"), is_whole=True)
def convolve(
    a: ArrayLike, v: ArrayLike, mode: str = "full", *, precision: Any = None,
    preferred_element_type: Any = None,
) -> Array:  # fmt: skip
    """Return the convolution of two vectors: sums of ``a[i] * v[k - i]``.

    Args:
      a: [n]; integers become the default float.
      v: [m].
      mode: "full" (n + m - 1 elements), "same" (as many as the longer operand) or "valid" (where
        both overlap fully).
      precision: precision of the products.
      preferred_element_type: dtype of accumulation and result.

    Raises:
      ValueError: unknown mode, or an operand that is empty or no vector.

    Example:
      >>> convolve(jnp.array([1.0, 2.0]), jnp.array([1.0, 1.0]))
      Array([1., 3., 2.], dtype=float32)
    """
    return _product("convolve", a, v, mode, precision, preferred_element_type, True)


@composite(static_argnames=("mode", "precision", "preferred_element_type"), is_whole=True)
def correlate(
    a: ArrayLike, v: ArrayLike, mode: str = "valid", *, precision: Any = None,
    preferred_element_type: Any = None,
) -> Array:  # fmt: skip
    """Return the correlation of two vectors: sums of ``a[i + k] * conj(v[i])``.

    Args:
      a: [n]; integers become the default float.
      v: [m].
      mode: "full" (n + m - 1 elements), "same" (as many as the longer operand) or "valid" (where
        both overlap fully).
      precision: precision of the products.
      preferred_element_type: dtype of accumulation and result.

    Raises:
      ValueError: unknown mode, or an operand that is empty or no vector.
    """
    return _product("correlate", a, v, mode, precision, preferred_element_type, False)
