"""`ShapeDtypeStruct`: the type of an array as an argument or result."""

from collections.abc import Sequence
from typing import Any, override

from tans_core import (
    AbstractRef,
    AbstractValue,
    ShapedArray,
    config,
    dtypes,
    register_value_type,
    typeof,
)
from tans_core.explicit_mode import type_sharding, with_manual_states
from tans_core.hi_types import is_hi_type
from tans_core.manual_axis_type import ManualAxisType
from tans_core.partition_spec import PartitionSpec
from tans_core.sharding import NamedSharding, Sharding, named_sharding
from tans_xla.layouts import Format


class ShapeDtypeStruct:
    """Shape, dtype and sharding of an array that need not exist.

    Args:
      shape: size of each dimension.
      dtype: dtype of the elements.
      sharding: its sharding or `Format`, a spec over the mesh in context, or None.
      weak_type: whether the dtype yields to that of another operand.
      is_ref: whether it stands for a mutable array reference.

    Raises:
      TypeError: a spec without a mesh in context.
      ValueError: `dtype` is None, or `sharding` something else.

    Example:
      >>> ShapeDtypeStruct((2, 3), "float32")
      ShapeDtypeStruct(shape=(2, 3), dtype=float32)
    """

    __slots__ = ("_layout", "dtype", "is_ref", "manual_axis_type", "shape", "sharding", "weak_type")

    def __init__(
        self,
        shape: Sequence[int],
        dtype: Any,
        *,
        sharding: Any = None,
        weak_type: bool = False,
        manual_axis_type: ManualAxisType | None = None,
        is_ref: bool = False,
    ) -> None:
        if dtype is None:
            raise ValueError(
                "ShapeDtypeStruct: given dtype=None, expected a dtype such as jnp.float32."
            )
        self.shape = tuple(shape)
        self.dtype = dtypes.native(dtype)
        self._layout: Any = None
        if isinstance(sharding, Format):
            sharding, self._layout = sharding.sharding, sharding.layout
        self.sharding = sharding if sharding is None else _checked(sharding)
        self.weak_type = bool(weak_type)
        self.manual_axis_type = manual_axis_type
        self.is_ref = bool(is_ref)

    @classmethod
    def like(cls, x: Any) -> "ShapeDtypeStruct":
        """Return the struct of a value, with its sharding if it is an array on devices."""
        if isinstance(x, ShapeDtypeStruct):
            return x
        return struct_of(typeof(x), x.format if getattr(x, "committed", False) else None)

    @property
    def format(self) -> Format:
        """Its layout and sharding."""
        return Format(self._layout, self.sharding)

    @property
    def size(self) -> int:
        """Number of elements."""
        return self.aval.size

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def aval(self) -> AbstractValue:
        """The abstract value, with the dtype that x64 mode allows."""
        return AbstractRef(self._inner()) if self.is_ref else self._inner()

    def _inner(self) -> ShapedArray:
        aval = ShapedArray(self.shape, dtypes.canonicalize(self.dtype), self.weak_type)
        sharding = self.sharding
        if isinstance(sharding, NamedSharding):
            aval = aval.update(sharding=type_sharding(sharding.mesh, sharding.spec, aval.ndim))
        states = self.manual_axis_type
        return aval if states is None else with_manual_states(aval, states)

    def update(self, **fields: Any) -> "ShapeDtypeStruct":
        """Return a copy with some fields replaced."""
        return ShapeDtypeStruct(
            fields.get("shape", self.shape),
            fields.get("dtype", self.dtype),
            sharding=fields.get("sharding", self.format),
            weak_type=fields.get("weak_type", self.weak_type),
            manual_axis_type=fields.get("manual_axis_type", self.manual_axis_type),
            is_ref=fields.get("is_ref", self.is_ref),
        )

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a ShapeDtypeStruct without dimensions")
        return self.shape[0]

    def _key(self) -> tuple[Any, ...]:
        fields = self.shape, self.dtype, self.sharding, self.weak_type
        return (*fields, self.manual_axis_type, self.is_ref, self._layout)

    @override
    def __eq__(self, other: object) -> bool:
        return isinstance(other, ShapeDtypeStruct) and self._key() == other._key()

    @override
    def __hash__(self) -> int:
        return hash(self._key())

    @override
    def __repr__(self) -> str:
        name = self.dtype.name
        sharding = f", sharding={self.sharding}" if self.sharding is not None else ""
        sharding += f", format={self._layout}" if self._layout is not None else ""
        weak = ", weak_type=True" if self.weak_type else ""
        if self.manual_axis_type is not None:
            weak += f", manual_axis_type={self.manual_axis_type}"
        weak += ", is_ref=True" if self.is_ref else ""
        return f"ShapeDtypeStruct(shape={self.shape}, dtype={name}{sharding}{weak})"


def _checked(sharding: Any) -> Sharding:
    if isinstance(sharding, Sharding):
        return sharding
    if not isinstance(sharding, PartitionSpec):
        raise ValueError(
            f"ShapeDtypeStruct: given sharding={sharding!r} of type {type(sharding).__name__}, "
            "expected a Sharding, a PartitionSpec under set_mesh, a Format or None. Write "
            "NamedSharding(mesh, spec)."
        )
    mesh = config.concrete_mesh.value or config.abstract_mesh.value
    if not mesh:
        raise TypeError(
            f"ShapeDtypeStruct: given sharding={sharding!r} without a mesh in context, expected "
            "one. Write set_mesh(mesh) around it, or NamedSharding(mesh, spec)."
        )
    return named_sharding(mesh, sharding)


register_value_type(ShapeDtypeStruct, lambda s: s.aval)


def struct_of(aval: Any, sharding: Any = None) -> Any:
    """Return the struct of a type; its sharding is that of the type unless given.

    A user type stands for itself.
    """
    if is_hi_type(aval):
        return aval
    if sharding is None and getattr(aval, "is_sharded", False):
        sharding = aval.sharding
    states = getattr(aval, "manual_axis_type", None)
    return ShapeDtypeStruct(
        aval.shape,
        aval.dtype,
        sharding=sharding,
        weak_type=aval.weak_type,
        manual_axis_type=states if states else None,
    )
