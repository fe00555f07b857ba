"""Abstract values: what is known of a value while a program is traced.

Core's own types are interned: two equal types are one object, so that a comparison is ``is`` and a
memo keyed by types is a dictionary look-up. User types (hi types) are not interned; code that may
meet one compares with `same_type`.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, Final, Self, override

import numpy as np

from tans_core import _jaxlib, dtypes
from tans_core.config import abstract_mesh
from tans_core.dtypes import ExtendedDType, float0
from tans_core.manual_axis_type import ManualAxisType
from tans_core.partition_spec import PartitionSpec, UnreducedKind, partition_axes
from tans_core.sharding import empty_sharding, named_sharding
from tans_core.type_protocol import TypeProtocol

type DType = np.dtype | ExtendedDType
type Shape = tuple[int, ...]

_NO_AXES: Final[frozenset[str]] = frozenset()


class AbstractValue(TypeProtocol):
    """Base of all types. A type answers for its tangents and for the lo types it is made of.

    Code that handles arrays reads their fields without asking for the class first, so a type
    checker knows them here; types of other values need not have them.
    """

    __slots__ = ("__weakref__",)

    if TYPE_CHECKING:
        shape: Shape
        dtype: Any
        weak_type: bool
        ndim: int
        size: int
        manual_axes: frozenset[str]
        memory_space: Hashable

        @property
        def sharding(self) -> Any: ...  # noqa: D102
        def update(self, **fields: Any) -> Any: ...  # noqa: D102

    def to_tangent(self) -> "AbstractValue":
        """Return the type of a tangent of a value of this type."""
        raise NotImplementedError(f"{type(self).__name__} has no tangent type")

    def to_cotangent(self) -> "AbstractValue":
        """Return the type of a cotangent; a function of the primal type alone."""
        return self.to_tangent()

    def lo_types(self) -> "tuple[AbstractValue, ...]":
        """Return the types that represent this one in a lowered program."""
        return (self,)

    def strong(self) -> "AbstractValue":
        """Return this type without the weak mark."""
        return self

    def str_short(self, short_dtypes: bool = True) -> str:
        """Return the printed form, such as ``f32[3]``."""
        return repr(self)

    @property
    def is_interned(self) -> bool:
        """Whether equality of types of this class is identity."""
        return False


class ShapedArray(AbstractValue):
    """The type of an array.

    Args:
      shape: size of each dimension.
      dtype: NumPy dtype or extended dtype.
      weak_type: whether the dtype yields to that of another operand (Python scalars).
      sharding: `NamedSharding` over an abstract mesh, or None for the empty mesh.
      manual_axes: mesh axes over which the value varies inside a manual computation.
      memory_space: kind of memory, or None for the device's default.

    Example:
      >>> ShapedArray((2, 3), np.float32) is ShapedArray((2, 3), np.dtype("float32"))
      True
    """

    __slots__ = (
        "_hash",
        "_sharding",
        "_tangent",
        "dtype",
        "manual_axes",
        "memory_space",
        "ndim",
        "shape",
        "size",
        "weak_type",
    )

    def __new__(
        cls,
        shape: Sequence[int],
        dtype: Any,
        weak_type: bool = False,
        sharding: Any = None,
        manual_axes: frozenset[str] = _NO_AXES,
        memory_space: Hashable = None,
    ) -> "ShapedArray":
        """Return the one object for these fields."""
        if type(dtype) not in _NP_DTYPES:
            dtype = dtypes.native(dtype)
        if sharding is not None and not _says_something(sharding):
            sharding = None
        # Scalar types hash faster than dtypes. Extended dtypes and float0 are their own key.
        key = dtype.type if type(dtype) in _NP_DTYPES and dtype.type is not np.void else dtype
        return _intern(tuple(shape), key, bool(weak_type), sharding, manual_axes, memory_space)

    @property
    def sharding(self) -> Any:
        """The sharding; replicated over the context mesh when the type carries none."""
        sharding = self._sharding
        if sharding is not None:
            manual = sharding.mesh.manual_axes
            return _without_states(sharding, manual) if manual else sharding
        mesh = abstract_mesh.value
        if mesh is None:
            return empty_sharding(self.ndim)
        return named_sharding(mesh, PartitionSpec(*(None,) * self.ndim))

    @property
    def is_sharded(self) -> bool:
        """Whether the type carries a sharding over a non-empty mesh."""
        return self._sharding is not None

    @property
    def manual_axis_type(self) -> ManualAxisType:
        """The states along manual axes."""
        spec = PartitionSpec() if self._sharding is None else self._sharding.spec
        manual = () if self._sharding is None else self._sharding.mesh.manual_axes
        unreduced, reduced = spec.unreduced.intersection(manual), spec.reduced.intersection(manual)
        kind = spec.unreduced_kind if unreduced else None
        return ManualAxisType(
            varying=self.manual_axes, unreduced=unreduced, reduced=reduced, unreduced_kind=kind
        )

    mat = manual_axis_type

    @property
    @override
    def is_interned(self) -> bool:
        return True

    def update(self, **fields: Any) -> "ShapedArray":
        """Return this type with some fields replaced; a new shape drops the sharding."""
        sharding = self._sharding if "shape" not in fields else None
        return ShapedArray(
            fields.get("shape", self.shape),
            fields.get("dtype", self.dtype),
            fields.get("weak_type", self.weak_type),
            fields.get("sharding", sharding),
            fields.get("manual_axes", self.manual_axes),
            fields.get("memory_space", self.memory_space),
        )

    @override
    def strong(self) -> "ShapedArray":
        return self.update(weak_type=False) if self.weak_type else self

    @override
    def to_tangent(self) -> "ShapedArray":
        tangent = self._tangent
        if tangent is None:
            tangent = _tangent_of(self)
            # Self-reference would make the type immortal, so it is marked by True.
            _set(self, "_tangent", True if tangent is self else tangent)
            return tangent
        return self if tangent is True else tangent

    @override
    def to_cotangent(self) -> "ShapedArray":
        tangent = self.to_tangent()
        sharding = self._sharding
        if sharding is None or not (sharding.spec.unreduced or sharding.spec.reduced):
            return tangent
        if sharding.spec.unreduced_kind not in (None, UnreducedKind.sum):
            raise ValueError(
                f"a value of type {self.str_short()} has no cotangent type: its parts combine by "
                "max or min; expected a sum. Reshard it to reduce it before differentiating."
            )
        swapped = named_sharding(sharding.mesh, sharding.spec.to_cotangent())
        return tangent.update(sharding=swapped)

    @override
    def str_short(self, short_dtypes: bool = True, mesh_axis_types: bool = False) -> str:
        plain = short_dtypes or self.dtype == float0
        name = dtypes.short_name(self.dtype) if plain else str(self.dtype)
        if self.memory_space is not None:
            name += f"<{self.memory_space}>"
        sharding = self._sharding
        if sharding is None and not self.manual_axes:
            return f"{name}[{','.join(map(str, self.shape))}]"
        text = f"{name}[{','.join(_dims_with_axes(self.shape, sharding))}]{_states(self)}"
        if mesh_axis_types and sharding is not None:
            text += _axis_types(sharding.mesh)
        return text

    def __str__(self) -> str:
        return f"{'~' if self.weak_type else ''}{self.str_short(short_dtypes=False)}"

    def __repr__(self) -> str:
        weak = ", weak_type=True" if self.weak_type else ""
        return f"ShapedArray({self.str_short(short_dtypes=False)}{weak})"

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a scalar type: expected a shape with at least one dimension")
        return self.shape[0]

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(
            f"ShapedArray is immutable: cannot set {name!r}. "
            f"Expected a new type: use aval.update({name}=...)."
        )

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        fields = (self._sharding, self.manual_axes, self.memory_space)
        return ShapedArray, (self.shape, self.dtype, self.weak_type, *fields)


_NP_DTYPES: Final = frozenset(type(dtype) for dtype in dtypes.ALL_DTYPES)
_set = object.__setattr__


def _make(
    shape: Shape,
    dtype: Any,
    weak_type: bool,
    sharding: Any,
    manual_axes: frozenset[str],
    memory_space: Hashable,
) -> ShapedArray:
    dtype = dtypes.native(dtype)
    aval = object.__new__(ShapedArray)
    size = 1
    for dim in shape:
        size *= dim
    values = (shape, dtype, weak_type, sharding, manual_axes, memory_space, len(shape), size, None)
    names = ("shape dtype weak_type _sharding manual_axes memory_space ndim size _tangent").split()
    for name, value in zip(names, values, strict=True):
        _set(aval, name, value)
    return aval


_intern: Final[Callable[..., ShapedArray]] = _jaxlib.weak_value_interner(_make)


def _tangent_of(aval: ShapedArray) -> ShapedArray:
    if isinstance(aval.dtype, ExtendedDType):
        tangent = aval.dtype.tangent_dtype
        return aval.update(dtype=float0 if tangent is None else tangent, weak_type=False)
    if dtypes.is_inexact(aval.dtype):
        return aval
    return aval if aval.dtype == float0 else aval.update(dtype=float0, weak_type=False)


def _dims_with_axes(shape: Shape, sharding: Any) -> list[str]:
    if sharding is None:
        return list(map(str, shape))
    partitions = sharding.spec.padded(len(shape)).partitions
    return [
        f"{size}@{_names(axes)}" if (axes := partition_axes(partition)) else str(size)
        for size, partition in zip(shape, partitions, strict=True)
    ]


def _names(axes: Sequence[Any]) -> str:
    names = ",".join(map(str, axes))
    return names if len(axes) == 1 else f"({names})"


def _states(aval: ShapedArray) -> str:
    """Return the printed varying, unreduced and reduced axes, each in mesh order."""
    sharding = aval._sharding
    mesh = abstract_mesh.value if sharding is None else sharding.mesh
    order: dict[Any, int] = {} if mesh is None else mesh.axis_positions
    spec = PartitionSpec() if sharding is None else sharding.spec
    kind = spec.unreduced_kind
    unreduced = "U" if kind in (None, UnreducedKind.sum) else f"U_{kind.name}"
    states = (("V", aval.manual_axes), (unreduced, spec.unreduced), ("R", spec.reduced))
    parts = [
        f"{letter}:{_names(sorted(axes, key=lambda a: (order.get(a, 0), str(a))))}"
        for letter, axes in states
        if axes
    ]
    return f"{{{', '.join(parts)}}}" if parts else ""


def _without_states(sharding: Any, axes: Sequence[Any]) -> Any:
    spec = sharding.spec
    unreduced, reduced = spec.unreduced.difference(axes), spec.reduced.difference(axes)
    kind = spec.unreduced_kind if unreduced else None
    spec = PartitionSpec(
        *spec.partitions, unreduced=unreduced, reduced=reduced, unreduced_kind=kind
    )
    return named_sharding(sharding.mesh, spec)


def _says_something(sharding: Any) -> bool:
    spec = sharding.spec
    return any(p is not None for p in spec.partitions) or bool(spec.unreduced or spec.reduced)


def _axis_types(mesh: Any) -> str:
    by_type: dict[str, list[Any]] = {}
    for name, axis_type in zip(mesh.axis_names, mesh.axis_types, strict=True):
        by_type.setdefault(repr(axis_type), []).append(name)
    return "({" + ", ".join(f"{t}: {tuple(names)!r}" for t, names in by_type.items()) + "})"


class AbstractToken(AbstractValue):
    """The type of a token that orders effects."""

    __slots__ = ()

    @override
    def to_tangent(self) -> "AbstractToken":
        return self

    @override
    def str_short(self, short_dtypes: bool = True) -> str:
        return "Tok"

    __repr__ = str_short

    @property
    @override
    def is_interned(self) -> bool:
        return True


abstract_token: Final = AbstractToken()


def same_type(a: AbstractValue, b: AbstractValue) -> bool:
    """Whether two types are the same: identity, then ``==`` for user types."""
    return a is b or (not a.is_interned and not b.is_interned and bool(a == b))


def same_but_weak(a: AbstractValue, b: AbstractValue) -> bool:
    """Whether two types are the same except for the weak mark."""
    return a is b or same_type(a.strong(), b.strong())
