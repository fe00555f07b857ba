"""Sharding rule of names: the operand's. A rematerialised call has its body's types."""

from typing import Final

from tans_autodiff.remat import name_p, phase_p
from tans_core.primitive import Primitive
from tans_lax.propagation import Rule, linear_unary

SHARDING: Final[dict[Primitive, Rule]] = {
    name_p: linear_unary,
    phase_p: linear_unary,
}
