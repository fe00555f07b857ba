"""``x.at[index]``: updates of single places, as functions that return a new array."""

import math
import warnings
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

import numpy as np

import tans_lax as lax
from tans_core import Array, dtypes, typeof
from tans_core.promotion import join as join_dtypes
from tans_core.promotion import weak_dtype_of
from tans_lax.conversion import as_type
from tans_lax.gather_scatter import GatherScatterMode
from tans_numpy.indexing.eager import get_eager, is_eager, join, split
from tans_numpy.indexing.entries import Parsed, parse
from tans_numpy.indexing.get import FILL, PROMISE, Options, get_parsed
from tans_numpy.indexing.update import (
    apply_repeated,
    is_unrepeated,
    update_masked,
    update_parsed,
)
from tans_xla import jit

type Value = Any  # an array, a Python scalar or a tracer
type Mode = str | GatherScatterMode | None

_WRITE: Final = Options(mode=FILL)


class _IndexUpdateHelper:
    """What ``x.at`` returns; index it."""

    __slots__ = ("array",)

    def __init__(self, array: Value) -> None:
        self.array = array

    def __getitem__(self, index: Any) -> "_IndexUpdateRef":
        return _IndexUpdateRef(self.array, index)

    def __repr__(self) -> str:
        return f"_IndexUpdateHelper({self.array!r})"


class _IndexUpdateRef:
    """Places of an array; the methods return a new array or what is at the places.

    Keywords that the methods share:

    * `indices_are_sorted`, `unique_indices`: promises that allow faster code.
    * `mode`: what happens out of bounds: ``'clip'`` moves indices inside; ``'fill'`` or ``'drop'``
      fills what is read and drops what is written; ``'promise_in_bounds'`` does not check. None
      clips what is read and drops what is written.
    * `wrap_negative_indices`: whether negative indices count from the end.
    * `out_sharding`: sharding of the result.
    """

    __slots__ = ("array", "index")

    def __init__(self, array: Value, index: Any) -> None:
        self.array = array
        self.index = index

    def __repr__(self) -> str:
        return f"_IndexUpdateRef({self.array!r}, {self.index!r})"

    def get(
        self,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Mode = None,
        fill_value: Any = None,
        out_sharding: Any = None,
        wrap_negative_indices: bool = True,
    ) -> Array:
        """Read the places; ``x[index]`` with control over what happens out of bounds.

        Args:
          indices_are_sorted: promise that the indices ascend.
          unique_indices: promise that no place is read twice.
          mode: see the class.
          fill_value: scalar for places out of bounds if `mode` is ``'fill'``; None is nan, the
            lowest signed, the highest unsigned integer, or True.
          out_sharding: sharding of the result.
          wrap_negative_indices: whether negative indices count from the end.

        Raises:
          ValueError: unknown mode, or a fill value that is not a scalar.

        Example:
          >>> jnp.arange(3.0).at[7].get(mode="fill", fill_value=-1).tolist()
          -1.0
        """
        options = Options(
            PROMISE if mode is None else GatherScatterMode.from_any(mode),
            _fill_scalar(fill_value),
            indices_are_sorted,
            unique_indices,
            wrap_negative_indices,
        )
        x = self.array
        parsed = parse(self.index, x.shape)
        out = get_eager(x, parsed, options) if is_eager(x) else get_parsed(x, parsed, options)
        return _with_sharding(out, out_sharding)

    def apply(
        self,
        func: Callable[[Value], Value],
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Mode = None,
        wrap_negative_indices: bool = True,
    ) -> Array:
        """Apply an elementwise function at the places, once for each time a place is named.

        Args:
          func: maps an array to one of the same shape and dtype, element by element.
          indices_are_sorted: promise that the indices ascend.
          unique_indices: promise that no place is named twice.
          mode: see the class.
          wrap_negative_indices: whether negative indices count from the end.

        Raises:
          TypeError: `func` changes the dtype.
          ValueError: unknown mode, or `func` changes the shape.

        Example:
          >>> jnp.arange(3.0).at[1:].apply(lambda v: v * v).tolist()
          [0.0, 1.0, 4.0]
        """
        mode = GatherScatterMode.from_any(mode)
        options = Options(mode, None, indices_are_sorted, unique_indices, wrap_negative_indices)
        x = self.array
        parsed = parse(self.index, x.shape)
        if not is_unrepeated(parsed, options):
            return apply_repeated(x, parsed, func, options)
        read = options._replace(mode=GatherScatterMode.CLIP)
        old = get_eager(x, parsed, read) if is_eager(x) else get_parsed(x, parsed, read)
        return self._update("set", func(old), options)

    def _write(
        self,
        method: str,
        values: Value,
        indices_are_sorted: bool,
        unique_indices: bool,
        mode: Mode,
        out_sharding: Any,
        wrap: bool,
    ) -> Array:
        options = _WRITE
        if mode is not None or indices_are_sorted or unique_indices or not wrap:
            mode = GatherScatterMode.from_any(mode)
            options = Options(mode, None, indices_are_sorted, unique_indices, wrap)
        out = self._update(method, values, options)
        return out if out_sharding is None else _with_sharding(out, out_sharding)

    def _update(self, method: str, values: Value, options: Options) -> Array:
        x, index = self.array, self.index
        if isinstance(values, list | tuple):
            values = np.asarray(values)
        dtype = _compute_dtype(x, values, method)
        eager = is_eager(x)
        kind = type(index)
        if eager and kind is int:
            return _element_entry(method, options, dtype)(x, values, index)
        if kind is not int and _is_mask_of(index, x) and not np.shape(values):
            write = _masked_entry(method, dtype) if eager else _write_masked(method, dtype)
            return write(x, values, index)
        parsed = parse(index, x.shape)
        if not eager:
            return _write_at(x, values, parsed, method, options, dtype)
        pattern, numbers = split(parsed.entries, x.shape)
        more = (parsed.new_dims, parsed.from_mask)
        return _entry(pattern, *more, method, options, dtype)(x, values, *numbers)


