"""Types of the elements of stacked arrays, and of the stacks made of elements."""

from typing import Any

from tans_core.types import AbstractValue


def element_type(aval: Any) -> AbstractValue:
    """Return the type of one element along the leading dimension of `aval`."""
    if not aval.is_sharded:
        return aval.update(shape=aval.shape[1:])
    spec = aval.sharding.spec
    sharding = aval.sharding.update(spec=spec.update(partitions=tuple(spec)[1:]))
    return aval.update(shape=aval.shape[1:], sharding=sharding)


def stacked_type(aval: Any, length: int) -> AbstractValue:
    """Return the type of `length` values of type `aval`, stacked along a new leading dimension."""
    shape = (length, *aval.shape)
    if not aval.is_sharded:
        return aval.update(shape=shape)
    spec = aval.sharding.spec
    sharding = aval.sharding.update(spec=spec.update(partitions=(None, *spec)))
    return aval.update(shape=shape, sharding=sharding)
