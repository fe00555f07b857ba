"""Batching: the mapped dimension stays in front of the words."""

from typing import Any, Final

from tans_core import AxisData
from tans_lax.rows import move_axis
from tans_random.wrapping import random_unwrap_p, random_wrap_p, unwrap, wrap


def _wrap_batch(axis: AxisData, args: Any, dims: Any, *, dtype: Any) -> tuple[Any, int]:
    return wrap(move_axis(args[0], dims[0], 0), dtype), 0


def _unwrap_batch(axis: AxisData, args: Any, dims: Any) -> tuple[Any, int]:
    return unwrap(args[0]), dims[0]


BATCHING: Final = {random_wrap_p: _wrap_batch, random_unwrap_p: _unwrap_batch}
