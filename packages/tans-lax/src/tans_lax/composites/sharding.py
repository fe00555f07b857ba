"""Sharding rule of the platform's index: replicated. A composite has its body's types."""

from typing import Final

from tans_core.primitive import Primitive
from tans_lax.composites.platforms import platform_index_p
from tans_lax.propagation import Rule, replicated

SHARDING: Final[dict[Primitive, Rule]] = {
    platform_index_p: replicated,
}
