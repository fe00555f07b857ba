"""Data types of array elements: which exist, how they are named and narrowed, and their limits.

A dtype is a native-endian `numpy.dtype` (small floats and integers come from ml_dtypes) or an
extended dtype such as that of random keys. Scalar kinds of Python are weakly typed defaults.
"""

import functools
import warnings
from typing import Any, Final, Protocol, runtime_checkable

import ml_dtypes
import numpy as np

from tans_core.config import ExplicitX64Mode, enable_x64, explicit_x64_dtypes
from tans_core.errors import TypePromotionError as TypePromotionError

type DType = np.dtype | ExtendedDType
type DTypeLike = Any  # a dtype, its name, a NumPy or Python scalar class, or an object with .dtype

bfloat16: Final = ml_dtypes.bfloat16
float0: Final = np.dtype([("float0", np.void, 0)])


class extended(np.generic):  # noqa: N801  (named like NumPy's abstract scalar types)
    """Scalar type above all extended dtypes, for `issubdtype`."""


class prng_key(extended):  # noqa: N801
    """Scalar type above the dtypes of random keys."""


@runtime_checkable
class ExtendedDType(Protocol):
    """A dtype that NumPy lacks; its elements are small arrays of a physical dtype.

    Attributes:
      name: printed name, such as "key<fry>".
      type: a subclass of `extended`.
      itemsize: bytes of one element.
      element_shape: shape of the physical array behind one element.
      element_dtype: its dtype.
      tangent_dtype: dtype of tangents, or None when the values have no derivative.
    """

    name: str
    type: type
    itemsize: int
    element_shape: tuple[int, ...]
    element_dtype: np.dtype
    tangent_dtype: Any

    def wrap(self, physical: Any) -> Any:
        """Return the value whose physical array is given."""
        ...

    def unwrap(self, value: Any) -> Any:
        """Return the physical array of a value."""
        ...


_INT_TYPES: Final = tuple(
    getattr(ml_dtypes, name)
    for name in ("int1", "uint1", "int2", "uint2", "int4", "uint4")
    if hasattr(ml_dtypes, name)
)
_FLOAT_TYPES: Final = (
    ml_dtypes.float4_e2m1fn,
    ml_dtypes.float8_e3m4,
    ml_dtypes.float8_e4m3,
    ml_dtypes.float8_e4m3b11fnuz,
    ml_dtypes.float8_e4m3fn,
    ml_dtypes.float8_e4m3fnuz,
    ml_dtypes.float8_e5m2,
    ml_dtypes.float8_e5m2fnuz,
    ml_dtypes.float8_e8m0fnu,
    ml_dtypes.bfloat16,
)
MACHINE_LEARNING_TYPES: Final = _INT_TYPES + _FLOAT_TYPES

SMALL_INTS: Final = tuple(map(np.dtype, _INT_TYPES))
SMALL_FLOATS: Final = tuple(map(np.dtype, _FLOAT_TYPES[:-1]))
_BOOL: Final = np.dtype(bool)
_SIGNED: Final = tuple(np.dtype(f"int{n}") for n in (8, 16, 32, 64))
_UNSIGNED: Final = tuple(np.dtype(f"uint{n}") for n in (8, 16, 32, 64))
_FLOATS: Final = (np.dtype(bfloat16), *(np.dtype(f"float{n}") for n in (16, 32, 64)))
_COMPLEX: Final = (np.dtype("complex64"), np.dtype("complex128"))

ALL_DTYPES: Final = (_BOOL, *SMALL_INTS, *_SIGNED, *_UNSIGNED, *SMALL_FLOATS, *_FLOATS, *_COMPLEX)
_SUPPORTED: Final = frozenset(ALL_DTYPES) | {float0}
_NARROWED: Final[dict[Any, np.dtype]] = {
    np.dtype("int64"): np.dtype("int32"),
    np.dtype("uint64"): np.dtype("uint32"),
    np.dtype("float64"): np.dtype("float32"),
    np.dtype("complex128"): np.dtype("complex64"),
}
_CANONICAL: Final[dict[Any, np.dtype]] = {
    dtype: _NARROWED.get(dtype, dtype) for dtype in _SUPPORTED
}
_DTYPE_CLASSES: Final = frozenset(type(dtype) for dtype in _SUPPORTED)
_INEXACT: Final = frozenset((*SMALL_FLOATS, *_FLOATS, *_COMPLEX))
_ML_BY_NAME: Final = {np.dtype(t).name: np.dtype(t) for t in MACHINE_LEARNING_TYPES}

