"""Sharding rules of general spectra: batch dimensions may be sharded."""

from typing import Final

from tans_core.primitive import Primitive
from tans_lax.linalg.general_spectra import eig_p, schur_p
from tans_lax.propagation import Rule, batched

SHARDING: Final[dict[Primitive, Rule]] = {
    eig_p: batched(2),
    schur_p: batched(2),
}