def _method(name: str, summary: str, values: str, example: str) -> Callable[..., Array]:
    def write(
        self: _IndexUpdateRef,
        values: Value,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Mode = None,
        out_sharding: Any = None,
        wrap_negative_indices: bool = True,
    ) -> Array:
        return self._write(
            name,
            values,
            indices_are_sorted,
            unique_indices,
            mode,
            out_sharding,
            wrap_negative_indices,
        )

    write.__name__ = name
    write.__qualname__ = f"_IndexUpdateRef.{name}"
    write.__doc__ = f"""{summary}

        Args:
          values: {values}; broadcast to the shape of ``x[index]`` and converted to the dtype of the
            array, with a FutureWarning if that loses information.
          indices_are_sorted: promise that the indices ascend.
          unique_indices: promise that no place is named twice.
          mode: see the class.
          out_sharding: sharding of the result.
          wrap_negative_indices: whether negative indices count from the end.

        Returns:
          A new array of the shape{" and dtype" if name != "divide" else ""} of the array.

        Raises:
          ValueError: unknown mode, or values that do not broadcast.

        Example:
          >>> {example}
        """
    return write


_IndexUpdateRef.set = _method(
    "set",
    "Write values; which write lasts at a place named twice is unspecified.",
    "array or scalar",
    "jnp.arange(3).at[0].set(7).tolist()\n          [7, 1, 2]",
)
_IndexUpdateRef.add = _method(
    "add",
    "Add values; those for one place add up.",
    "array or scalar",
    "jnp.arange(3).at[jnp.array([0, 0])].add(1).tolist()\n          [2, 1, 2]",
)
_IndexUpdateRef.subtract = _method(
    "subtract",
    "Subtract values; those for one place all count.",
    "array or scalar",
    "jnp.arange(3).at[1:].subtract(1).tolist()\n          [0, 0, 1]",
)
_IndexUpdateRef.multiply = _IndexUpdateRef.mul = _method(
    "multiply",
    "Multiply by values; those for one place all count.",
    "array or scalar",
    "jnp.arange(3).at[1:].multiply(3).tolist()\n          [0, 3, 6]",
)
_IndexUpdateRef.divide = _method(
    "divide",
    "Divide by values; an integer array becomes one of floats.",
    "array or scalar",
    "jnp.arange(3).at[1].divide(2).tolist()\n          [0.0, 0.5, 2.0]",
)
_IndexUpdateRef.power = _method(
    "power",
    "Raise to powers; those for one place multiply.",
    "array or scalar",
    "jnp.arange(3).at[2].power(3).tolist()\n          [0, 1, 8]",
)
_IndexUpdateRef.min = _method(
    "min",
    "Take the minimum with values.",
    "array or scalar",
    "jnp.arange(3).at[2].min(1).tolist()\n          [0, 1, 1]",
)
_IndexUpdateRef.max = _method(
    "max",
    "Take the maximum with values.",
    "array or scalar",
    "jnp.arange(3).at[0].max(5).tolist()\n          [5, 1, 2]",
)


# ---- programs ---------------------------------------------------------------------------------


def _write_at(
    x: Value, values: Value, parsed: Parsed, method: str, options: Options, dtype: Any
) -> Value:
    aval = typeof(x)
    out = update_parsed(_cast(x, dtype), parsed, method, _cast(values, dtype), options)
    return as_type(out, _result_dtype(aval.dtype, dtype, method), aval.weak_type)


def _write_masked(method: str, dtype: Any) -> Callable[[Value, Value, Value], Value]:
    def update_masked_array(x: Value, values: Value, mask: Value) -> Value:
        aval = typeof(x)
        out = update_masked(_cast(x, dtype), mask, method, _cast(values, dtype))
        return as_type(out, _result_dtype(aval.dtype, dtype, method), aval.weak_type)

    return update_masked_array


