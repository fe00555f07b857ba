"""Derivatives of gathers and scatters.

A gather is linear in its operand, with a scatter-add as its transpose; adding and subtracting
scatters are linear in operand and updates. The others need to know which value stayed, see
`extrema.py` and `overwrite.py`.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import tans_lax as lax
from tans_core import Primitive, Zero, is_linear_input, typeof, zero_tangent
from tans_lax.gather_scatter.dimension_numbers import (
    GatherDimensionNumbers,
    GatherScatterMode,
)
from tans_lax.gather_scatter.extrema import extremum_jvp
from tans_lax.gather_scatter.overwrite import overwrite_jvp, overwrite_transpose
from tans_lax.gather_scatter.places import at_places, scatter_options
from tans_lax.gather_scatter.primitives import (
    gather_p,
    scatter_add_p,
    scatter_max_p,
    scatter_min_p,
    scatter_mul_p,
    scatter_p,
    scatter_sub_p,
)
from tans_lax.gather_scatter.write import scatter_add, scatter_max, scatter_min, scatter_sub
from tans_lax.parts import gather_part, part_transpose
from tans_lax.rows import add_tangents, instantiate_zeros, not_linear, zeros_like_aval

type Value = Any  # an array, a Python scalar, a tracer or a mark in its place


def _gather_jvp(
    primals: tuple[Value, ...], tangents: tuple[Value, ...], **params: Any
) -> tuple[Value, Value]:
    operand, indices = primals
    operand_dot = tangents[0]
    out = _gather(operand, indices, **params)
    if type(operand_dot) is Zero:
        return out, zero_tangent(typeof(out))
    return out, _gather(operand_dot, indices, **{**params, "fill_value": 0})


def _gather(operand: Value, indices: Value, *, dimension_numbers: Any, **params: Any) -> Value:
    return lax.gather(operand, indices, dimension_numbers, **params)


def _gather_transpose(
    ct: Value,
    operand: Value,
    indices: Value,
    *,
    dimension_numbers: GatherDimensionNumbers,
    fill_value: Any,
    indices_are_sorted: bool,
    mode: GatherScatterMode,
    slice_sizes: tuple[int, ...],
    unique_indices: bool,
) -> tuple[Value, None]:
    operand_bar = lax.scatter_add(
        zeros_like_aval(operand.aval.to_cotangent()),
        indices,
        ct,
        dimension_numbers.for_scatter(),
        indices_are_sorted=indices_are_sorted,
        unique_indices=unique_indices,
        mode=mode,
    )
    return operand_bar, None


def _columns(indices: Value) -> list[Value]:
    last = len(indices.shape) - 1
    return [
        lax.index_in_dim(indices, i, axis=last, keepdims=False) for i in range(indices.shape[last])
    ]


def _sum_jvp(scatter: Callable[..., Value]) -> Callable[..., tuple[Value, Value]]:
    def rule(
        primals: tuple[Value, ...], tangents: tuple[Value, ...], **params: Any
    ) -> tuple[Value, Value]:
        operand, indices, updates = primals
        operand_dot, _, updates_dot = tangents
        numbers, options = scatter_options(params)
        out = scatter(operand, indices, updates, numbers, **options)
        if type(updates_dot) is Zero:
            same = type(operand_dot) is not Zero
            return out, operand_dot if same else zero_tangent(typeof(out))
        operand_dot = instantiate_zeros(operand_dot)
        return out, scatter(operand_dot, indices, updates_dot, numbers, **options)

    return rule


def _sum_transpose(sign: int) -> Callable[..., tuple[Value, ...]]:
    def rule(
        ct: Value, operand: Value, indices: Value, updates: Value, **params: Any
    ) -> tuple[Value, ...]:
        updates_bar = None
        if is_linear_input(updates):
            updates_bar = at_places(ct, indices, updates.aval.shape, params)
            updates_bar = updates_bar if sign > 0 else lax.neg(updates_bar)
        return ct if is_linear_input(operand) else None, None, updates_bar

    return rule


def _scatter_mul_jvp(
    primals: tuple[Value, ...], tangents: tuple[Value, ...], **params: Any
) -> tuple[Value, Value]:
    operand, indices, updates = primals
    operand_dot, _, updates_dot = tangents
    numbers, options = scatter_options(params)
    out = lax.scatter_mul(operand, indices, updates, numbers, **options)
    out_dot: Value = zero_tangent(typeof(out))
    if type(operand_dot) is not Zero:
        out_dot = lax.scatter_mul(operand_dot, indices, updates, numbers, **options)
    if type(updates_dot) is not Zero:
        _check_unique(params)
        # Each place gets one factor, so its derivative is the operand there.
        zeros = zeros_like_aval(typeof(operand))
        spread = lax.scatter_add(zeros, indices, updates_dot, numbers, **options)
        out_dot = add_tangents(out_dot, lax.mul(operand, spread))
    return out, out_dot


def _scatter_mul_transpose(
    ct: Value, operand: Value, indices: Value, updates: Value, **params: Any
) -> tuple[Value, ...]:
    numbers, options = scatter_options(params)
    operand_bar = updates_bar = None
    if is_linear_input(operand):
        operand_bar = lax.scatter_mul(ct, indices, updates, numbers, **options)
    if is_linear_input(updates):
        _check_unique(params)
        updates_bar = at_places(lax.mul(ct, operand), indices, updates.aval.shape, params)
    return operand_bar, None, updates_bar


def _check_unique(params: dict[str, Any]) -> None:
    if not params["unique_indices"]:
        raise NotImplementedError(
            "scatter_mul: given indices that may repeat, expected unique ones for a derivative in "
            "the updates: the derivative in one of several factors is the product of the others. "
            "If no index repeats, pass unique_indices=True."
        )


JVP: Final[dict[Primitive, Callable[..., tuple[Value, Value]]]] = {
    gather_p: _gather_jvp,
    scatter_p: overwrite_jvp,
    scatter_add_p: _sum_jvp(scatter_add),
    scatter_sub_p: _sum_jvp(scatter_sub),
    scatter_mul_p: _scatter_mul_jvp,
    scatter_min_p: extremum_jvp(scatter_min),
    scatter_max_p: extremum_jvp(scatter_max),
}
TRANSPOSE: Final[dict[Primitive, Callable[..., Any]]] = {
    gather_p: part_transpose(_gather_transpose, partial(gather_part, columns=_columns)),
    scatter_p: overwrite_transpose,
    scatter_add_p: _sum_transpose(1),
    scatter_sub_p: _sum_transpose(-1),
    scatter_mul_p: _scatter_mul_transpose,
    scatter_min_p: not_linear,
    scatter_max_p: not_linear,
}
