"""Batching: the mapped dimension stays in front of the words."""

from typing import Any, Final

from tans_core import AxisData
from tans_lax.rows import move_axis
from tans_random.wrapping import (
    consume,
    fresh,
    random_clone_p,
    random_consume_p,
    random_unwrap_p,
    random_wrap_p,
    unwrap,
    wrap,
)


def _wrap_batch(axis: AxisData, args: Any, dims: Any, *, dtype: Any) -> tuple[Any, int]:
    return wrap(move_axis(args[0], dims[0], 0), dtype), 0


def _unwrap_batch(axis: AxisData, args: Any, dims: Any) -> tuple[Any, int]:
    return unwrap(args[0]), dims[0]


def _consume_batch(axis: AxisData, args: Any, dims: Any, *, used_by: str) -> tuple[Any, int]:
    return consume(args[0], used_by), dims[0]


def _clone_batch(axis: AxisData, args: Any, dims: Any) -> tuple[Any, int]:
    return fresh(args[0]), dims[0]


BATCHING: Final = {
    random_wrap_p: _wrap_batch,
    random_unwrap_p: _unwrap_batch,
    random_consume_p: _consume_batch,
    random_clone_p: _clone_batch,
}
