"""Batching of windowed reductions: the mapped dimension gets a window of one."""

from collections.abc import Callable
from typing import Any, Final

from tans_core import AxisData, Primitive
from tans_lax.rows import batch_to_front
from tans_lax.windows import (
    reduce_window_max_p,
    reduce_window_min_p,
    reduce_window_p,
    reduce_window_sum_p,
    select_and_gather_add_p,
    select_and_scatter_add_p,
    select_and_scatter_p,
)

type Value = Any
type Dims = tuple[int | None, ...]

_UNIT: Final = {
    "window_dimensions": 1,
    "window_strides": 1,
    "padding": (0, 0),
    "base_dilation": 1,
    "window_dilation": 1,
}


def _with_unit_window(params: dict[str, Any], dim: int) -> dict[str, Any]:
    """Return the parameters with a window of one inserted at `dim`."""
    return {
        name: (*value[:dim], _UNIT[name], *value[dim:]) if name in _UNIT else value
        for name, value in params.items()
    }


def _unary(primitive: Primitive) -> Callable[..., Any]:
    def rule(
        axis: AxisData, args: tuple[Value], dims: tuple[int], **params: Any
    ) -> tuple[Value, int]:
        del axis
        (dim,) = dims
        return primitive.bind(args[0], **_with_unit_window(params, dim)), dim

    return rule


def _binary(primitive: Primitive) -> Callable[..., Any]:
    def rule(
        axis: AxisData, args: tuple[Value, ...], dims: Dims, **params: Any
    ) -> tuple[Value, int]:
        args = tuple(batch_to_front(axis, x, d) for x, d in zip(args, dims, strict=True))
        return primitive.bind(*args, **_with_unit_window(params, 0)), 0

    return rule


def _check_inits(name: str, dims: Dims) -> None:
    if any(d is not None for d in dims):
        raise NotImplementedError(
            f"{name}: given an initial value that varies along a vmapped axis, expected the same "
            "one for all. Start from the identity and combine that value with the result."
        )


def _reduce_window_batch(
    axis: AxisData, args: tuple[Value, ...], dims: Dims, **params: Any
) -> tuple[list[Value], list[int]]:
    count = len(args) // 2
    _check_inits("reduce_window", dims[count:])
    operands = [batch_to_front(axis, x, d) for x, d in zip(args[:count], dims, strict=False)]
    outs = reduce_window_p.bind(*operands, *args[count:], **_with_unit_window(params, 0))
    return outs, [0] * count


def _select_and_scatter_batch(
    axis: AxisData, args: tuple[Value, ...], dims: Dims, **params: Any
) -> tuple[Value, int]:
    _check_inits("select_and_scatter", dims[2:])
    operands = [batch_to_front(axis, x, d) for x, d in zip(args[:2], dims, strict=False)]
    out = select_and_scatter_p.bind(*operands, args[2], **_with_unit_window(params, 0))
    return out, 0


BATCHING: Final[dict[Primitive, Callable[..., Any]]] = {
    reduce_window_p: _reduce_window_batch,
    reduce_window_sum_p: _unary(reduce_window_sum_p),
    reduce_window_max_p: _unary(reduce_window_max_p),
    reduce_window_min_p: _unary(reduce_window_min_p),
    select_and_scatter_p: _select_and_scatter_batch,
    select_and_scatter_add_p: _binary(select_and_scatter_add_p),
    select_and_gather_add_p: _binary(select_and_gather_add_p),
}