PYTHON_SCALARS: Final = (bool, int, float, complex)
_PYTHON_SCALAR_SET: Final = frozenset(PYTHON_SCALARS)


def is_python_scalar(x: Any) -> bool:
    """Whether `x` is a Python bool, int, float or complex (subclasses of NumPy's excluded)."""
    return type(x) in _PYTHON_SCALAR_SET or (
        isinstance(x, PYTHON_SCALARS) and not isinstance(x, np.generic)
    )


def default_int() -> np.dtype:
    """Return the default integer dtype: int32, or int64 with x64."""
    return _SIGNED[3] if enable_x64.value else _SIGNED[2]


def default_uint() -> np.dtype:
    """Return the default unsigned dtype: uint32, or uint64 with x64."""
    return _UNSIGNED[3] if enable_x64.value else _UNSIGNED[2]


def default_float() -> np.dtype:
    """Return the default float dtype: float32, or float64 with x64."""
    return _FLOATS[3] if enable_x64.value else _FLOATS[2]


def default_complex() -> np.dtype:
    """Return the default complex dtype: complex64, or complex128 with x64."""
    return _COMPLEX[1] if enable_x64.value else _COMPLEX[0]


def default_dtype(kind: type) -> np.dtype:
    """Return the dtype of a Python scalar class: bool, int, float or complex."""
    return _DEFAULTS[kind]()


_DEFAULTS: Final = {
    bool: lambda: _BOOL,
    int: default_int,
    float: default_float,
    complex: default_complex,
}


@functools.lru_cache(maxsize=512)
def _numpy_dtype(dtype: DTypeLike) -> np.dtype:
    if isinstance(dtype, str) and dtype in _ML_BY_NAME:
        return _ML_BY_NAME[dtype]
    found = np.dtype(dtype)
    if not found.isnative:
        found = found.newbyteorder("=")
    if found in _SUPPORTED:
        # One object per dtype: NumPy makes new ones for structured and byte-swapped requests.
        return next(known for known in _SUPPORTED if known == found)
    raise TypeError(
        f"dtype: given {found!s}, expected bool, an integer, float or complex dtype of at most 64 "
        f"bits per part, or a small float of ml_dtypes.{_remedy_for(found)}"
    )


def _remedy_for(dtype: np.dtype) -> str:
    if dtype.names:
        return f" Pass the fields {dtype.names} as separate arrays."
    if dtype.kind in "gG" or dtype.itemsize > 8:
        return " Convert with .astype(np.float64) or .astype(np.complex128) first."
    return " Convert with .astype(...) first."


def native(dtype: DTypeLike) -> DType:
    """Return the dtype object for anything that names one, without narrowing.

    Args:
      dtype: a dtype, its name, a scalar class of NumPy or Python, an extended dtype, or an object
        with a `dtype` attribute. None means the default float.

    Raises:
      TypeError: not a dtype, or one that arrays can't have (strings, objects, long double).
    """
    if type(dtype) is type and dtype in _PYTHON_SCALAR_SET:
        return _DEFAULTS[dtype]()
    if dtype is None:
        return default_float()
    if is_extended(dtype):
        return dtype  # pyright: ignore[reportReturnType]  # just checked
    try:
        return _numpy_dtype(dtype) if dtype.__hash__ else _numpy_dtype.__wrapped__(dtype)
    except TypeError:
        inner = getattr(dtype, "dtype", None)
        if inner is None or inner is dtype or isinstance(dtype, type | np.dtype):
            raise
        return native(inner)


