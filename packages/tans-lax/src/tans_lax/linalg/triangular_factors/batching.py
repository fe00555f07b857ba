"""Batching of LU factors: stacks grow by one dimension."""

from collections.abc import Callable
from typing import Any, Final

from tans_core import Primitive
from tans_lax.linalg.checks import stacked_batching
from tans_lax.linalg.triangular_factors import lu_p, lu_pivots_to_permutation_p

BATCHING: Final[dict[Primitive, Callable[..., Any]]] = {
    lu_p: stacked_batching(lu_p),
    lu_pivots_to_permutation_p: stacked_batching(lu_pivots_to_permutation_p),
}
