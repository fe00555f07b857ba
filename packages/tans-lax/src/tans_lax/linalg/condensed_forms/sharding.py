"""Sharding rules of condensed forms: batch dimensions may be sharded."""

from typing import Final

from tans_core.primitive import Primitive
from tans_lax.linalg.condensed_forms import hessenberg_p, tridiagonal_p
from tans_lax.propagation import Rule, batched

SHARDING: Final[dict[Primitive, Rule]] = {
    hessenberg_p: batched(2),
    tridiagonal_p: batched(2),
}
