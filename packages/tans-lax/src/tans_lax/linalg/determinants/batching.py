"""Batching of determinants: stacks grow by one dimension."""

from collections.abc import Callable
from typing import Any, Final

from tans_core import Primitive
from tans_lax.linalg.checks import stacked_batching
from tans_lax.linalg.determinants import cofactors_p, det_p

BATCHING: Final[dict[Primitive, Callable[..., Any]]] = {
    det_p: stacked_batching(det_p),
    cofactors_p: stacked_batching(cofactors_p),
}
