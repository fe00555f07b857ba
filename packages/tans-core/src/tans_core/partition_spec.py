"""`PartitionSpec`: which mesh axes shard each dimension of an array, and which are unreduced.

Specs are interned: equal constructor arguments give the same object, so `==` is identity, and the
compiled dispatch path compares two specs without running Python.
"""

import enum
from collections.abc import Iterator
from typing import Any, Final, NoReturn, final

from tans_core._jaxlib import jaxlib_core, weak_value_interner

type AxisName = Any  # any hashable except None; usually a string
type Partition = Any  # None, an axis name, a tuple of axis names, or PartitionSpec.UNCONSTRAINED


class UnreducedKind(enum.Enum):
    """How the addends of an unreduced value combine into the value."""

    sum = 1
    max = 2
    min = 3


class _Unconstrained:
    """The type of `PartitionSpec.UNCONSTRAINED`: the compiler chooses this dimension's sharding."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "UNCONSTRAINED"

    def __reduce__(self) -> str:
        return "UNCONSTRAINED"


UNCONSTRAINED: Final = _Unconstrained()
# C++ tells the sentinel from an axis name by identity.
jaxlib_core.set_pspec_unconstrained(UNCONSTRAINED)

_NO_AXES: Final[frozenset[AxisName]] = frozenset()


@final
class PartitionSpec:
    """Sharding of an array in terms of mesh axes, one entry per leading dimension.

    Args:
      *partitions: for each dimension None (not sharded), an axis name, a tuple of names (major to
        minor), or `PartitionSpec.UNCONSTRAINED`. Dimensions that are left out are not sharded.
      unreduced: set of axes over which each device holds an addend of the value.
      reduced: set of axes over which the value is whole and its cotangent is unreduced.
      unreduced_kind: how addends combine; `UnreducedKind.sum` when `unreduced` is not empty.

    Raises:
      TypeError: `unreduced` or `reduced` is not a set, or the kind is not an `UnreducedKind`.
      ValueError: an axis is None or stands in two places, or a kind is given without axes.

    Example:
      >>> PartitionSpec("x", None)
      P('x', None)
      >>> PartitionSpec(("x",), ()) is PartitionSpec("x", None)
      True
      >>> PartitionSpec("y", unreduced={"x"})
      P('y', unreduced={'x'}, unreduced_kind=sum)
    """

    __slots__ = ("__weakref__", "partitions", "reduced", "unreduced", "unreduced_kind")

    UNCONSTRAINED: Final = UNCONSTRAINED
    partitions: tuple[Partition, ...]
    unreduced: frozenset[AxisName]
    reduced: frozenset[AxisName]
    unreduced_kind: UnreducedKind | None

    def __new__(
        cls,
        *partitions: Partition,
        unreduced: set[AxisName] | frozenset[AxisName] = _NO_AXES,
        reduced: set[AxisName] | frozenset[AxisName] = _NO_AXES,
        unreduced_kind: UnreducedKind | None = None,
    ) -> "PartitionSpec":
        """Return the one spec with these entries."""
        partitions = jaxlib_core.canonicalize_partitions(partitions)
        if unreduced is _NO_AXES and reduced is _NO_AXES and unreduced_kind is None:
            return _interned(partitions, _NO_AXES, _NO_AXES, None)
        unreduced = _axis_set("unreduced", unreduced)
        reduced = _axis_set("reduced", reduced)
        _check_disjoint(partitions, unreduced, reduced)
        kind = _check_kind(unreduced, unreduced_kind)
        return _interned(partitions, unreduced, reduced, kind)

    def __init_subclass__(cls) -> NoReturn:
        raise TypeError(
            f"PartitionSpec cannot be subclassed, but {cls.__name__} does so. "
            "Specs are interned: write a function that returns a PartitionSpec instead."
        )

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(
            f"cannot assign to '{name}' of {self!r}: specs are immutable. "
            f"Use spec.update({name}=...), which returns a new spec."
        )

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"cannot delete '{name}' of {self!r}: specs are immutable.")

    def __repr__(self) -> str:
        sets = [
            f"{name}={{{', '.join(sorted(map(repr, axes)))}}}"
            for name, axes in (("unreduced", self.unreduced), ("reduced", self.reduced))
            if axes
        ]
        if self.unreduced_kind is not None:
            sets.append(f"unreduced_kind={self.unreduced_kind.name}")
        if not sets and len(self.partitions) == 1:
            return f"P({self.partitions[0]!r},)"
        return f"P({', '.join([*map(repr, self.partitions), *sets])})"

    def __reduce__(self) -> tuple[Any, ...]:
        fields = (self.partitions, self.unreduced, self.reduced, self.unreduced_kind)
        return _interned, fields

    def __len__(self) -> int:
        return len(self.partitions)

    def __bool__(self) -> bool:
        return bool(self.partitions or self.unreduced or self.reduced)

    def __iter__(self) -> Iterator[Partition]:
        self._check_plain("iter(spec)", "iter(spec.partitions)")
        return iter(self.partitions)

    def __getitem__(self, index: int | slice) -> Any:
        self._check_plain("spec[...]", "spec.partitions[...]")
        return self.partitions[index]

    def __add__(self, other: "PartitionSpec | tuple[Partition, ...]") -> "PartitionSpec":
        if isinstance(other, PartitionSpec):
            return self._concatenate(other)
        if not isinstance(other, tuple):
            return NotImplemented
        if self.unreduced or self.reduced:
            raise TypeError(
                f"cannot add the tuple {other!r} to {self!r}, which has unreduced or reduced axes. "
                f"Add a spec: spec + P{other!r}."
            )
        return PartitionSpec(*self.partitions, *other)

    def __radd__(self, other: tuple[Partition, ...]) -> "PartitionSpec":
        if not isinstance(other, tuple):
            return NotImplemented
        return PartitionSpec(*other) + self

    def _concatenate(self, other: "PartitionSpec") -> "PartitionSpec":
        kinds = {self.unreduced_kind, other.unreduced_kind} - {None}
        if len(kinds) > 1:
            raise TypeError(
                f"cannot add {self!r} and {other!r}: their unreduced kinds differ. "
                "Reduce one of the values first, so that one kind is left."
            )
        return PartitionSpec(
            *self.partitions,
            *other.partitions,
            unreduced=self.unreduced | other.unreduced,
            reduced=self.reduced | other.reduced,
            unreduced_kind=kinds.pop() if kinds else None,
        )

    def index(self, value: Partition) -> int:
        """Return the first dimension whose entry equals `value` (canonicalised)."""
        return self.partitions.index(jaxlib_core.canonicalize_partition(value))

    def count(self, value: Partition) -> int:
        """Return the number of dimensions whose entry equals `value` (canonicalised)."""
        return self.partitions.count(jaxlib_core.canonicalize_partition(value))

    def update(
        self,
        partitions: tuple[Partition, ...] | None = None,
        unreduced: set[AxisName] | frozenset[AxisName] | None = None,
        reduced: set[AxisName] | frozenset[AxisName] | None = None,
        unreduced_kind: UnreducedKind | None = None,
    ) -> "PartitionSpec":
        """Return a spec with the given fields replaced; None keeps a field."""
        unreduced = self.unreduced if unreduced is None else unreduced
        if unreduced_kind is None and unreduced:
            unreduced_kind = self.unreduced_kind
        return PartitionSpec(
            *(self.partitions if partitions is None else partitions),
            unreduced=unreduced,
            reduced=self.reduced if reduced is None else reduced,
            unreduced_kind=unreduced_kind,
        )

    def padded(self, ndim: int) -> "PartitionSpec":
        """Return the spec with None appended up to `ndim` entries, the form used in array types."""
        missing = ndim - len(self.partitions)
        if missing <= 0:
            return self
        filled = self.partitions + (None,) * missing
        return _interned(filled, self.unreduced, self.reduced, self.unreduced_kind)

    def to_cotangent(self) -> "PartitionSpec":
        """Return the spec of a cotangent: unreduced and reduced axes change places."""
        if not (self.unreduced or self.reduced):
            return self
        kind = UnreducedKind.sum if self.reduced else None
        return _interned(self.partitions, self.reduced, self.unreduced, kind)

    # The methods of a `HiPspec`, so that specs of user types delegate to those of their parts.
    def to_lo(self) -> "tuple[PartitionSpec, ...]":
        """Return the specs of what an array is made of in a low program: itself."""
        return (self,)

    def to_tangent_spec(self) -> "PartitionSpec":
        """Return the spec of a tangent."""
        return self

    def to_ct_spec(self) -> "PartitionSpec":
        """Return the spec of a cotangent."""
        return self.to_cotangent()

    def _check_plain(self, given: str, remedy: str) -> None:
        if self.unreduced or self.reduced:
            raise ValueError(
                f"{given} of {self!r} would ignore its unreduced and reduced axes. Use {remedy}."
            )


P = PartitionSpec


def partition_axes(partition: Partition) -> tuple[AxisName, ...]:
    """Return the axis names of one spec entry, major to minor; none for an unconstrained one."""
    if partition is None or partition is UNCONSTRAINED:
        return ()
    return partition if isinstance(partition, tuple) else (partition,)


def _axis_set(name: str, axes: Any) -> frozenset[AxisName]:
    if not isinstance(axes, (set, frozenset)):
        raise TypeError(
            f"PartitionSpec: {name}={axes!r} is a {type(axes).__name__}, expected a set or "
            f"frozenset of axis names. Write {name}={{'x'}}."
        )
    if None in axes:
        raise ValueError(
            f"PartitionSpec: {name}={set(axes)!r} holds None, expected names of mesh axes. "
            "Leave None out."
        )
    return frozenset(axes)


def _check_disjoint(
    partitions: tuple[Partition, ...],
    unreduced: frozenset[AxisName],
    reduced: frozenset[AxisName],
) -> None:
    if both := unreduced & reduced:
        raise ValueError(
            f"PartitionSpec: {sorted(both, key=str)} stands in both unreduced={set(unreduced)!r} "
            f"and reduced={set(reduced)!r}; an axis has one state. Remove it from one of them."
        )
    for position, partition in enumerate(partitions):
        for name, axes in (("unreduced", unreduced), ("reduced", reduced)):
            if shared := axes.intersection(partition_axes(partition)):
                raise ValueError(
                    f"PartitionSpec: {sorted(shared, key=str)} shards dimension {position} and "
                    f"stands in {name}={set(axes)!r}; they cannot overlap, "
                    "since an axis has one state. Remove it from one of them."
                )


def _check_kind(unreduced: frozenset[AxisName], kind: UnreducedKind | None) -> UnreducedKind | None:
    if kind is not None and not isinstance(kind, UnreducedKind):
        raise TypeError(
            f"PartitionSpec: unreduced_kind={kind!r} is a {type(kind).__name__}, expected an "
            "UnreducedKind. Write UnreducedKind.sum, .max or .min."
        )
    if kind is not None and not unreduced:
        raise ValueError(
            f"PartitionSpec: unreduced_kind={kind.name} was given without unreduced axes. "
            "Name the axes with unreduced={...}, or leave the kind out."
        )
    return UnreducedKind.sum if unreduced and kind is None else kind


def _make(
    partitions: tuple[Partition, ...],
    unreduced: frozenset[AxisName],
    reduced: frozenset[AxisName],
    kind: UnreducedKind | None,
) -> PartitionSpec:
    spec = object.__new__(PartitionSpec)
    for name, value in (
        ("partitions", partitions),
        ("unreduced", unreduced),
        ("reduced", reduced),
        ("unreduced_kind", kind),
    ):
        object.__setattr__(spec, name, value)
    return spec


_intern = weak_value_interner(_make)


def _interned(
    partitions: tuple[Partition, ...],
    unreduced: frozenset[AxisName],
    reduced: frozenset[AxisName],
    kind: UnreducedKind | None,
) -> PartitionSpec:
    """Return the one spec with these canonical fields (module-level, so that specs pickle)."""
    return _intern(partitions, unreduced, reduced, kind)
