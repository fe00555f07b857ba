"""User types at the boundary of mapped functions: their own methods, and those of their parts."""

from typing import Any, Final

from tans_core.hi_types import HiPspec
from tans_core.types import ShapedArray
from tans_sharding.shard_mapping.boundary import part_type, residual_spec, whole_type

type Value = Any


def _shard(self: ShapedArray, mesh: Any, manual_axes: Any, check_vma: bool, spec: Any) -> Any:
    """Return the type of one device's part of an array of this type."""
    return part_type(mesh, frozenset(manual_axes), spec, self, check_vma)


def _unshard(self: ShapedArray, mesh: Any, check_vma: bool, spec: Any) -> Any:
    """Return the type of the array whose parts have this type."""
    return whole_type(mesh, frozenset(mesh.manual_axes) | self.manual_axes, spec, self)


def _nospec(self: ShapedArray, mesh: Any, check_vma: bool, all_names: Any) -> Any:
    """Return the spec that lines arrays of this type up over all axes along which they vary."""
    return residual_spec(mesh, frozenset(all_names), self, check_vma)


_METHODS: Final = {"shard": _shard, "unshard": _unshard, "nospec": _nospec}


def attach() -> None:
    """Give array types the methods that types made of them delegate to."""
    for name, method in _METHODS.items():
        setattr(ShapedArray, name, method)


def tangent_specs(specs: Any) -> list[Any]:
    """Return the specs of tangents."""
    return [s.to_tangent_spec() if isinstance(s, HiPspec) else s for s in specs]
