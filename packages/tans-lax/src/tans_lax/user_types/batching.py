"""Batching: the parts get one more dimension; what vmap does not map is repeated."""

from collections.abc import Sequence
from typing import Any, Final

from tans_core.context import AxisData
from tans_core.values import typeof
from tans_lax.rows import batch_to_front
from tans_lax.user_types import (
    PerPart,
    choose_p,
    filler_p,
    lane_axes,
    rearrange_p,
    respecified,
    whole_spec,
)

type Value = Any


def _choose(
    axis: AxisData,
    args: Sequence[Value],
    dims: Sequence[Any],
    *,
    axes: PerPart,
    tangent_axes: PerPart,
) -> tuple[Value, Any]:
    (index, *choices), (index_dim, *specs) = args, dims
    element = _element(choices[0], specs[0], axis.size)
    spec = whole_spec(element, specs)
    choices = [
        respecified(x, element, axis.size, s, spec) for x, s in zip(choices, specs, strict=True)
    ]
    grown = [
        tuple((o, *(i + (i >= o) for i in inner)) for o, inner in zip(new, old, strict=True))
        for new, old in zip(lane_axes(element, spec), (axes, tangent_axes), strict=True)
    ]
    index = batch_to_front(axis, index, index_dim)
    return choose_p.bind(index, *choices, axes=grown[0], tangent_axes=grown[1]), spec


def _rearrange(
    axis: AxisData,
    args: Sequence[Value],
    dims: Sequence[Any],
    *,
    aval: Any,
    moves: PerPart,
    tangent_moves: PerPart,
) -> tuple[Value, Any]:
    (x,), (spec,) = args, dims
    element = _element(x, spec, axis.size)
    x = respecified(x, element, axis.size, spec, element.leading_axis_spec())
    outer = lane_axes(element, element.leading_axis_spec())
    spec = aval.leading_axis_spec()
    grown = [
        tuple(map(_with_axis, old, before, after))
        for old, before, after in zip(
            (moves, tangent_moves), outer, lane_axes(aval, spec), strict=True
        )
    ]
    whole = aval.inc_rank(axis.size, spec)
    return rearrange_p.bind(x, aval=whole, moves=grown[0], tangent_moves=grown[1]), spec


def _with_axis(moves: Sequence[int], before: int, after: int) -> tuple[int, ...]:
    shifted = [m + (m >= before) for m in moves]
    shifted.insert(after, before)
    return tuple(shifted)


def _element(x: Value, spec: Any, size: int) -> Any:
    aval: Any = typeof(x)
    return aval if spec is None else aval.dec_rank(size, spec)


def _filler(axis: AxisData, args: Any, dims: Any, *, aval: Any) -> tuple[Value, None]:
    del axis, args, dims
    return filler_p.bind(aval=aval), None


BATCHING: Final = {choose_p: _choose, rearrange_p: _rearrange, filler_p: _filler}
