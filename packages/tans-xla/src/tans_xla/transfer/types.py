"""Type rule of device_put: the type is kept, but for the sharding of explicit mesh axes."""

from collections.abc import Callable
from typing import Any, Final

from tans_core.primitive import Primitive
from tans_core.sharding import NamedSharding
from tans_core.types import ShapedArray
from tans_xla.memory import MemorySpace, type_in
from tans_xla.transfer import device_put_p
from tans_xla.transfer.place import sharded_type


def _device_put_types(*avals: ShapedArray, devices: tuple[Any, ...], **_: Any) -> tuple[Any, ...]:
    return tuple(map(_moved, avals, devices))


def _moved(aval: ShapedArray, device: Any) -> ShapedArray:
    if isinstance(device, NamedSharding):
        return sharded_type(aval, device)
    return type_in(aval, device) if isinstance(device, MemorySpace) else aval


TYPES: Final[dict[Primitive, Callable[..., Any]]] = {device_put_p: _device_put_types}
