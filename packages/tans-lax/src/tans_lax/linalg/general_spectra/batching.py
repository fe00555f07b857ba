"""Batching of eigenvalue problems: stacks grow by one dimension."""

from collections.abc import Callable
from typing import Any, Final

from tans_core import Primitive
from tans_lax.linalg.checks import stacked_batching
from tans_lax.linalg.general_spectra import eig_p, schur_p

BATCHING: Final[dict[Primitive, Callable[..., Any]]] = {
    eig_p: stacked_batching(eig_p),
    schur_p: stacked_batching(schur_p),
}
