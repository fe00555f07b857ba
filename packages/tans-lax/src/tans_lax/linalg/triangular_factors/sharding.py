"""Sharding rules of triangular factors: batch dimensions may be sharded."""

from typing import Final

from tans_core.primitive import Primitive
from tans_lax.linalg.triangular_factors import lu_p, lu_pivots_to_permutation_p
from tans_lax.propagation import Rule, batched

SHARDING: Final[dict[Primitive, Rule]] = {
    lu_p: batched(2),
    lu_pivots_to_permutation_p: batched(1),
}
