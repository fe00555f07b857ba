"""Batching of tokens: one token orders all lanes."""

from typing import Any, Final

from tans_core import AxisData, Primitive
from tans_lax.tokens import after_all_p


def _after_all_batch(axis: AxisData, args: Any, dims: Any) -> tuple[Any, None]:
    del axis, dims
    return after_all_p.bind(*args), None


BATCHING: Final[dict[Primitive, Any]] = {after_all_p: _after_all_batch}
