"""Sharding rules of the identity operations."""

from typing import Final

from tans_core.primitive import Primitive
from tans_lax.elementwise.identity import (
    copy_p,
    optimization_barrier_p,
    stage_p,
    stop_gradient_p,
)
from tans_lax.propagation import Rule, each_its_own, linear_unary

SHARDING: Final[dict[Primitive, Rule]] = {
    copy_p: linear_unary,
    stage_p: linear_unary,
    stop_gradient_p: linear_unary,
    optimization_barrier_p: each_its_own,
}
