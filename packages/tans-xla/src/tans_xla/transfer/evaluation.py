"""Evaluation of device_put on concrete values."""

from collections.abc import Callable
from typing import Any, Final

from tans_core.config import concrete_mesh
from tans_core.mesh import Mesh
from tans_core.primitive import Primitive
from tans_core.sharding import NamedSharding
from tans_xla._jaxlib import ArrayCopySemantics
from tans_xla.transfer import device_put_p
from tans_xla.transfer.computed import is_computed, moved
from tans_xla.transfer.place import put_leaf
from tans_xla.transfer.target import target_of


def _device_put(
    *args: Any, devices: tuple[Any, ...], copy_semantics: tuple[Any, ...], **_: Any
) -> list[Any]:
    return [
        _put(x, _with_devices(device, x), semantics is not ArrayCopySemantics.REUSE_INPUT)
        for x, device, semantics in zip(args, devices, copy_semantics, strict=True)
    ]


def _put(x: Any, device: Any, copy: bool) -> Any:
    if is_computed(getattr(x, "_sharding", None), device):
        return moved(x, device)
    return put_leaf(x, target_of(device, x), copy=copy)


def _with_devices(destination: Any, x: Any) -> Any:
    """Give a sharding that a traced program asks for, over a mesh without devices, those of `x`."""
    if not isinstance(destination, NamedSharding) or isinstance(destination.mesh, Mesh):
        return destination
    own = getattr(x, "_sharding", None)
    for mesh in (own.mesh if isinstance(own, NamedSharding) else None, concrete_mesh.value):
        if isinstance(mesh, Mesh) and mesh.shape_tuple == destination.mesh.shape_tuple:
            return destination.update(mesh=mesh)
    return destination


EVALUATION: Final[dict[Primitive, Callable[..., Any]]] = {device_put_p: _device_put}
