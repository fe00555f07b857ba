"""Sharding rules of tridiagonal systems: batch dimensions may be sharded."""

from typing import Final

from tans_core.primitive import Primitive
from tans_lax.linalg.tridiagonal_systems import tridiagonal_solve_p
from tans_lax.propagation import Rule, batched

SHARDING: Final[dict[Primitive, Rule]] = {
    tridiagonal_solve_p: batched(1, 1, 1, 2),
}
