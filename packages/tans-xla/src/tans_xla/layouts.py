"""How the elements of an array lie in memory: `Layout`, and `Format`, a layout with a sharding."""

from dataclasses import dataclass
from typing import Any, ClassVar, override

from tans_core.mesh import AbstractMesh
from tans_core.sharding import Sharding


class _AutoLayout:
    """The type of `Layout.AUTO`: the compiler chooses."""

    @override
    def __repr__(self) -> str:
        return "AutoLayout"


@dataclass(frozen=True, slots=True)
class Layout:
    """The order of an array's elements in memory.

    Attributes:
      major_to_minor: the dimensions, slowest first; ``(0, 1)`` is row by row.
      tiling: sizes of tiles, or None for the device's own.
      sub_byte_element_size_in_bits: of elements that share bytes; 0 for others.

    Example:
      >>> from tans_xla.layouts import Layout
      >>> Layout((1, 0))
      Layout(major_to_minor=(1, 0), tiling=None, sub_byte_element_size_in_bits=0)
    """

    AUTO: ClassVar[_AutoLayout] = _AutoLayout()

    major_to_minor: tuple[int, ...]
    tiling: tuple[tuple[int, ...], ...] | None = None
    sub_byte_element_size_in_bits: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "major_to_minor", tuple(self.major_to_minor))
        if self.tiling is not None:
            object.__setattr__(self, "tiling", tuple(map(tuple, self.tiling)))

    @staticmethod
    def from_pjrt_layout(pjrt_layout: Any) -> "Layout":
        """Return the layout that a PJRT object describes."""
        found = pjrt_layout._xla_layout()
        order = tuple(reversed(found.minor_to_major()))
        return Layout(order, tuple(map(tuple, found.tiling())), found.element_size_in_bits())

    @staticmethod
    def for_array(x: Any) -> "Layout":
        """Return the layout of a concrete array."""
        return Layout.from_pjrt_layout(x._pjrt_layout)

    def update(self, **changes: Any) -> "Layout":
        """Return a layout with other fields."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        return Layout(**(fields | changes))

    def check_compatible_aval(self, aval_shape: tuple[int, ...]) -> None:
        """Check that the layout orders as many dimensions as a shape has.

        Raises:
          ValueError: it does not.
        """
        if len(self.major_to_minor) != len(aval_shape):
            raise ValueError(
                f"{self!r}: given for an array of shape {tuple(aval_shape)}, expected "
                f"{len(self.major_to_minor)} dimensions. Name each dimension once in "
                "major_to_minor."
            )


@dataclass(frozen=True, slots=True)
class Format:
    """A layout and a sharding.

    Attributes:
      layout: a `Layout`, `Layout.AUTO`, or None for the device's own.
      sharding: a sharding over devices, or None.

    Raises:
      TypeError: one of them is something else.
      ValueError: a layout without a sharding over devices.

    Example:
      >>> import numpy as np
      >>> from tans_xla import device_put
      >>> device_put(np.ones((2, 3))).format.layout.major_to_minor
      (0, 1)
    """

    layout: Any = None
    sharding: Any = None

    def __post_init__(self) -> None:
        layout, sharding = self.layout, self.sharding
        if not (layout is None or isinstance(layout, Layout | _AutoLayout)):
            raise TypeError(
                f"Format: given layout={layout!r} of type {type(layout).__name__}, expected None, "
                "Layout.AUTO or a Layout. Write Layout((0, 1))."
            )
        if not (sharding is None or isinstance(sharding, Sharding)):
            raise TypeError(
                f"Format: given sharding={sharding!r} of type {type(sharding).__name__}, expected "
                "None or a Sharding. Write NamedSharding(mesh, spec)."
            )
        abstract = isinstance(getattr(sharding, "mesh", None), AbstractMesh)
        if isinstance(layout, Layout) and (sharding is None or abstract):
            raise ValueError(
                f"Format: given {layout!r} with sharding={sharding!r}, expected a sharding over "
                "devices, whose memory the layout is about. Pass a NamedSharding over a Mesh or a "
                "SingleDeviceSharding."
            )


def format_of(x: Any) -> Format:
    """Return the format of a concrete array."""
    return Format(Layout.for_array(x), x._sharding)


def sharding_of_format(given: Format, name: str) -> Any:
    """Return the sharding of a format as a destination.

    Raises:
      NotImplementedError: the format asks for a layout that is not row by row.
    """
    layout = given.layout
    if isinstance(layout, Layout) and layout.major_to_minor != tuple(
        range(len(layout.major_to_minor))
    ):
        raise NotImplementedError(
            f"{name}: given {given!r}; expected a format whose layout is None, Layout.AUTO or row "
            "by row, as arrays lie here. Leave the layout out, or let a jitted function transpose."
        )
    return given.sharding
