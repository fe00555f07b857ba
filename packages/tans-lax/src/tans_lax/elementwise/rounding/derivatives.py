"""Derivatives of rounding and inspection of floats."""

from typing import Any, Final

from tans_core import Primitive, typeof
from tans_lax.elementwise.rounding import (
    ceil_p,
    floor_p,
    is_finite_p,
    nextafter_p,
    reduce_precision,
    reduce_precision_p,
    round_p,
)
from tans_lax.rows import (
    Rule,
    jvp_of_output,
    linear_jvp,
    linear_transpose_of,
    not_linear,
    zero_derivative,
)
from tans_lax.shape import broadcast_to_shape

type Value = Any  # an array, a Python scalar or a tracer


def _nextafter_part(t: Value, out: Value, x1: Value, x2: Value) -> Value:
    return broadcast_to_shape(t, typeof(out).shape)


def _reduce_precision_transpose(
    ct: Value, x_aval: Any, *, exponent_bits: int, mantissa_bits: int
) -> Value:
    return reduce_precision(ct, exponent_bits, mantissa_bits)


JVP: Final[dict[Primitive, Rule]] = {
    floor_p: zero_derivative(floor_p),
    ceil_p: zero_derivative(ceil_p),
    round_p: zero_derivative(round_p),
    is_finite_p: zero_derivative(is_finite_p),
    nextafter_p: jvp_of_output(nextafter_p, _nextafter_part, None),
    # Rounding is treated as linear, so that tangents are stored in the same format.
    reduce_precision_p: linear_jvp(reduce_precision_p),
}

TRANSPOSE: Final[dict[Primitive, Rule]] = {
    floor_p: not_linear,
    ceil_p: not_linear,
    round_p: not_linear,
    is_finite_p: not_linear,
    nextafter_p: not_linear,
    reduce_precision_p: linear_transpose_of(_reduce_precision_transpose),
}
