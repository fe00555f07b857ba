"""Types of the elements of stacked arrays, and of the stacks made of elements."""

from typing import Any

from tans_core.hi_types import is_hi_type
from tans_core.refs import is_ref_type
from tans_core.sharding import named_sharding
from tans_core.types import AbstractValue


def element_type(aval: Any) -> AbstractValue:
    """Return the type of one element along the leading dimension of `aval`."""
    if is_ref_type(aval):
        return aval.update(inner_aval=element_type(aval.inner_aval))
    if is_hi_type(aval):
        return aval.dec_rank(None, aval.leading_axis_spec())
    if not aval.is_sharded:
        return aval.update(shape=aval.shape[1:])
    spec = aval._sharding.spec
    if spec.partitions[0] is not None:
        raise ValueError(
            f"scan: given a stacked value of type {aval.str_short()}, whose leading dimension is "
            "sharded; expected one that is replicated. Reshard it: the loop runs over that "
            "dimension on every device."
        )
    spec = spec.update(partitions=spec.partitions[1:])
    return aval.update(shape=aval.shape[1:], sharding=named_sharding(aval._sharding.mesh, spec))


def stacked_type(aval: Any, length: int) -> AbstractValue:
    """Return the type of `length` values of type `aval`, stacked along a new leading dimension."""
    if is_ref_type(aval):
        return aval.update(inner_aval=stacked_type(aval.inner_aval, length))
    if is_hi_type(aval):
        return aval.inc_rank(length, aval.leading_axis_spec())
    shape = (length, *aval.shape)
    if not aval.is_sharded:
        return aval.update(shape=shape)
    spec = aval._sharding.spec
    spec = spec.update(partitions=(None, *spec.partitions))
    return aval.update(shape=shape, sharding=named_sharding(aval._sharding.mesh, spec))
