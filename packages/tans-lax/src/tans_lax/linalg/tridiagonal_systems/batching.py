"""Batching of tridiagonal systems: stacks grow by one dimension."""

from collections.abc import Callable
from typing import Any, Final

from tans_core import Primitive
from tans_lax.linalg.checks import stacked_batching
from tans_lax.linalg.tridiagonal_systems import tridiagonal_solve_p

BATCHING: Final[dict[Primitive, Callable[..., Any]]] = {
    tridiagonal_solve_p: stacked_batching(tridiagonal_solve_p),
}
