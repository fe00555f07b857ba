"""Result types of cumulative reductions."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from tans_core import Primitive, ShapedArray
from tans_core.dtype_queries import issubdtype
from tans_lax.axes import check_axis
from tans_lax.cumulative import cumlogsumexp_p, cummax_p, cummin_p, cumprod_p, cumsum_p


def _cumulative(name: str, kind: Any, expected: str) -> Callable[..., ShapedArray]:
    def cumulative_type(x: ShapedArray, *, axis: int, reverse: bool) -> ShapedArray:
        del reverse
        if not issubdtype(x.dtype, kind):
            raise TypeError(
                f"{name}: given an operand of dtype {x.dtype}, expected {expected}. "
                "Convert it with lax.convert_element_type first."
            )
        check_axis(name, axis, x)
        return x

    return cumulative_type


TYPES: Final[dict[Primitive, Callable[..., Any]]] = {
    cumsum_p: _cumulative("cumsum", np.number, "a numeric dtype"),
    cumprod_p: _cumulative("cumprod", np.number, "a numeric dtype"),
    cummax_p: _cumulative("cummax", np.number, "a numeric dtype"),
    cummin_p: _cumulative("cummin", np.number, "a numeric dtype"),
    cumlogsumexp_p: _cumulative("cumlogsumexp", np.inexact, "a float or complex dtype"),
}
