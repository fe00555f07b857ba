"""Batching of Cholesky factors: stacks grow by one dimension."""

from collections.abc import Callable
from typing import Any, Final

from tans_core import Primitive
from tans_lax.linalg.checks import stacked_batching
from tans_lax.linalg.cholesky_factors import cholesky_p, cholesky_update_p

BATCHING: Final[dict[Primitive, Callable[..., Any]]] = {
    cholesky_p: stacked_batching(cholesky_p),
    cholesky_update_p: stacked_batching(cholesky_update_p),
}
