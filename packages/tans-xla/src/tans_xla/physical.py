"""How values of extended dtypes look in memory."""

from typing import Any

import numpy as np

from tans_core import ArrayImpl, ShapedArray
from tans_core.sharding import named_sharding


def physical_aval(aval: Any) -> ShapedArray:
    """Return the type of `aval` in memory: extended dtypes gain trailing dimensions."""
    dtype = aval.dtype
    if isinstance(dtype, np.dtype):
        return aval
    shape = aval.shape + tuple(dtype.element_shape)
    sharding = aval._sharding
    if sharding is not None:
        sharding = named_sharding(sharding.mesh, sharding.spec.padded(len(shape)))
    return ShapedArray(shape, dtype.element_dtype, False, sharding, aval.manual_axes)


def physical_value(x: Any, aval: Any) -> Any:
    """Return the value in memory of a value of type `aval`; it may be that already."""
    if isinstance(aval.dtype, np.dtype) or type(x) is ArrayImpl:
        return x
    return aval.dtype.unwrap(x)
