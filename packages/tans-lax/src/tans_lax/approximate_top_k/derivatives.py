"""Derivatives of the approximate search: tangents of the elements that were found."""

from collections.abc import Callable
from typing import Any, Final

from tans_core import Primitive, Zero, typeof, zero_tangent
from tans_lax.approximate_top_k import approx_top_k_p
from tans_lax.rows import not_linear
from tans_lax.sorting.derivatives import take_along

type Value = Any


def _approx_top_k_jvp(
    primals: tuple[Value], tangents: tuple[Value], **params: Any
) -> tuple[list[Value], list[Value]]:
    values, indices = approx_top_k_p.bind(*primals, **params)
    (t,) = tangents
    no_dot = zero_tangent(typeof(indices))
    if type(t) is Zero:
        return [values, indices], [zero_tangent(typeof(values)), no_dot]
    axis = params["reduction_dimension"] % typeof(t).ndim
    return [values, indices], [take_along(t, indices, axis), no_dot]


JVP: Final[dict[Primitive, Callable[..., Any]]] = {
    approx_top_k_p: _approx_top_k_jvp,
}

TRANSPOSE: Final[dict[Primitive, Callable[..., Any]]] = {
    approx_top_k_p: not_linear,
}
