"""Type rule: the result has the type of the shape parameter."""

from typing import Any, Final

import numpy as np

from tans_core import ShapedArray
from tans_core.dtype_queries import issubdtype
from tans_random.implementations import Implementation
from tans_random.random_gamma import random_gamma_p


def _gamma_type(
    words: ShapedArray, a: ShapedArray, *, impl: Implementation, log_space: bool
) -> ShapedArray:
    rank = words.ndim - len(impl.key_shape)
    expected = (*a.shape[:rank], *impl.key_shape)
    if words.dtype != np.uint32 or rank < 0 or words.shape != expected:
        raise TypeError(
            f"random_gamma: given words of type {words.str_short()} for parameters of type "
            f"{a.str_short()}, expected uint32 of shape {expected}. Use random.gamma."
        )
    if not issubdtype(a.dtype, np.floating):
        raise TypeError(
            f"random_gamma: given parameters of type {a.str_short()}, expected floats. Use "
            "random.gamma, which converts them."
        )
    return a.update(weak_type=False)


TYPES: Final[dict[Any, Any]] = {random_gamma_p: _gamma_type}
