"""How values of extended dtypes look in memory."""

from typing import Any

import numpy as np

from tans_core import ShapedArray


def physical_aval(aval: Any) -> ShapedArray:
    """Return the type of `aval` in memory: extended dtypes gain trailing dimensions."""
    dtype = aval.dtype
    if isinstance(dtype, np.dtype):
        return aval
    return ShapedArray(aval.shape + tuple(dtype.element_shape), dtype.element_dtype)
