"""Sharding rules of hermitian spectra: batch dimensions may be sharded."""

from typing import Final

from tans_core.primitive import Primitive
from tans_lax.linalg.hermitian_spectra import eigh_p
from tans_lax.propagation import Rule, batched

SHARDING: Final[dict[Primitive, Rule]] = {
    eigh_p: batched(2),
}
