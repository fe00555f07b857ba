"""Type rules of arrays made from a shape."""

from collections.abc import Callable
from typing import Any, Final

from tans_core import Primitive, ShapedArray
from tans_lax.creation import empty_p, iota_p
from tans_lax.elementwise.signatures import NUMBER, check_dtype
from tans_lax.shape.types import check_sizes

type Dims = tuple[int, ...]


def _iota_type(*, dtype: Any, shape: Dims, dimension: int, sharding: Any) -> ShapedArray:
    del sharding
    check_sizes("iota", "shape", shape)
    aval = ShapedArray(shape, dtype)
    check_dtype("iota", aval, NUMBER)
    if not 0 <= dimension < len(shape):
        raise ValueError(
            f"lax.broadcasted_iota: given dimension {dimension} for shape {shape}; expected one "
            f"from 0 to {len(shape) - 1}. Count from the front."
        )
    return aval


def _empty_type(*, shape: Dims, dtype: Any, out_sharding: Any) -> ShapedArray:
    del out_sharding
    check_sizes("empty", "shape", shape)
    return ShapedArray(shape, dtype)


TYPES: Final[dict[Primitive, Callable[..., ShapedArray]]] = {
    iota_p: _iota_type,
    empty_p: _empty_type,
}
