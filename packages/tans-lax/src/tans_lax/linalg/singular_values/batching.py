"""Batching of the singular value decomposition: stacks grow by one dimension."""

from collections.abc import Callable
from typing import Any, Final

from tans_core import Primitive
from tans_lax.linalg.checks import stacked_batching
from tans_lax.linalg.singular_values import svd_p

BATCHING: Final[dict[Primitive, Callable[..., Any]]] = {
    svd_p: stacked_batching(svd_p),
}
