"""Dtypes: which exist, their names, narrowing, the hierarchy and the limits."""

import ml_dtypes
import numpy as np
import pytest

from tans_core import config, dtype_queries, dtypes


@pytest.mark.parametrize("dtype", dtypes.ALL_DTYPES, ids=str)
def test_every_dtype_is_found_by_object_name_and_class(dtype):
    assert dtypes.native(dtype) is dtypes.native(dtype.name)
    assert dtypes.native(dtype.type) == dtype


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("bool", "bool"),
        ("int8", "i8"),
        ("uint32", "u32"),
        ("bfloat16", "bf16"),
        ("float16", "f16"),
        ("complex64", "c64"),
        ("int4", "i4"),
        ("float8_e4m3fn", "f8_e4m3fn"),
    ],
)
def test_short_names(name, short):
    assert dtypes.short_name(dtypes.native(name)) == short


def test_float0_is_a_dtype_of_no_bytes():
    assert dtypes.short_name(dtypes.float0) == "float0"
    assert dtypes.float0.itemsize == 0
    assert dtypes.native(dtypes.float0) == dtypes.float0


@pytest.mark.parametrize(
    ("given", "off", "on"),
    [
        (np.float64, "float32", "float64"),
        ("int64", "int32", "int64"),
        (np.uint64, "uint32", "uint64"),
        ("complex128", "complex64", "complex128"),
        (int, "int32", "int64"),
        (float, "float32", "float64"),
        (bool, "bool", "bool"),
        (None, "float32", "float64"),
        (np.int16, "int16", "int16"),
    ],
)
def test_canonicalize_narrows_unless_x64(given, off, on):
    assert dtypes.canonicalize(given) == np.dtype(off)
    with config.enable_x64(True):
        assert dtypes.canonicalize(given) == np.dtype(on)


def test_swapped_bytes_are_accepted_as_the_native_dtype():
    assert dtypes.native(">f4").isnative
    assert dtypes.canonicalize(np.dtype(">f8")) == np.float32


@pytest.mark.parametrize(
    ("bad", "fact"),
    [
        ("S3", "S3"),
        (object, "object"),
        (np.longdouble, "float64"),
        ([("a", float), ("b", int)], "'a', 'b'"),
        ("datetime64[s]", "datetime64"),
        ("no_such", "no_such"),
    ],
)
def test_other_dtypes_are_refused_by_name(bad, fact):
    with pytest.raises(TypeError, match=fact):
        dtypes.native(bad)


def test_explicit_64_bit_request_warns_raises_or_passes():
    with pytest.warns(UserWarning, match="float64.*JAX_ENABLE_X64"):
        assert dtypes.requested("float64", "zeros") == np.float32
    with config.explicit_x64_dtypes("error"), pytest.raises(ValueError, match="zeros"):
        dtypes.requested("float64", "zeros")
    with config.explicit_x64_dtypes("allow"):
        assert dtypes.requested("float64", "zeros") == np.float64
    assert dtypes.requested(float, "zeros") == np.float32


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("bfloat16", np.floating, True),
        ("bfloat16", np.float32, False),
        (ml_dtypes.float8_e5m2, np.inexact, True),
        ("int4", np.signedinteger, True),
        ("uint4", np.unsignedinteger, True),
        (np.float32, np.number, True),
        (bool, np.number, False),
        (int, np.integer, True),
        ("float32", dtypes.extended, False),
        (dtypes.prng_key, dtypes.extended, True),
        (np.floating, np.inexact, True),
        (np.float32, "float32", True),
        (np.float32, dtypes.bfloat16, False),
        (dtypes.float0, np.generic, True),
    ],
)
def test_issubdtype(a, b, expected):
    assert dtype_queries.issubdtype(a, b) is expected


def test_limits():
    assert dtype_queries.finfo(dtypes.bfloat16).bits == 16
    assert dtype_queries.finfo(np.ones(2, "complex64")).eps == np.finfo("float32").eps
    assert dtype_queries.iinfo("int4").max == 7
    with pytest.raises(ValueError, match="int8"):
        dtype_queries.finfo("int8")
    with pytest.raises(ValueError, match="float32"):
        dtype_queries.iinfo("float32")


@pytest.mark.parametrize(("name", "bits"), [("int4", 4), ("uint2", 2), ("int1", 1), ("bool", 8)])
def test_itemsize_bits(name, bits):
    assert dtypes.itemsize_bits(name) == bits


def test_python_scalars_are_told_from_numpy_scalars():
    assert dtypes.is_python_scalar(1.5)
    assert not dtypes.is_python_scalar(np.float64(1.5))
    assert dtype_queries.scalar_type_of(np.int8(1)) is int
    assert dtype_queries.scalar_type_of(True) is bool
