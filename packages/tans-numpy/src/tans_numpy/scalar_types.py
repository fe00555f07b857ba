"""Scalar types such as `float32`: usable as dtypes, and callable to make arrays."""

from typing import Any

import numpy as np

from tans_core import dtypes
from tans_numpy.creation import array


class _ScalarMeta(type):
    """Makes a class equal to its NumPy scalar type and callable as a constructor."""

    dtype: np.dtype

    def __call__(cls, x: Any) -> Any:
        return array(x, dtype=cls.dtype)

    def __eq__(cls, other: object) -> bool:
        return other is cls or cls.dtype == other

    def __ne__(cls, other: object) -> bool:
        return not cls == other

    def __hash__(cls) -> int:
        return hash(cls.dtype.type)

    def __repr__(cls) -> str:
        return f"<class 'tans.numpy.{cls.__name__}'>"


def _make(name: str, scalar: Any) -> Any:
    doc = (
        f"Scalar type {name}: a dtype, and a constructor of arrays of it.\n\n"
        "    Args:\n      x: scalar or nested sequence; the result is 0-d for a scalar.\n"
    )
    names = {"dtype": np.dtype(scalar), "__doc__": doc, "__module__": "tans_numpy"}
    return _ScalarMeta(name, (), names)


bool_ = _make("bool", np.bool_)
int8 = _make("int8", np.int8)
int16 = _make("int16", np.int16)
int32 = _make("int32", np.int32)
int64 = _make("int64", np.int64)
uint8 = _make("uint8", np.uint8)
uint16 = _make("uint16", np.uint16)
uint32 = _make("uint32", np.uint32)
uint64 = _make("uint64", np.uint64)
float16 = _make("float16", np.float16)
float32 = _make("float32", np.float32)
float64 = _make("float64", np.float64)
complex64 = _make("complex64", np.complex64)
complex128 = _make("complex128", np.complex128)
_SMALL = {np.dtype(t).name: _make(np.dtype(t).name, t) for t in dtypes.MACHINE_LEARNING_TYPES}
# Data types only: the compiler ends the process on some programs with 6-bit floats, so no array
# can have them.
float6_e2m3fn = _make("float6_e2m3fn", np.dtype("float6_e2m3fn"))
float6_e3m2fn = _make("float6_e3m2fn", np.dtype("float6_e3m2fn"))
SMALL_NAMES = tuple(_SMALL)
globals().update(_SMALL)
int_ = int64
uint = uint64
float_ = double = float64
single = float32
csingle = complex64
cdouble = complex_ = complex128
