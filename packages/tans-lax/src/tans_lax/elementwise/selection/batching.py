"""Batching of choices between values."""

from typing import Any, Final

from tans_core import Primitive
from tans_lax.elementwise.selection import clamp_p, select_n_p
from tans_lax.rows import Rule, align_batch

type Value = Any  # an array, a Python scalar or a tracer
type Dims = tuple[int | None, ...]


def _select_n_batch(axis: Any, args: tuple[Value, ...], dims: Dims) -> tuple[Value, int]:
    # The cases must have one shape; only the index may stay of rank 0.
    operands, dim = align_batch(axis, args, dims, (True, *(False for _ in args[1:])))
    return select_n_p.bind(*operands), dim


def _clamp_batch(axis: Any, args: tuple[Value, ...], dims: Dims) -> tuple[Value, int]:
    operands, dim = align_batch(axis, args, dims, (True, False, True))
    return clamp_p.bind(*operands), dim


BATCHING: Final[dict[Primitive, Rule]] = {
    select_n_p: _select_n_batch,
    clamp_p: _clamp_batch,
}
