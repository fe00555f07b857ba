"""Batching of operations that join, part and pad arrays."""

from typing import Any, Final

from tans_core import Primitive, typeof
from tans_lax.concatenation import concatenate_p, pad, pad_p, split_p, stack_p, tile_p, unstack_p
from tans_lax.creation import full, full_like
from tans_lax.elementwise.selection import select
from tans_lax.rows import Rule, batch_to_front
from tans_lax.shape import broadcast_in_dim

type Value = Any  # an array, a Python scalar or a tracer
type Dims = tuple[int | None, ...]
type Config = tuple[tuple[int, int, int], ...]


def _joined(primitive: Primitive, param: str) -> Rule:
    """Make the rule of an operation that joins its operands along a dimension."""

    def rule(
        axis_data: Any, args: tuple[Value, ...], dims: Dims, /, **params: int
    ) -> tuple[Value, int]:
        operands = [batch_to_front(axis_data, x, d) for x, d in zip(args, dims, strict=True)]
        return primitive.bind(*operands, **{param: params[param] + 1}), 0

    return rule


def _parted(primitive: Primitive) -> Rule:
    """Make the rule of an operation that parts its operand along the dimension ``axis``."""

    def rule(
        axis_data: Any, args: tuple[Value], dims: tuple[int], *, axis: int, **params: Any
    ) -> tuple[list[Value], list[int]]:
        (d,) = dims
        place = axis if axis < d else axis + 1
        outs = primitive.bind(args[0], axis=place, **params)
        # Only `unstack` removes the dimension it parts.
        removed = typeof(outs[0]).ndim < typeof(args[0]).ndim and place < d if outs else False
        return outs, [d - removed] * len(outs)

    return rule


def _pad_batch(
    axis: Any, args: tuple[Value, Value], dims: Dims, *, padding_config: Config
) -> tuple[Value, int]:
    x, value = args
    x_dim, value_dim = dims
    if value_dim is None:
        config = (*padding_config[:x_dim], (0, 0, 0), *padding_config[x_dim:])
        return pad_p.bind(x, value, padding_config=config), x_dim
    # One value per element: pad with any of them, then choose by a padded mask.
    x = batch_to_front(axis, x, x_dim)
    config = ((0, 0, 0), *padding_config)
    padded = pad(x, full((), 0, typeof(x).dtype), config)
    mask = pad(full_like(x, True, bool), False, config)
    values = broadcast_in_dim(value, typeof(padded).shape, (0,))
    return select(mask, padded, values), 0


def _tile_batch(
    axis: Any, args: tuple[Value], dims: tuple[int], *, reps: tuple[int, ...]
) -> tuple[Value, int]:
    (d,) = dims
    return tile_p.bind(args[0], reps=(*reps[:d], 1, *reps[d:])), d


BATCHING: Final[dict[Primitive, Rule]] = {
    concatenate_p: _joined(concatenate_p, "dimension"),
    split_p: _parted(split_p),
    pad_p: _pad_batch,
    stack_p: _joined(stack_p, "axis"),
    unstack_p: _parted(unstack_p),
    tile_p: _tile_batch,
}
