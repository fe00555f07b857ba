"""Batching of condensed forms: stacks grow by one dimension."""

from collections.abc import Callable
from typing import Any, Final

from tans_core import Primitive
from tans_lax.linalg.checks import stacked_batching
from tans_lax.linalg.condensed_forms import hessenberg_p, tridiagonal_p

BATCHING: Final[dict[Primitive, Callable[..., Any]]] = {
    hessenberg_p: stacked_batching(hessenberg_p),
    tridiagonal_p: stacked_batching(tridiagonal_p),
}
