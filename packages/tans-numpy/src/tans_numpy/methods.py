"""Methods and properties of arrays and tracers, in terms of the NumPy-level functions."""

import functools
import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any, Final, NoReturn

import numpy as np

import tans_lax as lax
from tans_core import dtypes, slots, typeof
from tans_numpy import (
    contractions,
    creation,
    filled,
    joining,
    manipulation,
    reductions,
    selection,
    variances,
)
from tans_numpy.indexing import at, getitem, take
from tans_numpy.operands import check_arraylike
from tans_numpy.rounding import round as round_
from tans_xla import composite

type Array = Any


def _reshape(
    self: Array, *args: Any, order: str = "C", copy: Any = None, out_sharding: Any = None
) -> Array:
    """Return the array with another shape, given as ints or as one tuple; see `reshape`."""
    shape = args[0] if len(args) == 1 else args
    return manipulation.reshape(self, shape, order, copy=copy, out_sharding=out_sharding)


def _transpose(self: Array, *args: Any) -> Array:
    """Return the array with its dimensions in another order, given as ints or one tuple."""
    axes = args[0] if len(args) == 1 and not isinstance(args[0], int) else args or None
    return manipulation.transpose(self, axes)


@composite(static_argnames=("dtype",))
def _cast(x: Array, *, dtype: Any) -> Array:
    if dtypes.is_complex(typeof(x).dtype) and not dtypes.is_complex(dtype):
        x = lax.real(x)
    if dtype == np.bool_:
        return lax.ne(x, typeof(x).dtype.type(0)) if typeof(x).dtype != np.bool_ else x
    return lax.convert_element_type(x, dtype)


def astype(self: Array, dtype: Any, copy: bool = False, device: Any = None) -> Array:
    """Return the array converted to a dtype; complex values lose their imaginary part.

    Args:
      self: any shape.
      dtype: dtype of the result; None means the default float.
      copy: has no effect.
      device: device or sharding to put the result on.
    """
    asked = dtypes.default_float() if dtype is None else dtype
    target = creation.requested_dtype(asked, "astype")
    aval = typeof(self)
    if dtypes.is_complex(aval.dtype) and not dtypes.is_complex(target) and target != np.bool_:
        warnings.warn(
            f"astype: given complex numbers and the real dtype {target}: imaginary parts are "
            "dropped. Use x.real.astype(...) to say so.",
            DeprecationWarning,
            stacklevel=2,
        )
    out = self if aval.dtype == target and not aval.weak_type else _cast(self, dtype=target)
    return out if device is None else creation.device_put(out, device)


def _iterate(self: Array) -> Any:
    """Iterate over the first dimension."""
    if self.ndim == 0:
        raise TypeError(
            "iteration over a 0-d array: expected at least one dimension. Use x.item()."
        )
    return iter(joining.unstack(self))


def _contains(self: Array, value: Any) -> bool:
    """Whether a vector has an element that equals a scalar.

    Raises:
      TypeError: `value` is not an array or scalar.
      ValueError: the array has another number of dimensions than one.
    """
    if self.ndim != 1:
        raise ValueError(
            f"x in array: given an array of shape {self.shape}, expected a vector. Write "
            "(array == x).any()."
        )
    check_arraylike("x in array", value)
    return bool(reductions.any(self == value))


def _flatten(self: Array, order: str = "C", *, out_sharding: Any = None) -> Array:
    """Return the elements in one dimension."""
    return manipulation.ravel(self, order, out_sharding=out_sharding)


def _copy(self: Array) -> Array:
    """Return a copy."""
    return creation.array(self, copy=True)


def _real(self: Array) -> Array:
    """Real part."""
    return lax.real(self) if dtypes.is_complex(self.dtype) else self


def _imag(self: Array) -> Array:
    """Imaginary part."""
    return lax.imag(self) if dtypes.is_complex(self.dtype) else filled.zeros_like(self)


def _conj(self: Array) -> Array:
    """Return the complex conjugate."""
    return lax.conj(self) if dtypes.is_complex(self.dtype) else self


def _round(self: Array, decimals: int = 0, out: None = None) -> Array:
    """Round to a number of decimals, halves to even."""
    return round_(self, decimals, out)


def _python_round(self: Array, ndigits: int | None = None) -> Array:
    """Round; without a number of digits to integers of an integer dtype, as `round` does."""
    out = _round(self, ndigits or 0)
    return out if ndigits is not None else _cast(out, dtype=dtypes.default_int())


def _compress(
    self: Array,
    condition: Any,
    axis: int | None = None,
    *,
    out: None = None,
    size: int | None = None,
    fill_value: Any = 0,
) -> Array:
    """Return the slices along an axis where a condition holds; see `compress`."""
    compress = _module("editing").compress
    return compress(condition, self, axis, size=size, fill_value=fill_value, out=out)


