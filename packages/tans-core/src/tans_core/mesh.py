"""Meshes: named, typed axes over devices (`Mesh`) or over no devices yet (`AbstractMesh`).

Both are immutable and interned: equal construction arguments give the same object. Types hold only
abstract meshes, so they survive when a backend is dropped; a concrete mesh is keyed by its device
objects, which belong to one client.
"""

import math
import weakref
from collections.abc import Mapping, Sequence
from typing import Any, Final, NoReturn, Self, final

import numpy as np

from tans_core._jaxlib import jaxlib_core, weak_value_interner
from tans_core.mesh_axes import AbstractDevice as AbstractDevice
from tans_core.mesh_axes import (
    AxisName,
    MeshAxes,
    axis_fields,
    check_names,
    check_types,
    print_types,
    set_fields,
)
from tans_core.mesh_axes import AxisType as AxisType

type Device = Any  # a jaxlib device; tests may pass any object with an `id`


@final
class Mesh(MeshAxes):
    """An array of devices with named axes.

    Args:
      devices: array (or nested sequence) of devices, one dimension per axis name.
      axis_names: one name, or a sequence of distinct names.
      axis_types: one type per axis, or one for all; Auto when left out.

    Raises:
      ValueError: names and dimensions differ in number, a name is None or stands twice, or the
        number of types is wrong.
      TypeError: a type is not an `AxisType`.
    """

    __slots__ = ("_internal_device_list", "devices")

    devices: np.ndarray
    """Read-only object array of the devices."""
    _internal_device_list: Any

    def __new__(
        cls,
        devices: np.ndarray | Sequence[Device] | Device,
        axis_names: AxisName | Sequence[AxisName],
        axis_types: AxisType | Sequence[AxisType] | None = None,
    ) -> "Mesh":
        """Return the one mesh with these devices, names and types."""
        array = _device_array(devices)
        names = check_names("Mesh", axis_names)
        if array.ndim != len(names):
            raise ValueError(
                f"Mesh: devices has {array.ndim} dimensions but axis_names={names!r} has "
                f"{len(names)} names; one name per dimension was expected. Reshape the devices "
                "or name each dimension."
            )
        types = check_types("Mesh", names, axis_types, AxisType.Auto)
        return _intern_mesh(tuple(array.flat), array.shape, names, types)

    def __reduce__(self) -> tuple[Any, ...]:
        return Mesh, (self.devices, self.axis_names, self.axis_types)

    def __repr__(self) -> str:
        if self.empty:
            return "Mesh(axis_sizes=(), axis_names=())"
        return (
            f"Mesh(axis_sizes={self.axis_sizes}, axis_names={self.axis_names!r}, "
            f"axis_types={print_types(self.axis_types)})"
        )

    def __str__(self) -> str:
        return f"Mesh({self._describe()})"

    def update(
        self,
        devices: np.ndarray | Sequence[Device] | None = None,
        axis_names: Sequence[AxisName] | None = None,
        axis_types: AxisType | Sequence[AxisType] | None = None,
    ) -> "Mesh":
        """Return a mesh with the given parts replaced; None keeps a part."""
        return Mesh(
            self.devices if devices is None else devices,
            self.axis_names if axis_names is None else axis_names,
            self.axis_types if axis_types is None else axis_types,
        )

    @property
    def abstract_mesh(self) -> "AbstractMesh":
        """The same axes without devices."""
        abstract = self._cache.get("abstract")
        if abstract is None:
            abstract = _intern_abstract(
                self.axis_sizes, self.axis_names, self.axis_types, _abstract_device(self)
            )
            self._cache["abstract"] = abstract
            _concrete.setdefault(abstract, weakref.WeakSet()).add(self)
        return abstract

    @property
    def device_ids(self) -> np.ndarray:
        """Integer array of the device ids, shaped like the mesh."""
        return np.array([d.id for d in self.devices.flat], int).reshape(self.axis_sizes)

    @property
    def is_multi_process(self) -> bool:
        """Whether some device belongs to another process."""
        return len(self.local_devices) != self.size

    @property
    def local_devices(self) -> list[Device]:
        """The devices of this process, in mesh order."""
        return [d for d in _flat(self) if d.process_index == d.client.process_index()]

    @property
    def local_mesh(self) -> "Mesh":
        """The smallest sub-mesh that holds this process's devices."""
        if self.empty:
            return self
        owners = np.array([d.process_index for d in self.devices.flat]).reshape(self.axis_sizes)
        here = np.argwhere(owners == self.devices.flat[0].client.process_index())
        if not len(here):
            raise ValueError(
                f"{self} has no device of this process. Build a mesh from devices that include "
                "some of local_devices()."
            )
        box = tuple(slice(a, b + 1) for a, b in zip(here.min(0), here.max(0), strict=True))
        return Mesh(self.devices[box], self.axis_names, self.axis_types)


