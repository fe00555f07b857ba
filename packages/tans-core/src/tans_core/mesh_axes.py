"""Axes of a mesh: names, sizes and types, without devices."""

import collections
import dataclasses
import enum
from collections.abc import Mapping
from typing import Any, NoReturn

type AxisName = Any  # any hashable except None


class AxisType(enum.Enum):
    """Who decides how values are sharded over a mesh axis."""

    Auto = enum.auto()
    """The compiler."""
    Explicit = enum.auto()
    """The types of the program's values."""
    Manual = enum.auto()
    """The program itself: it sees one shard."""

    def __repr__(self) -> str:
        return self.name


@dataclasses.dataclass(frozen=True, slots=True)
class AbstractDevice:
    """The kind of device a mesh is meant for, without a device."""

    device_kind: str
    num_cores: int | None
    platform: str

    def __repr__(self) -> str:
        return f"AbstractDevice({self})"

    def __str__(self) -> str:
        return (
            f"device_kind={self.device_kind}, num_cores={self.num_cores}, platform={self.platform}"
        )


class MeshAxes:
    """What both kinds of mesh know about their axes."""

    __slots__ = (
        "__weakref__", "_cache", "axis_names", "axis_sizes", "axis_types", "size",
    )  # fmt: skip

    axis_names: tuple[AxisName, ...]
    axis_sizes: tuple[int, ...]
    axis_types: tuple[AxisType, ...]
    size: int
    """Number of devices; 0 for the empty mesh."""
    _cache: dict[Any, Any]

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(
            f"cannot assign to '{name}' of {self!r}: meshes are immutable. "
            "Use mesh.update(...), which returns a new mesh."
        )

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"cannot delete '{name}' of {self!r}: meshes are immutable.")

    @property
    def shape(self) -> "collections.OrderedDict[AxisName, int]":
        """Axis sizes by name, in axis order."""
        return collections.OrderedDict(self.shape_tuple)

    @property
    def shape_tuple(self) -> tuple[tuple[AxisName, int], ...]:
        """Pairs of axis name and size."""
        return tuple(zip(self.axis_names, self.axis_sizes, strict=True))

    @property
    def empty(self) -> bool:
        """Whether this is the mesh without devices."""
        return self.size == 0

    @property
    def axis_positions(self) -> dict[AxisName, int]:
        """Position of each axis by name; shared, do not modify."""
        positions = self._cache.get("positions")
        if positions is None:
            positions = {name: i for i, name in enumerate(self.axis_names)}
            self._cache["positions"] = positions
        return positions

    def axis_type(self, name: AxisName) -> AxisType:
        """Return the type of the axis `name`."""
        return self.axis_types[self.axis_positions[name]]

    def _axes_of_type(self, axis_type: AxisType) -> tuple[AxisName, ...]:
        pairs = zip(self.axis_names, self.axis_types, strict=True)
        return tuple(name for name, t in pairs if t is axis_type)

    @property
    def auto_axes(self) -> tuple[AxisName, ...]:
        """Names of the Auto axes."""
        return self._axes_of_type(AxisType.Auto)

    @property
    def explicit_axes(self) -> tuple[AxisName, ...]:
        """Names of the Explicit axes."""
        return self._axes_of_type(AxisType.Explicit)

    @property
    def manual_axes(self) -> tuple[AxisName, ...]:
        """Names of the Manual axes."""
        return self._axes_of_type(AxisType.Manual)

    def _all_of_type(self, axis_type: AxisType) -> bool:
        return bool(self.axis_types) and all(t is axis_type for t in self.axis_types)

    @property
    def are_all_axes_auto(self) -> bool:
        """Whether there are axes and all are Auto."""
        return self._all_of_type(AxisType.Auto)

    @property
    def are_all_axes_explicit(self) -> bool:
        """Whether there are axes and all are Explicit."""
        return self._all_of_type(AxisType.Explicit)

    @property
    def are_all_axes_manual(self) -> bool:
        """Whether there are axes and all are Manual."""
        return self._all_of_type(AxisType.Manual)

    def _describe(self) -> str:
        axes = "".join(f"{name!r}: {size}, " for name, size in self.shape_tuple) or "(), "
        return f"{axes}axis_types={print_types(self.axis_types)}"


def print_types(types: tuple[AxisType, ...]) -> str:
    """Return the types as they print inside a mesh."""
    return f"({', '.join(t.name for t in types)}{',' if len(types) == 1 else ''})"


def check_names(what: str, names: Any) -> tuple[AxisName, ...]:
    """Return the names as a tuple; raise ValueError for None or a repeated name."""
    names = (names,) if isinstance(names, str) else tuple(names)
    if None in names:
        raise ValueError(
            f"{what}: axis_names={names!r} holds None; one name per axis was expected. "
            "Name each axis."
        )
    if len(set(names)) != len(names):
        raise ValueError(
            f"{what}: axis_names={names!r} holds a name twice; specs could not tell the axes "
            "apart. Give each axis its own name."
        )
    return names


def check_types(
    what: str, names: tuple[AxisName, ...], types: Any, default: AxisType
) -> tuple[AxisType, ...]:
    """Return one type per axis; raise TypeError or ValueError for other input."""
    if types is None:
        return (default,) * len(names)
    types = (types,) if isinstance(types, AxisType) else tuple(types)
    for entry in types:
        if not isinstance(entry, AxisType):
            raise TypeError(
                f"{what}: axis_types={types!r} holds a {type(entry).__name__}, expected AxisType "
                "entries. Write AxisType.Auto, AxisType.Explicit or AxisType.Manual."
            )
    if len(types) != len(names):
        raise ValueError(
            f"{what}: {len(names)} axes {names!r} but {len(types)} axis_types "
            f"{print_types(types)}; one type per axis was expected. Leave axis_types out for "
            f"{default.name}."
        )
    return types


def set_fields(mesh: Any, fields: Mapping[str, Any]) -> None:
    """Fill the slots of a new mesh, which is immutable to all others."""
    for name, value in fields.items():
        object.__setattr__(mesh, name, value)


def axis_fields(
    sizes: tuple[int, ...],
    names: tuple[AxisName, ...],
    types: tuple[AxisType, ...],
    size: int,
) -> dict[str, Any]:
    """Return the fields that both kinds of mesh share."""
    return {
        "axis_names": names,
        "axis_sizes": sizes,
        "axis_types": types,
        "size": size,
        "_cache": {},
    }
