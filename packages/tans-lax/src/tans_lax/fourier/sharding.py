"""Sharding rule of Fourier transforms: linear, with the sharding of the operand."""

from typing import Final

from tans_core.primitive import Primitive
from tans_lax.fourier import fft_p
from tans_lax.propagation import Rule, linear_unary

SHARDING: Final[dict[Primitive, Rule]] = {
    fft_p: linear_unary,
}
