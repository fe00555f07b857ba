"""Batching of Hermitian eigenvalue problems: stacks grow by one dimension."""

from collections.abc import Callable
from typing import Any, Final

from tans_core import Primitive
from tans_lax.linalg.checks import stacked_batching
from tans_lax.linalg.hermitian_spectra import eigh_p

BATCHING: Final[dict[Primitive, Callable[..., Any]]] = {
    eigh_p: stacked_batching(eigh_p),
}