@lru_cache(maxsize=1024)
def _masked_entry(method: str, dtype: Any) -> Callable[..., Value]:
    return jit(_write_masked(method, dtype))


@lru_cache(maxsize=1024)
def _element_entry(method: str, options: Options, dtype: Any) -> Callable[..., Value]:
    def update_element(x: Value, values: Value, index: Value) -> Value:
        return _write_at(x, values, parse(index, x.shape), method, options, dtype)

    return jit(update_element)


@lru_cache(maxsize=4096)
def _entry(
    pattern: Any,
    new_dims: tuple[int, ...],
    from_mask: bool,
    method: str,
    options: Options,
    dtype: Any,
) -> Callable[..., Value]:
    def update_array(x: Value, values: Value, *numbers: Value) -> Value:
        parsed = Parsed(join(pattern, numbers), new_dims, from_mask)
        return _write_at(x, values, parsed, method, options, dtype)

    return jit(update_array)


def _result_dtype(x_dtype: Any, dtype: Any, method: str) -> Any:
    return dtype if method == "divide" and not dtypes.is_inexact(x_dtype) else x_dtype


# ---- arguments --------------------------------------------------------------------------------


def _fill_scalar(value: Any) -> Any:
    if value is None:
        return None
    if np.ndim(value):
        raise ValueError(
            f"x.at[...].get: given a fill_value of shape {np.shape(value)}, expected a scalar. To "
            "fill with an array, use jnp.where on the result."
        )
    value = np.asarray(value).item()
    # One object for nan, which does not equal itself: the fill value is a key of caches.
    return math.nan if isinstance(value, float) and value != value else value


def _is_mask_of(index: Any, x: Value) -> bool:
    """Whether an index is a concrete mask over leading dimensions of `x`."""
    if type(index) is tuple or not isinstance(index, Array | np.ndarray):
        return False
    if index.dtype != np.bool_ or not index.ndim or index.shape != x.shape[: index.ndim]:
        return False
    return getattr(index, "concrete", lambda: index)() is not None


def _compute_dtype(x: Value, values: Value, method: str) -> Any:
    """Return the dtype to compute in; warn if converting back to that of `x` may lose."""
    x_type, values_type = weak_dtype_of(x), _values_type(values)
    dtype = x_type[0]
    joined = dtype
    if x_type != values_type:
        joined, _ = join_dtypes(x_type, values_type)
        if joined != dtype and not (x_type[1] and _same_kind(joined, dtype)):
            _warn(x_type[0], values_type[0])
    if method == "divide" and not dtypes.is_inexact(joined):
        return join_dtypes((joined, x_type[1]), (dtypes.default_float(), True))[0]
    return dtype if method == "set" else joined


def _values_type(values: Value) -> tuple[Any, bool]:
    if values is None:
        raise ValueError(
            "x.at[...]: given None as values, expected an array or a scalar. To write nan, pass "
            "jnp.nan."
        )
    try:
        return weak_dtype_of(values)
    except (TypeError, ValueError):
        raise TypeError(
            f"x.at[...]: given values {values!r} of type {type(values).__name__}, expected an "
            "array or a scalar. Convert them with jnp.asarray."
        ) from None


def _same_kind(a: Any, b: Any) -> bool:
    return dtypes.is_inexact(a) == dtypes.is_inexact(b)


def _warn(x_dtype: Any, values_dtype: Any) -> None:
    warnings.warn(
        f"x.at[...]: given values of dtype {values_dtype} for an array of dtype {x_dtype}, "
        "expected values that convert without loss. Convert them with astype first; this will "
        "become an error.",
        FutureWarning,
        stacklevel=6,
    )
    if dtypes.is_complex(values_dtype) and not dtypes.is_complex(x_dtype):
        warnings.warn(
            f"x.at[...]: imaginary parts of values of dtype {values_dtype} are discarded in an "
            f"array of dtype {x_dtype}; expected real values. Pass jnp.real(values).",
            np.exceptions.ComplexWarning,
            stacklevel=6,
        )


def _cast(x: Value, dtype: Any) -> Value:
    """Convert to a dtype; Python numbers out of range wrap."""
    if isinstance(x, bool | int | float | complex | np.generic | np.ndarray):
        if dtypes.is_complex(np.asarray(x).dtype) and not dtypes.is_complex(dtype):
            x = np.real(x)
        x = np.asarray(x).astype(dtype)
        return x if x.ndim else x[()]
    aval = typeof(x)
    if aval.dtype != dtype:
        if dtypes.is_complex(aval.dtype) and not dtypes.is_complex(dtype):
            x = lax.real(x)
        x = lax.convert_element_type(x, dtype)
    return x


def _with_sharding(x: Value, out_sharding: Any) -> Value:
    if out_sharding is None:
        return x
    return lax.with_sharding_constraint(x, out_sharding)


at: Final = property(_IndexUpdateHelper, doc="Updates of single places: ``x.at[index].set(y)``.")
