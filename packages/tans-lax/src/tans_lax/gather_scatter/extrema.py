"""The derivative of scatter_min and scatter_max.

At each place the result is the extremum of the operand and the updates that meet there. Those equal
to it share the derivative evenly, as in a reduction:

    out_dot = (won * operand_dot + sum of winning updates_dot) / (number of winners)

where `won` is 1 at places that the operand won. A place without a winning update is the operand's.
"""

from collections.abc import Callable
from typing import Any

import tans_lax as lax
from tans_core import Zero, typeof, zero_tangent
from tans_lax.gather_scatter.places import near_places, scatter_options
from tans_lax.rows import instantiate_zeros, zeros_like_aval

type Value = Any  # an array, a Python scalar, a tracer or a mark in its place


def extremum_jvp(scatter: Callable[..., Value]) -> Callable[..., tuple[Value, Value]]:
    """Make the JVP rule of `scatter`, which is scatter_min or scatter_max."""

    def rule(
        primals: tuple[Value, ...], tangents: tuple[Value, ...], **params: Any
    ) -> tuple[Value, Value]:
        operand, indices, updates = primals
        operand_dot, _, updates_dot = tangents
        numbers, options = scatter_options(params)
        out = scatter(operand, indices, updates, numbers, **options)
        if type(operand_dot) is Zero and type(updates_dot) is Zero:
            return out, zero_tangent(typeof(out))

        def add_at(x: Value, windows: Value) -> Value:
            return lax.scatter_add(x, indices, windows, numbers, **options)

        dtype = typeof(out).dtype
        update_shape = typeof(updates).shape
        winning = lax.eq(updates, near_places(out, indices, update_shape, params))
        winning = lax.convert_element_type(winning, dtype)
        zeros = zeros_like_aval(typeof(out))
        winners = add_at(zeros, winning)
        won = lax.bitwise_or(lax.eq(operand, out), lax.eq(winners, zeros))
        won = lax.convert_element_type(won, dtype)
        operand_dot, updates_dot = instantiate_zeros(operand_dot), instantiate_zeros(updates_dot)
        total = add_at(lax.mul(operand_dot, won), lax.mul(updates_dot, winning))
        return out, lax.div(total, lax.add(winners, won))

    return rule
