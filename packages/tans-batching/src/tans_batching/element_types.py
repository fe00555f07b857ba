"""The type of one element of a mapped array, and the type of the whole from that of an element."""

from typing import Final

from tans_core.context import AxisData
from tans_core.errors import message
from tans_core.types import AbstractValue, ShapedArray

_MEMO_LIMIT: Final = 1 << 14
_memo: Final[dict[tuple[AbstractValue, int], AbstractValue]] = {}


def element_type(aval: AbstractValue, dim: int) -> AbstractValue:
    """Return the type of one element of a value of type `aval`, mapped along `dim`."""
    key = (aval, dim)
    found = _memo.get(key)
    if found is None:
        if len(_memo) >= _MEMO_LIMIT:
            _memo.clear()
        found = _memo.setdefault(key, _element_type(_array(aval), dim))
    return found


def _element_type(aval: ShapedArray, dim: int) -> ShapedArray:
    shape = aval.shape[:dim] + aval.shape[dim + 1 :]
    if not aval.is_sharded:
        return aval.update(shape=shape)
    spec = list(aval.sharding.spec) + [None] * (aval.ndim - len(aval.sharding.spec))
    del spec[dim]
    return aval.update(shape=shape, sharding=aval.sharding.update(spec=tuple(spec)))


def mapped_type(aval: AbstractValue, axis: AxisData, dim: int | None) -> AbstractValue:
    """Return the type of a whole array whose elements, lined up along `dim`, have type `aval`."""
    if dim is None:
        return aval
    aval = _array(aval)
    shape = (*aval.shape[:dim], axis.size, *aval.shape[dim:])
    if not aval.is_sharded:
        return aval.update(shape=shape)
    spec = list(aval.sharding.spec) + [None] * (aval.ndim - len(aval.sharding.spec))
    spec.insert(dim, axis.explicit_mesh_axis)
    return aval.update(shape=shape, sharding=aval.sharding.update(spec=tuple(spec)))


def _array(aval: AbstractValue) -> ShapedArray:
    if isinstance(aval, ShapedArray):
        return aval
    raise TypeError(
        message(
            "vmap",
            f"a value of type {aval.str_short()} to map",
            "an array type",
            "Give the argument in_axes=None, or map the arrays it is made of.",
        )
    )
