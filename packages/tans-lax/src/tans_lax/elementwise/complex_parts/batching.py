"""Batching of operations on the parts of complex numbers."""

from typing import Final

from tans_core import Primitive
from tans_lax.elementwise.complex_parts import (
    complex_p,
    conj_p,
    imag_p,
    real_p,
)
from tans_lax.rows import Rule, elementwise_batching

BATCHING: Final[dict[Primitive, Rule]] = {
    p: elementwise_batching(p)
    for p in (
        real_p,
        imag_p,
        complex_p,
        conj_p,
    )
}
