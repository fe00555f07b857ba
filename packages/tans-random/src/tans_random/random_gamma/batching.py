"""Batching: a mapped dimension of the keys becomes one of their leading dimensions."""

from typing import Any, Final

from tans_core import AxisData
from tans_lax.rows import batch_to_front
from tans_random.implementations import Implementation
from tans_random.random_gamma import random_gamma, random_gamma_p


def _gamma_batch(
    axis: AxisData, args: Any, dims: Any, *, impl: Implementation, log_space: bool
) -> tuple[Any, int]:
    # The same numbers as from a loop need a key for each member, also where all have the same key.
    words, a = (batch_to_front(axis, x, d) for x, d in zip(args, dims, strict=True))
    return random_gamma(words, a, impl, log_space), 0


BATCHING: Final[dict[Any, Any]] = {random_gamma_p: _gamma_batch}