def is_extended(dtype: Any) -> bool:
    """Whether `dtype` is an extended dtype object."""
    kind = getattr(dtype, "type", None)
    return isinstance(kind, type) and issubclass(kind, extended)


def canonicalize(dtype: DTypeLike) -> DType:
    """Return the dtype that arrays get: 64-bit dtypes are narrowed while x64 is off.

    Args:
      dtype: anything `native` takes.

    Raises:
      TypeError: no such dtype.

    Example:
      >>> canonicalize("float64")
      dtype('float32')
    """
    if not enable_x64.value:
        if type(dtype) in _DTYPE_CLASSES and dtype in _CANONICAL:
            return _CANONICAL[dtype]
        found = native(dtype)
        return _NARROWED.get(found) or found
    return native(dtype)


def canonicalize_dtype(dtype: DTypeLike, allow_extended_dtype: bool = False) -> DType:
    """Return the dtype that arrays get for a request; the public form of `canonicalize`.

    Args:
      dtype: anything that names a dtype.
      allow_extended_dtype: whether extended dtypes pass.

    Raises:
      TypeError: no such dtype.
      ValueError: an extended dtype where none is allowed.
    """
    if is_extended(dtype) and not allow_extended_dtype:
        raise ValueError(
            f"canonicalize_dtype: given extended dtype {dtype}, expected a NumPy dtype. "
            "Pass allow_extended_dtype=True to let it through."
        )
    return canonicalize(dtype)


def requested(dtype: DTypeLike, where: str, stacklevel: int = 3) -> DType:
    """Return the dtype for an explicit ``dtype=`` argument, and say so when it is narrowed.

    Args:
      dtype: what the user asked for; Python's `int`, `float`, `complex` are never "explicit".
      where: the function's name, for the text.
      stacklevel: as for `warnings.warn`, counted from the caller.

    Raises:
      TypeError: no such dtype.
      ValueError: a 64-bit dtype while x64 is off and ``explicit_x64_dtypes`` is "error".
    """
    found = native(dtype)
    mode = explicit_x64_dtypes.value
    if enable_x64.value or found not in _NARROWED or mode is ExplicitX64Mode.ALLOW:
        return found
    narrowed = _NARROWED[found]
    text = (
        f"{where}: given dtype {found}, but 64-bit types are off; expected {narrowed}, which is "
        "used instead. To keep 64 bits: tans.config.update('jax_enable_x64', True), or "
        f"JAX_ENABLE_X64=1. To silence: ask for {narrowed}."
    )
    if mode == ExplicitX64Mode.ERROR:
        raise ValueError(text)
    if mode == ExplicitX64Mode.WARN:
        warnings.warn(text, UserWarning, stacklevel=stacklevel)
    return narrowed


def is_inexact(dtype: Any) -> bool:
    """Whether `dtype` is a float or complex dtype object."""
    return dtype in _INEXACT


def is_complex(dtype: Any) -> bool:
    """Whether `dtype` is a complex dtype object."""
    return dtype in _COMPLEX


@functools.cache
def short_name(dtype: DType) -> str:
    """Return the name used in printed types: "f32", "i8", "bool", "bf16", "key<fry>".

    Example:
      >>> short_name(np.dtype("complex64"))
      'c64'
    """
    name = dtype.name
    if dtype == float0:
        return "float0"
    for long, short in (
        ("bfloat", "bf"),
        ("float", "f"),
        ("uint", "u"),
        ("int", "i"),
        ("complex", "c"),
    ):
        if name.startswith(long) and name != "bool":
            return short + name.removeprefix(long)
    return name


def itemsize_bits(dtype: DTypeLike) -> int:
    """Return the number of bits of one element; 4 for int4, 1 for bool's storage is 8.

    Raises:
      TypeError: not a NumPy dtype.
    """
    if is_extended(dtype):
        return dtype.itemsize * 8
    found = native(dtype)
    if found in SMALL_INTS:
        return int(found.name.lstrip("uint"))
    if found == np.dtype(ml_dtypes.float4_e2m1fn):
        return 4
    return found.itemsize * 8
