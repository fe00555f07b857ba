"""The methods of types under the names that user types define and call.

A user type that is made of arrays delegates to the types of its parts by these names; what an array
type answers is here, in terms of the methods that the packages of Tans use.
"""

from typing import Any


class TypeProtocol:
    """Names of `HiType`'s methods, for all types."""

    __slots__ = ()

    def to_tangent_aval(self: Any) -> Any:
        """Return the type of tangents."""
        return self.to_tangent()

    def to_ct_aval(self: Any) -> Any:
        """Return the type of cotangents."""
        return self.to_cotangent()

    def strip_weak_type(self: Any) -> Any:
        """Return this type without the weak mark."""
        return self.strong()

    def lo_ty(self: Any) -> list[Any]:
        """Return the types that values are made of in a lowered program."""
        return list(self.lo_types())

    def lower_val(self, value: Any) -> list[Any]:
        """Return what a value is made of in a lowered program."""
        return [value]

    def raise_val(self, *los: Any) -> Any:
        """Return the value made of these parts."""
        return los[0]

    def dec_rank(self: Any, size: int | None, spec: int | None) -> Any:
        """Return the type of an element of an array that is mapped along axis `spec`."""
        if spec is None:
            return self
        shape = (*self.shape[:spec], *self.shape[spec + 1 :])
        if not self.is_sharded:
            return self.update(shape=shape)
        partitions = list(self.sharding.spec.padded(self.ndim).partitions)
        del partitions[spec]
        return self._with_partitions(shape, partitions)

    def inc_rank(self: Any, size: int, spec: int | None) -> Any:
        """Return the type of an array of `size` values of this type along axis `spec`."""
        if spec is None:
            return self
        shape = (*self.shape[:spec], size, *self.shape[spec:])
        if not self.is_sharded:
            return self.update(shape=shape)
        partitions = list(self.sharding.spec.padded(self.ndim).partitions)
        partitions.insert(spec, None)
        return self._with_partitions(shape, partitions)

    def _with_partitions(self: Any, shape: tuple[int, ...], partitions: list[Any]) -> Any:
        sharding = self.sharding
        spec = sharding.spec.update(partitions=tuple(partitions))
        return self.update(shape=shape, sharding=sharding.update(spec=spec))

    def leading_axis_spec(self) -> Any:
        """Return the axis along which scan stacks arrays."""
        return 0
