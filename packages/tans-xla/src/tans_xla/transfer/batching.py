"""Batching of device_put: the mapped dimension moves along, without being sharded."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from tans_core.partition_spec import PartitionSpec
from tans_core.primitive import Primitive
from tans_core.sharding import NamedSharding
from tans_xla.transfer import device_put_p


def _device_put_batch(
    axis: Any, args: Sequence[Any], dims: Sequence[int | None], **params: Any
) -> tuple[list[Any], list[int | None]]:
    params["devices"] = tuple(map(_with_dimension, params["devices"], dims))
    params["srcs"] = tuple(map(_with_dimension, params["srcs"], dims))
    return device_put_p.bind(*args, **params), list(dims)


def _with_dimension(destination: Any, dim: int | None) -> Any:
    if dim is None:
        return destination
    if isinstance(destination, NamedSharding):
        return destination.update(spec=_insert(destination.spec, dim))
    return _insert(destination, dim) if isinstance(destination, PartitionSpec) else destination


def _insert(spec: PartitionSpec, dim: int) -> PartitionSpec:
    parts = list(spec.partitions)
    if dim < len(parts):
        parts.insert(dim, None)
    return spec.update(partitions=tuple(parts))


BATCHING: Final[dict[Primitive, Callable[..., Any]]] = {device_put_p: _device_put_batch}
