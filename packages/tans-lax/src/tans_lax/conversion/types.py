"""Type rules of changes of dtype."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from tans_core import Primitive, ShapedArray, dtypes
from tans_core.dtypes import itemsize_bits
from tans_lax.conversion import bitcast_convert_type_p, convert_element_type_p
from tans_lax.elementwise.signatures import describe


def _convert_type(x: ShapedArray, *, new_dtype: Any, weak_type: bool, sharding: Any) -> ShapedArray:
    if dtypes.is_extended(x.dtype) != dtypes.is_extended(new_dtype) or (
        dtypes.is_extended(new_dtype) and new_dtype != x.dtype
    ):
        raise ValueError(
            f"lax.convert_element_type: given {describe(x)} and new dtype {new_dtype}; expected "
            "two numeric dtypes. Use random.key_data or random.wrap_key_data for keys."
        )
    del sharding
    return x.update(dtype=new_dtype, weak_type=weak_type)


def _bitcast_type(x: ShapedArray, *, new_dtype: Any) -> ShapedArray:
    if x.dtype == new_dtype:
        return x.update(weak_type=False)
    if dtypes.is_extended(x.dtype) or dtypes.is_extended(new_dtype):
        raise ValueError(
            f"lax.bitcast_convert_type: given {describe(x)} and new dtype {new_dtype}; expected "
            "integer or float dtypes. Use random.key_data or random.wrap_key_data for keys."
        )
    if any(not isinstance(d, np.dtype) or d.kind in "bc" for d in (x.dtype, new_dtype)):
        raise TypeError(
            f"lax.bitcast_convert_type: given {describe(x)} and new dtype {new_dtype}; expected "
            "integer or float dtypes. Take lax.real and lax.imag of complex numbers first."
        )
    old, new = itemsize_bits(x.dtype), itemsize_bits(new_dtype)
    shape = x.shape
    if new < old:
        shape = (*shape, old // new)
    elif new > old:
        if not shape or shape[-1] * old != new:
            raise ValueError(
                f"lax.bitcast_convert_type: given {describe(x)} of {old} bits and new dtype "
                f"{new_dtype} of {new} bits; expected a last dimension of size {new // old}. "
                "Reshape the operand first."
            )
        shape = shape[:-1]
    return x.update(shape=shape, dtype=new_dtype, weak_type=False)


TYPES: Final[dict[Primitive, Callable[..., ShapedArray]]] = {
    convert_element_type_p: _convert_type,
    bitcast_convert_type_p: _bitcast_type,
}
