"""The type of one element of a mapped array, and the type of the whole from that of an element."""

from typing import Any, Final

from tans_core.config import abstract_mesh
from tans_core.context import AxisData
from tans_core.errors import message
from tans_core.explicit_mode import type_sharding
from tans_core.hi_types import is_hi_type
from tans_core.partition_spec import Partition, PartitionSpec
from tans_core.refs import is_ref_type
from tans_core.types import AbstractValue, ShapedArray

_MEMO_LIMIT: Final = 1 << 14
_memo: Final[dict[tuple[AbstractValue, int], AbstractValue]] = {}


def element_type(aval: AbstractValue, dim: Any, size: int | None = None) -> AbstractValue:
    """Return the type of one element of a value of type `aval`, mapped along `dim`."""
    if is_ref_type(aval):
        return aval.update(inner_aval=element_type(aval.inner_aval, dim, size))
    if type(aval) is not ShapedArray and is_hi_type(aval):
        return aval.dec_rank(size, dim)
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
    partitions = list(aval._sharding.spec.partitions)
    del partitions[dim]
    return aval.update(shape=shape, sharding=_with_partitions(aval, partitions))


def mapped_type(aval: AbstractValue, axis: AxisData, dim: int | None) -> AbstractValue:
    """Return the type of a whole array whose elements, lined up along `dim`, have type `aval`."""
    if dim is None:
        return aval
    if is_ref_type(aval):
        return aval.update(inner_aval=mapped_type(aval.inner_aval, axis, dim))
    if is_hi_type(aval):
        return aval.inc_rank(axis.size, dim)
    aval = _array(aval)
    if axis.varies_along:
        aval = aval.update(manual_axes=aval.manual_axes | axis.varies_along)
    shape = (*aval.shape[:dim], axis.size, *aval.shape[dim:])
    mesh_axis = axis.explicit_mesh_axis
    if not aval.is_sharded and mesh_axis is None:
        return aval.update(shape=shape)
    if not aval.is_sharded:
        mesh: Any = abstract_mesh.value or axis.explicit_mesh
        spec = PartitionSpec(*(None,) * dim, mesh_axis)
        return aval.update(shape=shape, sharding=type_sharding(mesh, spec, len(shape)))
    partitions = list(aval._sharding.spec.partitions)
    partitions.insert(dim, mesh_axis)
    return aval.update(shape=shape, sharding=_with_partitions(aval, partitions))


def check_states(aval: AbstractValue) -> None:
    """Raise ValueError for a mapped argument that is unreduced or reduced."""
    if not isinstance(aval, ShapedArray) or not aval.is_sharded:
        return
    spec = aval._sharding.spec
    if spec.unreduced or spec.reduced:
        raise ValueError(
            message(
                "vmap",
                f"a value of type {aval.str_short(False)} to map",
                "a value that is neither unreduced nor reduced (its spec is more than its "
                ".partitions)",
                "Reshard it first, or give the argument in_axes=None.",
            )
        )


def _with_partitions(aval: ShapedArray, partitions: list[Any]) -> Any:
    spec = aval._sharding.spec.update(partitions=tuple(partitions))
    return type_sharding(aval._sharding.mesh, spec, len(partitions))


def mesh_axis_of(aval: AbstractValue, dim: int | None) -> Partition:
    """Return the mesh axes over which dimension `dim` of a type is sharded, or None."""
    if dim is None or not isinstance(aval, ShapedArray) or not aval.is_sharded:
        return None
    return aval._sharding.spec.partitions[dim]


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
