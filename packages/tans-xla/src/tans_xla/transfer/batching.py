"""Batching of device_put: the mapped dimension stays sharded as it is."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from tans_core.primitive import Primitive
from tans_core.sharding import NamedSharding
from tans_xla.transfer import device_put_p


def _device_put_batch(
    axis: Any, args: Sequence[Any], dims: Sequence[int | None], **params: Any
) -> tuple[list[Any], list[int | None]]:
    for name in ("devices", "srcs"):
        params[name] = tuple(
            _with_dimension(destination, dim, axis.explicit_mesh_axis)
            for destination, dim in zip(params[name], dims, strict=True)
        )
    return device_put_p.bind(*args, **params), list(dims)


def _with_dimension(destination: Any, dim: int | None, entry: Any) -> Any:
    if dim is None or not isinstance(destination, NamedSharding):
        return destination
    spec = destination.spec
    parts = [*spec.partitions, *[None] * (dim - len(spec.partitions))]
    parts.insert(dim, entry)
    return destination.update(spec=spec.update(partitions=tuple(parts)))


BATCHING: Final[dict[Primitive, Callable[..., Any]]] = {device_put_p: _device_put_batch}
