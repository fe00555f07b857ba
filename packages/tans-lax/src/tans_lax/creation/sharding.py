"""Sharding rules of arrays made from a shape: replicated, or as asked for."""

from typing import Final

from tans_core.primitive import Primitive
from tans_lax.creation import empty_p, iota_p
from tans_lax.propagation import Rule, replicated, with_request

SHARDING: Final[dict[Primitive, Rule]] = {
    iota_p: with_request(replicated, "sharding"),
    empty_p: with_request(replicated, "out_sharding"),
}
