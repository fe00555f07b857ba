"""Sharding rules of orthogonal factors: batch dimensions may be sharded."""

from typing import Final

from tans_core.primitive import Primitive
from tans_lax.linalg.orthogonal_factors import geqrf_p, householder_product_p, ormqr_p, qr_p
from tans_lax.propagation import Rule, batched

SHARDING: Final[dict[Primitive, Rule]] = {
    geqrf_p: batched(2),
    qr_p: batched(2),
    householder_product_p: batched(2, 1),
    ormqr_p: batched(2, 1, 2),
}
