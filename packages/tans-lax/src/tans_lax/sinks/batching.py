"""Batching of `dce_sink`: the mapped value is kept as a whole."""

from typing import Any, Final

from tans_core import AxisData, Primitive
from tans_lax.sinks import dce_sink_p


def _sink_batch(
    axis: AxisData, args: tuple[Any], dims: tuple[int], **params: Any
) -> tuple[list[Any], list[int]]:
    del axis, dims
    dce_sink_p.bind(*args, **params)
    return [], []


BATCHING: Final[dict[Primitive, Any]] = {
    dce_sink_p: _sink_batch,
}