def _no_flat(self: Array) -> NoReturn:
    """Raise: there is no iterator that can be written to."""
    del self
    raise NotImplementedError(
        "x.flat: arrays have no flat iterator, expected x.ravel(). Use x.ravel(), or x.at[...] for "
        "updates."
    )


def _namespace(self: Array, *, api_version: str | None = None) -> Any:
    """Return the module of functions for this array, as the array API standard asks.

    Args:
      self: any shape.
      api_version: version of the standard that is wanted.

    Raises:
      ValueError: an unknown version.
    """
    del self
    versions = _module("array_api").VERSIONS
    if api_version not in (None, *versions):
        raise ValueError(
            f"__array_namespace__: given api_version={api_version!r}, expected None, or one of "
            f"{', '.join(versions)}."
        )
    return import_module("tans_numpy")


def _delegate(module: str, name: str, parameters: Callable[..., None]) -> Callable[..., Any]:
    """Return a method that calls a function of a module loaded at the first call.

    The parameters are those of a function that is never called; `inspect` finds them.
    """

    def method(self: Array, *args: Any, **kwargs: Any) -> Any:
        return _function(module, name)(self, *args, **kwargs)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"Return ``{name}(self, ...)``; see `{name}`."
    method.__wrapped__ = parameters  # pyright: ignore[reportFunctionMemberAccess]
    return method


@functools.cache
def _function(module: str, name: str) -> Callable[..., Any]:
    return getattr(_module(module), name)


def _module(name: str) -> Any:
    return import_module(f"tans_numpy.{name}")


_METHODS: Final[dict[str, Any]] = {
    "__getitem__": getitem,
    "__iter__": _iterate,
    "__contains__": _contains,
    "__round__": _python_round,
    "reshape": _reshape,
    "transpose": _transpose,
    "astype": astype,
    "flatten": _flatten,
    "ravel": _flatten,
    "copy": _copy,
    "conj": _conj,
    "conjugate": _conj,
    "round": _round,
    "sum": reductions.sum,
    "prod": reductions.prod,
    "max": reductions.max,
    "min": reductions.min,
    "mean": reductions.mean,
    "var": variances.var,
    "std": variances.std,
    "all": reductions.all,
    "any": reductions.any,
    "clip": selection.clip,
    "dot": contractions.dot,
    "squeeze": manipulation.squeeze,
    "swapaxes": manipulation.swapaxes,
    "take": take,
    "ptp": _delegate(
        "nan_reductions", "ptp", lambda self, axis=None, out=None, keepdims=False: None
    ),
    "cumsum": _delegate("cumulative", "cumsum", lambda self, axis=None, dtype=None, out=None: None),
    "cumprod": _delegate(
        "cumulative", "cumprod", lambda self, axis=None, dtype=None, out=None: None
    ),
    "argmax": _delegate(
        "searching", "argmax", lambda self, axis=None, out=None, keepdims=None: None
    ),
    "argmin": _delegate(
        "searching", "argmin", lambda self, axis=None, out=None, keepdims=None: None
    ),
    "argsort": _delegate(
        "sorting",
        "argsort",
        lambda self, axis=-1, *, kind=None, order=None, stable=True, descending=False: None,
    ),
    "argpartition": _delegate("sorting", "argpartition", lambda self, kth, axis=-1: None),
    "sort": _delegate(
        "sorting",
        "sort",
        lambda self, axis=-1, *, kind=None, order=None, stable=True, descending=False: None,
    ),
    "nonzero": _delegate("searching", "nonzero", lambda self, *, fill_value=None, size=None: None),
    "searchsorted": _delegate(
        "searching",
        "searchsorted",
        lambda self, v, side="left", sorter=None, *, method="scan": None,
    ),
    "repeat": _delegate(
        "rearrangement",
        "repeat",
        lambda self, repeats, axis=None, *, total_repeat_length=None, out_sharding=None: None,
    ),
    "choose": _delegate("editing", "choose", lambda self, choices, out=None, mode="raise": None),
    "compress": _compress,
    "__array_namespace__": _namespace,
    "diagonal": _delegate("diagonals", "diagonal", lambda self, offset=0, axis1=0, axis2=1: None),
    "trace": _delegate(
        "diagonals", "trace", lambda self, offset=0, axis1=0, axis2=1, dtype=None, out=None: None
    ),
    "view": _delegate("views", "view", lambda self, dtype=None, type=None: None),
    "byteswap": _delegate("views", "byteswap", lambda self: None),
}
_PROPERTIES: Final = {
    "T": manipulation.transpose,
    "mT": manipulation.matrix_transpose,
    "real": _real,
    "imag": _imag,
    "nbytes": lambda self: self.size * self.dtype.itemsize,
    "itemsize": lambda self: self.dtype.itemsize,
    "flat": _no_flat,
}


def install() -> None:
    """Fill the slots of methods and properties."""
    properties = {name: property(get) for name, get in _PROPERTIES.items()}
    slots.fill({**_METHODS, **properties, "at": at}, "tans-numpy")
