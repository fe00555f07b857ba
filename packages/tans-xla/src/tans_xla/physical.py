"""How values of extended dtypes look in memory."""

from typing import Any

import numpy as np

from tans_core import ArrayImpl, ShapedArray


def physical_aval(aval: Any) -> ShapedArray:
    """Return the type of `aval` in memory: extended dtypes gain trailing dimensions."""
    dtype = aval.dtype
    if isinstance(dtype, np.dtype):
        return aval
    return ShapedArray(aval.shape + tuple(dtype.element_shape), dtype.element_dtype)


def physical_value(x: Any, aval: Any) -> Any:
    """Return the value in memory of a value of type `aval`; it may be that already."""
    if isinstance(aval.dtype, np.dtype) or type(x) is ArrayImpl:
        return x
    return aval.dtype.unwrap(x)