@final
class AbstractMesh(MeshAxes):
    """Named, typed axes without devices, as they stand in array types.

    Args:
      axis_sizes: size of each axis.
      axis_names: one name per axis.
      axis_types: one type per axis, or one for all; Explicit when left out.
      abstract_device: the kind of device the axes are meant for, if known.

    Example:
      >>> AbstractMesh((2, 4), ("x", "y"))
      AbstractMesh('x': 2, 'y': 4, axis_types=(Explicit, Explicit))
    """

    __slots__ = ("abstract_device",)

    abstract_device: AbstractDevice | None
    _internal_device_list: Final = None  # C++ takes None as "no devices"

    def __new__(
        cls,
        axis_sizes: Sequence[int],
        axis_names: AxisName | Sequence[AxisName],
        axis_types: AxisType | Sequence[AxisType] | None = None,
        *,
        abstract_device: AbstractDevice | None = None,
    ) -> "AbstractMesh":
        """Return the one mesh with these sizes, names and types."""
        sizes = tuple(int(size) for size in axis_sizes)
        names = check_names("AbstractMesh", axis_names)
        if len(sizes) != len(names):
            raise ValueError(
                f"AbstractMesh: axis_sizes={sizes} and axis_names={names!r} differ in length; one "
                "name per size was expected. Name each axis."
            )
        types = check_types("AbstractMesh", names, axis_types, AxisType.Explicit)
        return _intern_abstract(sizes, names, types, abstract_device)

    def __reduce__(self) -> tuple[Any, ...]:
        fields = (self.axis_sizes, self.axis_names, self.axis_types, self.abstract_device)
        return _abstract_from_fields, fields

    def __repr__(self) -> str:
        device = "" if self.abstract_device is None else f", {self.abstract_device}"
        return f"AbstractMesh({self._describe()}{device})"

    @property
    def abstract_mesh(self) -> Self:
        """This mesh."""
        return self

    def update(
        self,
        axis_sizes: Sequence[int] | None = None,
        axis_names: Sequence[AxisName] | None = None,
        axis_types: AxisType | Sequence[AxisType] | None = None,
        **kwargs: Any,
    ) -> "AbstractMesh":
        """Return a mesh with the given parts replaced; None keeps a part."""
        return AbstractMesh(
            self.axis_sizes if axis_sizes is None else axis_sizes,
            self.axis_names if axis_names is None else axis_names,
            self.axis_types if axis_types is None else axis_types,
            abstract_device=kwargs.pop("abstract_device", self.abstract_device),
            **kwargs,
        )

    def update_axis_types(self, types: Mapping[AxisName, AxisType]) -> "AbstractMesh":
        """Return a mesh in which the named axes have the given types."""
        pairs = zip(self.axis_names, self.axis_types, strict=True)
        return self.update(axis_types=tuple(types.get(name, old) for name, old in pairs))

    def _no_devices(self) -> NoReturn:
        raise ValueError(
            f"{self!r} has no devices. Ask a concrete Mesh, such as the one from make_mesh(...)."
        )

    devices = property(_no_devices)
    device_ids = property(_no_devices)
    is_multi_process = property(_no_devices)
    local_devices = property(_no_devices)
    local_mesh = property(_no_devices)


def _flat(mesh: Mesh) -> tuple[Device, ...]:
    return () if mesh.empty else tuple(mesh.devices.flat)


def _device_array(devices: Any) -> np.ndarray:
    if isinstance(devices, np.ndarray):
        return devices
    if not isinstance(devices, (list, tuple)):
        array = np.empty((), object)
        array[()] = devices
        return array
    return np.array(devices, dtype=object)


def _abstract_device(mesh: Mesh) -> AbstractDevice | None:
    first = None if mesh.empty else mesh.devices.flat[0]
    if first is None or mesh._internal_device_list is None:
        return None
    return AbstractDevice(first.device_kind, getattr(first, "num_cores", None), first.platform)


def _make_mesh(
    devices: tuple[Device, ...],
    shape: tuple[int, ...],
    names: tuple[AxisName, ...],
    types: tuple[AxisType, ...],
) -> Mesh:
    array = np.empty(len(devices), object)
    array[:] = devices
    array = array.reshape(shape)
    array.flags.writeable = False
    real = bool(devices) and all(isinstance(d, jaxlib_core.Device) for d in devices)
    mesh = object.__new__(Mesh)
    set_fields(mesh, axis_fields(shape, names, types, 0 if devices == (None,) else len(devices)))
    device_list = jaxlib_core.DeviceList(devices) if real else None
    set_fields(mesh, {"devices": array, "_internal_device_list": device_list})
    return mesh


def _make_abstract(
    sizes: tuple[int, ...],
    names: tuple[AxisName, ...],
    types: tuple[AxisType, ...],
    abstract_device: AbstractDevice | None,
) -> AbstractMesh:
    mesh = object.__new__(AbstractMesh)
    set_fields(mesh, axis_fields(sizes, names, types, math.prod(sizes) if sizes else 0))
    set_fields(mesh, {"abstract_device": abstract_device})
    return mesh


_concrete: Final[weakref.WeakKeyDictionary[AbstractMesh, Any]] = weakref.WeakKeyDictionary()
_intern_mesh = weak_value_interner(_make_mesh)
_intern_abstract = weak_value_interner(_make_abstract)


def _abstract_from_fields(*fields: Any) -> AbstractMesh:
    """Return the interned mesh of pickled fields."""
    return _intern_abstract(*fields)


def concrete_meshes(abstract: AbstractMesh) -> list[Mesh]:
    """Return the meshes over devices that stand behind types with this mesh."""
    return list(_concrete.get(abstract, ()))


EMPTY_MESH: Final = Mesh(np.empty((), object), ())
EMPTY_ABSTRACT_MESH: Final = AbstractMesh((), ())
