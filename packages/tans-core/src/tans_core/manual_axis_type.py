"""`ManualAxisType`: how a value stands along the manual axes of a mesh."""

import functools
from typing import Any, Final

from tans_core.partition_spec import UnreducedKind

type Axes = frozenset[Any]

_NO_AXES: Final[Axes] = frozenset()


class ManualAxisType:
    """The states of a value along manual axes.

    Args:
      varying: axes along which each device has its own value.
      unreduced: axes along which each device has an addend.
      reduced: axes along which the value is whole and its cotangent unreduced.
      unreduced_kind: how addends combine; sum when `unreduced` is not empty.

    Example:
      >>> ManualAxisType(varying={"x"}) is ManualAxisType(varying=frozenset({"x"}))
      True
    """

    __slots__ = ("reduced", "unreduced", "unreduced_kind", "varying")

    varying: Axes
    unreduced: Axes
    reduced: Axes
    unreduced_kind: UnreducedKind | None

    def __new__(
        cls,
        *,
        varying: Any = _NO_AXES,
        unreduced: Any = _NO_AXES,
        reduced: Any = _NO_AXES,
        unreduced_kind: UnreducedKind | None = None,
    ) -> "ManualAxisType":
        """Return the one object with these states."""
        if unreduced and unreduced_kind is None:
            unreduced_kind = UnreducedKind.sum
        sets = (frozenset(varying), frozenset(unreduced), frozenset(reduced))
        return _manual_axis_type(*sets, unreduced_kind)

    def __repr__(self) -> str:
        fields = ("varying", "unreduced", "reduced", "unreduced_kind")
        return f"ManualAxisType({', '.join(f'{n}={getattr(self, n)!r}' for n in fields)})"

    def __bool__(self) -> bool:
        return bool(self.varying or self.unreduced or self.reduced)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(
            f"cannot assign to '{name}' of {self!r}: it is immutable. Make a new ManualAxisType."
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return _manual_axis_type, (self.varying, self.unreduced, self.reduced, self.unreduced_kind)


@functools.cache
def _manual_axis_type(
    varying: Axes, unreduced: Axes, reduced: Axes, kind: UnreducedKind | None
) -> ManualAxisType:
    made = object.__new__(ManualAxisType)
    fields = {"varying": varying, "unreduced": unreduced, "reduced": reduced}
    for name, value in {**fields, "unreduced_kind": kind}.items():
        object.__setattr__(made, name, value)
    return made
