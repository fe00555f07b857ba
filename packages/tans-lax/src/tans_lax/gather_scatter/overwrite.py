"""The derivative of scatter, where which of several writes to one place lasts is unspecified.

If no two meet, the tangent is scattered like the primal. Otherwise each update gets a number; the
numbers are scattered, and an update lasted if its own number is found at its place. Primal and
tangent are then sums with at most one term per place, so both take the same write.
"""

import math
from typing import Any

import numpy as np

import tans_lax as lax
from tans_core import Zero, is_linear_input, typeof, zero_tangent
from tans_lax.gather_scatter.places import at_places, near_places, scatter_options
from tans_lax.rows import instantiate_zeros, zeros_like_aval

type Value = Any  # an array, a Python scalar, a tracer or a mark in its place


def overwrite_jvp(
    primals: tuple[Value, ...], tangents: tuple[Value, ...], **params: Any
) -> tuple[Value, Value]:
    """JVP rule of scatter."""
    operand, indices, updates = primals
    operand_dot, _, updates_dot = tangents
    if params["update_jaxpr"] is not None:
        raise NotImplementedError(
            "scatter_apply: given a tangent, expected none: it has no derivative. Gather, apply "
            "the function and scatter the result, or use x.at[...].apply with unique_indices=True."
        )
    numbers, options = scatter_options(params)
    operand_varies, updates_vary = type(operand_dot) is not Zero, type(updates_dot) is not Zero
    if params["unique_indices"] or not updates_vary:
        out = lax.scatter(operand, indices, updates, numbers, **options)
        if not operand_varies and not updates_vary:
            return out, zero_tangent(typeof(out))
        operand_dot, updates_dot = instantiate_zeros(operand_dot), instantiate_zeros(updates_dot)
        return out, lax.scatter(operand_dot, indices, updates_dot, numbers, **options)
    untouched, lasted = _which_lasted(typeof(operand).shape, indices, updates, params)

    def write(x: Value, windows: Value) -> Value:
        x = _keep(untouched, x)
        return lax.scatter_add(x, indices, _keep(lasted, windows), numbers, **options)

    return write(operand, updates), write(instantiate_zeros(operand_dot), updates_dot)


def _which_lasted(
    shape: tuple[int, ...], indices: Value, updates: Value, params: dict[str, Any]
) -> tuple[Value, Value]:
    """Return which elements nothing wrote to, and which elements of the updates lasted."""
    numbers, options = scatter_options(params)
    update_shape = typeof(updates).shape
    dtype = np.dtype(np.uint32)
    own = lax.reshape(lax.iota(dtype, math.prod(update_shape)), update_shape)
    own = lax.add(own, dtype.type(1))
    found = lax.scatter(lax.full(shape, 0, dtype), indices, own, numbers, **options)
    lasted = lax.eq(own, near_places(found, indices, update_shape, params))
    return lax.eq(found, dtype.type(0)), lasted


def _keep(mask: Value, x: Value) -> Value:
    return x if type(x) is Zero else lax.select(mask, x, zeros_like_aval(typeof(x)))


def overwrite_transpose(
    ct: Value, operand: Value, indices: Value, updates: Value, **params: Any
) -> tuple[Value, ...]:
    """Transpose rule of scatter: a place that was written to takes nothing from the operand."""
    numbers, options = scatter_options(params)
    operand_bar = updates_bar = None
    linear_updates = is_linear_input(updates)
    update_aval = updates.aval if linear_updates else typeof(updates)
    if linear_updates and not params["unique_indices"]:
        raise NotImplementedError(
            "scatter: given indices that may repeat, expected unique ones for a transpose in the "
            "updates. If no index repeats, pass unique_indices=True."
        )
    if is_linear_input(operand):
        zeros = zeros_like_aval(update_aval)
        operand_bar = lax.scatter(ct, indices, zeros, numbers, **options)
    if linear_updates:
        updates_bar = at_places(ct, indices, update_aval.shape, params)
    return operand_bar, None, updates_bar
