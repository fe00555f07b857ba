"""Type rules: a key is a small array of words."""

from typing import Any, Final

from tans_core import ShapedArray
from tans_random.wrapping import (
    random_clone_p,
    random_consume_p,
    random_unwrap_p,
    random_wrap_p,
)


def _wrap_type(words: ShapedArray, *, dtype: Any) -> ShapedArray:
    n = len(dtype.element_shape)
    if words.dtype != dtype.element_dtype or words.shape[words.ndim - n :] != dtype.element_shape:
        raise TypeError(
            f"random_wrap: given words of type {words.str_short()}, expected uint32 with the last "
            f"dimensions {dtype.element_shape} for {dtype}."
        )
    return ShapedArray(words.shape[: words.ndim - n], dtype)


def _unwrap_type(keys: ShapedArray) -> ShapedArray:
    dtype = keys.dtype
    return ShapedArray(keys.shape + tuple(dtype.element_shape), dtype.element_dtype)


def _consume_type(keys: ShapedArray, *, used_by: str) -> ShapedArray:
    del used_by
    return _unwrap_type(keys)


def _clone_type(keys: ShapedArray) -> ShapedArray:
    return keys


TYPES: Final = {
    random_wrap_p: _wrap_type,
    random_unwrap_p: _unwrap_type,
    random_consume_p: _consume_type,
    random_clone_p: _clone_type,
}
