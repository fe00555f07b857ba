"""Type rule: an integer that yields to other types, as a Python int does."""

from typing import Any, Final

import numpy as np

from tans_compiler.symbolic.dimension_values import dimension_value_p
from tans_core import ShapedArray, dtypes


def _types(*, dim: Any) -> ShapedArray:
    del dim
    return ShapedArray((), dtypes.canonicalize(np.dtype(np.int64)), weak_type=True)


TYPES: Final = {dimension_value_p: _types}
