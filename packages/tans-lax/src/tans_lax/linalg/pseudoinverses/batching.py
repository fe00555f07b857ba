"""Batching of pseudoinverses: stacks grow by one dimension."""

from collections.abc import Callable
from typing import Any, Final

from tans_core import Primitive
from tans_lax.linalg.checks import stacked_batching
from tans_lax.linalg.pseudoinverses import pinv_p

BATCHING: Final[dict[Primitive, Callable[..., Any]]] = {
    pinv_p: stacked_batching(pinv_p),
}
