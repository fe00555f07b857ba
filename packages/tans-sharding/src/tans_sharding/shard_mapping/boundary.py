"""From types outside of a mapped function to those inside, and back."""

import functools
import math
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

from tans_core import ShapedArray
from tans_core.cache import register_cache
from tans_core.config import abstract_mesh, axis_env, check_vma
from tans_core.explicit_mode import spec_of, type_sharding
from tans_core.hi_types import is_hi_type
from tans_core.mesh import AxisType
from tans_core.partition_spec import PartitionSpec, partition_axes
from tans_core.refs import is_ref_type

type Axes = frozenset[Any]


@contextmanager
def manual_context(mesh: Any, axes: Axes, check: bool) -> Generator[None]:
    """Context manager: the inside of a mapped function.

    Args:
      mesh: the abstract mesh inside, where `axes` are manual.
      axes: the axes that are mapped; bound as names.
      check: whether types say along which axes values vary.
    """
    sizes = mesh.shape
    named = tuple((a, sizes[a]) for a in mesh.axis_names if a in axes)
    names = (*axis_env.value, *named)
    before = abstract_mesh.swap_local(mesh), axis_env.swap_local(names), check_vma.swap_local(check)
    try:
        yield
    finally:
        abstract_mesh.set_local(before[0])
        axis_env.set_local(before[1])
        check_vma.set_local(before[2])


def inner_mesh(mesh: Any, axes: Axes) -> Any:
    """Return the abstract mesh inside, where `axes` are manual."""
    return mesh.abstract_mesh.update_axis_types(dict.fromkeys(axes, AxisType.Manual))


def spec_axes(spec: PartitionSpec) -> Axes:
    """Return the axes that shard some dimension."""
    return frozenset(a for p in spec.partitions for a in partition_axes(p))


def restricted(spec: PartitionSpec, axes: Axes) -> PartitionSpec:
    """Return what a spec says about some axes."""
    unreduced = spec.unreduced & axes
    return PartitionSpec(
        *(tuple(a for a in partition_axes(p) if a in axes) for p in spec.partitions),
        unreduced=unreduced,
        reduced=spec.reduced & axes,
        unreduced_kind=spec.unreduced_kind if unreduced else None,
    )


def part_shape(mesh: Any, spec: PartitionSpec, shape: Sequence[int]) -> tuple[int, ...]:
    """Return the shape of one device's part."""
    sizes = mesh.shape
    entries = spec.padded(len(shape)).partitions
    return tuple(
        n // math.prod(sizes[a] for a in partition_axes(p))
        for n, p in zip(shape, entries, strict=True)
    )


@functools.lru_cache(maxsize=4096)
def part_type(mesh: Any, axes: Axes, spec: PartitionSpec, aval: Any, check: bool) -> Any:
    """Return the type inside of a value of type `aval` outside.

    Args:
      mesh: the abstract mesh inside.
      axes: the mapped axes.
      spec: the argument's entry of in_specs; names mapped axes only.
      aval: its type outside.
      check: whether the type inside says along which axes the value varies.
    """
    if is_hi_type(aval):
        return aval.shard(mesh, axes, check, spec)
    if is_ref_type(aval):
        return aval.update(inner_aval=part_type(mesh, axes, spec, aval.inner_aval, check))
    if not isinstance(aval, ShapedArray):
        return aval
    own = spec_of(aval)
    outside = restricted(own, frozenset(mesh.explicit_axes) | frozenset(mesh.manual_axes) - axes)
    unreduced = outside.unreduced | spec.unreduced
    inside = PartitionSpec(
        *outside.padded(aval.ndim).partitions,
        unreduced=unreduced,
        reduced=outside.reduced | spec.reduced,
        unreduced_kind=(outside.unreduced_kind or spec.unreduced_kind) if unreduced else None,
    )
    varying = aval.manual_axes | (spec_axes(spec) if check else frozenset())
    return aval.update(
        shape=part_shape(mesh, spec, aval.shape),
        sharding=type_sharding(mesh, inside, aval.ndim),
        manual_axes=varying,
    )


@functools.lru_cache(maxsize=4096)
def whole_type(mesh: Any, axes: Axes, spec: PartitionSpec, aval: Any) -> Any:
    """Return the type outside of a result of type `aval` inside.

    Args:
      mesh: the abstract mesh outside.
      axes: the mapped axes.
      spec: the result's entry of out_specs.
      aval: its type inside.
    """
    if is_hi_type(aval):
        return aval.unshard(mesh, True, spec)
    if not isinstance(aval, ShapedArray):
        return aval
    sizes = mesh.shape
    entries = spec.padded(aval.ndim).partitions
    own = restricted(spec_of(aval), frozenset(mesh.axis_names) - axes).padded(aval.ndim)
    shape, merged = [], []
    for n, mapped, rest in zip(aval.shape, entries, own.partitions, strict=True):
        shape.append(n * math.prod(sizes[a] for a in partition_axes(mapped)))
        merged.append((*partition_axes(mapped), *partition_axes(rest)))
    unreduced = own.unreduced | spec.unreduced
    outside = PartitionSpec(
        *merged,
        unreduced=unreduced,
        reduced=own.reduced | spec.reduced,
        unreduced_kind=(own.unreduced_kind or spec.unreduced_kind) if unreduced else None,
    )
    return aval.update(
        shape=tuple(shape),
        sharding=type_sharding(mesh, outside, aval.ndim),
        manual_axes=aval.manual_axes - axes,
    )


def residual_spec(mesh: Any, axes: Axes, aval: Any, check: bool) -> Any:
    """Return the spec that hands a value of type `aval` out of a mapped function and into another.

    Parts are lined up along the leading dimension, over the axes along which they vary.
    """
    if is_hi_type(aval):
        return aval.nospec(mesh, check, axes)
    own = restricted(spec_of(aval), axes)
    varying = aval.manual_axes & axes if check else axes - own.unreduced - own.reduced
    leading = tuple(a for a in mesh.axis_names if a in varying)
    return PartitionSpec(
        *([leading] if leading else []),
        unreduced=own.unreduced,
        reduced=own.reduced,
        unreduced_kind=own.unreduced_kind,
    )


register_cache(part_type.cache_clear)
register_cache(whole_type.cache_clear)
