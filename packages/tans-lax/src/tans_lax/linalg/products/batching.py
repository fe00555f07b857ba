"""Batching of symmetric products: stacks grow by one dimension."""

from collections.abc import Callable
from typing import Any, Final

from tans_core import Primitive
from tans_lax.linalg.checks import stacked_batching
from tans_lax.linalg.products import symmetric_product_p

BATCHING: Final[dict[Primitive, Callable[..., Any]]] = {
    symmetric_product_p: stacked_batching(symmetric_product_p),
}
