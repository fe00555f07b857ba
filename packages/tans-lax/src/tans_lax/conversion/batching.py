"""Batching of changes of dtype."""

from typing import Any, Final

from tans_core import Primitive
from tans_lax.conversion import bitcast_convert_type_p, convert_element_type_p
from tans_lax.rows import Rule, batch_to_front, elementwise_batching

type Value = Any  # an array, a Python scalar or a tracer


def _bitcast_batch(
    axis: Any, args: tuple[Value], dims: tuple[int], *, new_dtype: Any
) -> tuple[Value, int]:
    # A wider dtype takes the last dimension away: it must not be the mapped one.
    x = batch_to_front(axis, args[0], dims[0])
    return bitcast_convert_type_p.bind(x, new_dtype=new_dtype), 0


BATCHING: Final[dict[Primitive, Rule]] = {
    convert_element_type_p: elementwise_batching(convert_element_type_p),
    bitcast_convert_type_p: _bitcast_batch,
}
