"""Derivatives of random bits: integers have none."""

from collections.abc import Callable
from typing import Any, Final

from tans_core import Primitive
from tans_lax.random_bits import rng_bit_generator_p, rng_uniform_p, threefry2x32_p
from tans_lax.rows import not_differentiable, not_linear, zero_derivative

JVP: Final[dict[Primitive, Callable[..., Any]]] = {
    threefry2x32_p: zero_derivative(threefry2x32_p),
    rng_bit_generator_p: zero_derivative(rng_bit_generator_p),
    rng_uniform_p: not_differentiable(
        "expected bounds that don't vary: the derivative would need the numbers drawn. Scale "
        "numbers from tans.random.uniform instead"
    ),
}

TRANSPOSE: Final[dict[Primitive, Callable[..., Any]]] = {
    threefry2x32_p: not_linear,
    rng_bit_generator_p: not_linear,
    rng_uniform_p: not_linear,
}
