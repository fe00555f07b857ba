"""The programs behind the methods of ``x.at[...]``, and the dtype in which they compute."""

import warnings
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

import tans_lax as lax
from tans_core import Array, dtypes, typeof
from tans_core.promotion import join as join_dtypes
from tans_core.promotion import weak_dtype_of
from tans_lax.conversion import as_type
from tans_numpy.indexing import recorded
from tans_numpy.indexing.eager import is_eager
from tans_numpy.indexing.entries import Parsed, parse
from tans_numpy.indexing.get import Options
from tans_numpy.indexing.plans import FAR, Plan, split_index
from tans_numpy.indexing.update import update_masked, update_parsed
from tans_numpy.operands import typed_scalar
from tans_xla import jit

type Value = Any  # an array, a Python scalar or a tracer


def write(x: Value, index: Any, method: str, values: Value, options: Options) -> Value:
    """Combine values into the indexed places: one compiled entry on a concrete array."""
    if isinstance(values, list | tuple):
        values = np.asarray(values)
    elif type(values) is int and not -FAR <= values < FAR:
        values = typed_scalar(values, x.dtype)  # an argument of an entry would be an int32
    dtype = _compute_dtype(x, values, method)
    eager = is_eager(x)
    kind = type(index)
    if eager and kind is int and -FAR <= index < FAR:
        return _element_entry(method, options, dtype)(x, values, index)
    if not eager and recorded.can_replay(x):
        key = recorded.key_of(index)
        if key is not None:
            return _write_recorded(x, values, key, method, options, dtype)
    if kind is not int and _is_mask_of(index, x) and not np.shape(values):
        fun = _masked_entry(method, dtype) if eager else _write_masked(method, dtype)
        return fun(x, values, index)
    if not eager:
        return _write_at(x, values, parse(index, x.shape), method, options, dtype)
    plan, numbers, _ = split_index(index, x.shape, clamps=True)
    return _entry(plan, method, options, dtype)(x, values, *numbers)


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


def _write_recorded(
    x: Value,
    values: Value,
    key: tuple[list[Any], list[Value]],
    method: str,
    options: Options,
    dtype: Any,
) -> Value:
    pattern, arrays = key
    if type(values) in (bool, int, float, complex):
        values = _cast(values, dtype)

    def update_array(x: Value, values: Value, *arrays: Value) -> Value:
        parsed = parse(recorded.index_of(pattern, arrays), x.shape)
        return _write_at(x, values, parsed, method, options, dtype)

    return recorded.call((method, options, dtype, *pattern), update_array, [x, values, *arrays])


@lru_cache(maxsize=1024)
def _masked_entry(method: str, dtype: Any) -> Callable[..., Value]:
    return jit(_write_masked(method, dtype))


@lru_cache(maxsize=1024)
def _element_entry(method: str, options: Options, dtype: Any) -> Callable[..., Value]:
    def update_element(x: Value, values: Value, index: Value) -> Value:
        return _write_at(x, values, parse(index, x.shape), method, options, dtype)

    return jit(update_element)


@lru_cache(maxsize=4096)
def _entry(plan: Plan, method: str, options: Options, dtype: Any) -> Callable[..., Value]:
    def update_array(x: Value, values: Value, *numbers: Value) -> Value:
        return _write_at(x, values, plan.parsed(numbers), method, options, dtype)

    return jit(update_array)


def _result_dtype(x_dtype: Any, dtype: Any, method: str) -> Any:
    own = dtypes.is_inexact(x_dtype) if method == "divide" else x_dtype != np.bool_
    return x_dtype if own or method not in ("divide", "power") else dtype


def _is_mask_of(index: Any, x: Value) -> bool:
    """Whether an index is a concrete mask over leading dimensions of `x`."""
    if type(index) is tuple or not isinstance(index, Array | np.ndarray):
        return False
    if index.dtype != np.bool_ or not index.ndim or index.shape != x.shape[: index.ndim]:
        return False
    return getattr(index, "concrete", lambda: index)() is not None


def _compute_dtype(x: Value, values: Value, method: str) -> Any:
    """Return the dtype to compute in; warn if converting back to that of `x` may lose."""
    x_type, values_type = _narrow(weak_dtype_of(x)), _narrow(_values_type(values))
    dtype = x_type[0]
    joined = dtype
    if not isinstance(dtype, np.dtype) and (method != "set" or values_type[0] != dtype):
        raise TypeError(
            f"x.at[...].{method}: given an array of dtype {dtype} and values of dtype "
            f"{values_type[0]}, expected numbers, or keys of one generator to set. Make keys with "
            "random.key or random.wrap_key_data."
        )
    if x_type != values_type:
        joined, _ = join_dtypes(x_type, values_type)
        if joined != dtype and not (x_type[1] and _same_kind(joined, dtype)):
            _warn(x_type[0], values_type[0])
    if method == "divide" and not dtypes.is_inexact(joined):
        return join_dtypes((joined, x_type[1]), (dtypes.default_float(), True))[0]
    if method == "power" and dtype == np.bool_:
        if values_type[0] == np.bool_:
            raise TypeError(
                "x.at[...].power: given booleans and a boolean exponent, expected numbers. Convert "
                "one with astype(int)."
            )
        return dtypes.default_int()
    # Exponents of integers count as integers.
    own = method == "set" or (method == "power" and not dtypes.is_inexact(dtype))
    return dtype if own else joined


def _narrow(kind: tuple[Any, bool]) -> tuple[Any, bool]:
    """Return the type that an array made under x64 has while it is off."""
    dtype, weak = kind
    wide = dtype.itemsize >= 8 and dtype.kind in "fiuc"
    return (dtypes.canonicalize(dtype), weak) if wide else kind


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
        stacklevel=7,
    )
    if dtypes.is_complex(values_dtype) and not dtypes.is_complex(x_dtype):
        warnings.warn(
            f"x.at[...]: imaginary parts of values of dtype {values_dtype} are discarded in an "
            f"array of dtype {x_dtype}; expected real values. Pass jnp.real(values).",
            np.exceptions.ComplexWarning,
            stacklevel=7,
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
