"""Sharding rules of cholesky factors: batch dimensions may be sharded."""

from typing import Final

from tans_core.primitive import Primitive
from tans_lax.linalg.cholesky_factors import cholesky_p, cholesky_update_p
from tans_lax.propagation import Rule, batched

SHARDING: Final[dict[Primitive, Rule]] = {
    cholesky_p: batched(2),
    cholesky_update_p: batched(2, 1),
}
