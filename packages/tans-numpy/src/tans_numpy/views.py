"""The same bits with another dtype."""

from typing import Any

import numpy as np

import tans_lax as lax
from tans_core import typeof
from tans_numpy.creation import requested_dtype
from tans_xla import composite

type Array = Any


@composite(static_argnames=("dtype",))
def _view(x: Array, *, dtype: Any) -> Array:
    aval = typeof(x)
    if aval.dtype == np.bool_:
        x = lax.convert_element_type(x, np.dtype(np.uint8))
    if dtype == np.bool_:
        # A byte that is not 0 is true, as NumPy shows it.
        raw = _view.inline(x, dtype=np.dtype(np.uint8))
        return lax.ne(raw, np.uint8(0))
    if aval.dtype.kind == "c":
        x = _split_complex(x)
    old, new = typeof(x).dtype.itemsize, dtype.itemsize
    if dtype.kind == "c":
        part = np.dtype(f"float{new * 4}")
        parts = _view.inline(x, dtype=part)
        return lax.complex(parts[..., ::2], parts[..., 1::2])
    dims = typeof(x).shape
    if old == new:
        return lax.bitcast_convert_type(x, dtype)
    if old > new:
        out = lax.bitcast_convert_type(x, dtype)
        return lax.reshape(out, (*dims[:-1], dims[-1] * (old // new)))
    ratio = new // old
    return lax.bitcast_convert_type(lax.reshape(x, (*dims[:-1], dims[-1] // ratio, ratio)), dtype)


def _split_complex(x: Array) -> Array:
    dims = typeof(x).shape
    parts = [lax.expand_dims(p, (len(dims),)) for p in (lax.real(x), lax.imag(x))]
    return lax.reshape(lax.concatenate(parts, len(dims)), (*dims[:-1], dims[-1] * 2))


def view(self: Array, dtype: Any = None, type: None = None) -> Array:
    """Return the bits of an array as elements of another dtype; the last dimension is resized.

    Args:
      self: any shape.
      dtype: dtype of the result; None returns the array itself.
      type: not supported.

    Raises:
      NotImplementedError: `type` is given.
      ValueError: the widths differ and the last dimension does not fit.
    """
    if type is not None:
        raise NotImplementedError("view: given type=, expected None: there is one class of arrays.")
    if dtype is None:
        return self
    target = requested_dtype(dtype, "view")
    aval = typeof(self)
    old, new = aval.dtype.itemsize, target.itemsize
    if old != new and (not aval.ndim or aval.shape[-1] * old % new):
        raise ValueError(
            f"view: given {aval.str_short()} and the dtype {target}, whose {new} bytes do not "
            "divide those of the last dimension. Choose a dtype of the same width."
        )
    return _view(self, dtype=target)


def byteswap(self: Array) -> Array:
    """Return the elements with their bytes in reverse order; each part of a complex number alone.

    Args:
      self: any shape, any dtype.

    Example:
      >>> jnp.array([1], dtype=jnp.int32).byteswap().tolist()
      [16777216]
    """
    return self if typeof(self).dtype.itemsize == 1 else _byteswap(self)


@composite
def _byteswap(x: Array) -> Array:
    aval = typeof(x)
    if aval.dtype.kind == "c":
        return lax.complex(_byteswap.inline(lax.real(x)), _byteswap.inline(lax.imag(x)))
    parts = lax.bitcast_convert_type(x, np.dtype(np.uint8))
    return lax.bitcast_convert_type(lax.rev(parts, (aval.ndim,)), aval.dtype)
