"""Type rules of choices between values."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from tans_core import Primitive, ShapedArray
from tans_core.dtype_queries import issubdtype
from tans_lax.elementwise.selection import clamp_p, select_n_p
from tans_lax.elementwise.signatures import (
    BITS,
    ORDERED,
    TypeRule,
    check_dtype,
    check_same_dtype,
    describe,
)


def _select_n_type(which: ShapedArray, *cases: ShapedArray) -> ShapedArray:
    if not cases:
        raise ValueError(
            "lax.select_n: given no case; expected at least one array to choose from. Pass the "
            "cases after `which`."
        )
    if not any(issubdtype(which.dtype, kind) for kind in BITS):
        raise TypeError(
            f"lax.select_n: given `which` of type {describe(which)}; expected bool or an integer "
            "dtype. Compare with 0, or convert to int32, first."
        )
    if which.dtype == np.bool_ and len(cases) > 2:
        raise TypeError(
            f"lax.select_n: given a boolean `which` and {len(cases)} cases; expected at most two. "
            "Use an int32 `which`."
        )
    check_same_dtype("select_n", cases, "where")
    _check_case_shapes(which, cases)
    weak = all(case.weak_type for case in cases)
    first = cases[0]
    return first if first.weak_type is weak else first.update(weak_type=weak)


def _check_case_shapes(which: ShapedArray, cases: Sequence[ShapedArray]) -> None:
    shape = cases[0].shape
    if any(case.shape != shape for case in cases):
        raise TypeError(
            f"lax.select_n: case shapes differ: given {', '.join(map(describe, cases))}; expected "
            "equal shapes. Use lax.full_like for constants, or jnp.where, which broadcasts."
        )
    if which.shape not in ((), shape):
        raise TypeError(
            f"lax.select_n: given `which` of type {describe(which)} for cases of type "
            f"{describe(cases[0])}; expected the shape of the cases, or rank 0. Use "
            "lax.broadcast_in_dim, or jnp.where, which broadcasts."
        )


def _clamp_type(low: ShapedArray, x: ShapedArray, high: ShapedArray) -> ShapedArray:
    check_dtype("clamp", x, ORDERED)
    check_same_dtype("clamp", (low, x, high), "clip")
    for name, bound in (("min", low), ("max", high)):
        if bound.shape not in ((), x.shape):
            raise TypeError(
                f"lax.clamp: given {name} of type {describe(bound)} for x of type {describe(x)}; "
                f"expected the shape of x, or rank 0. Use jnp.clip, which broadcasts."
            )
    weak = low.weak_type and x.weak_type and high.weak_type
    return x if x.weak_type is weak else x.update(weak_type=weak)


TYPES: Final[dict[Primitive, TypeRule]] = {
    select_n_p: _select_n_type,
    clamp_p: _clamp_type,
}
