"""Sharding rules of determinants: batch dimensions may be sharded."""

from typing import Final

from tans_core.primitive import Primitive
from tans_lax.linalg.determinants import cofactors_p, det_p
from tans_lax.propagation import Rule, batched

SHARDING: Final[dict[Primitive, Rule]] = {
    det_p: batched(2),
    cofactors_p: batched(2),
}
