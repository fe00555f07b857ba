"""Sharding rules of pseudoinverses: batch dimensions may be sharded."""

from typing import Final

from tans_core.primitive import Primitive
from tans_lax.linalg.pseudoinverses import pinv_p
from tans_lax.propagation import Rule, batched

SHARDING: Final[dict[Primitive, Rule]] = {
    pinv_p: batched(2, 0),
}
