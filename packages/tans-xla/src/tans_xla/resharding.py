"""From one sharding to another in a compiled program, in steps.

The partitioner of jaxlib 0.12.0 ends the process, or puts blocks in wrong places, when it is asked
for some changes at once.
"""

from typing import Any

import numpy as np

from tans_core.dtypes import is_complex
from tans_core.explicit_mode import spec_of
from tans_core.mesh import AxisType
from tans_core.partition_spec import PartitionSpec, partition_axes
from tans_core.sharding import named_sharding
from tans_core.types import ShapedArray
from tans_xla import hlo
from tans_xla.partition_index import is_first_along
from tans_xla.sdy_attributes import constrain, manual_computation

type IrValue = Any


def resharded(mesh: Any, x: IrValue, own: Any, target: PartitionSpec) -> IrValue:
    """Emit the change of a value's sharding.

    Args:
      mesh: the mesh that the program is built for.
      x: the value.
      own: its type.
      target: the spec of the result.
    """
    is_open = AxisType.Auto in mesh.axis_types
    source = spec_of(own)
    if source != target and not is_open:
        # The partitioner names a collective after its operand: so it gets the name of this line.
        x = constrain(x, named_sharding(mesh, source), is_open)
    if is_complex(own.dtype) and target.unreduced - source.unreduced:
        x, source = _complex_addends(mesh, x, source, target, own)
    for spec in _steps(source, target):
        x = constrain(x, named_sharding(mesh, spec), is_open)
    return x


def _complex_addends(
    mesh: Any, x: IrValue, source: PartitionSpec, target: PartitionSpec, aval: Any
) -> tuple[IrValue, PartitionSpec]:
    """Make a complex value unreduced: the first devices keep it, the others get zeros.

    XLA (jaxlib 0.12.0) dies when it is asked to.

    Returns:
      The value, and its spec.
    """
    new = target.unreduced - source.unreduced
    rest = tuple(tuple(a for a in partition_axes(p) if a not in new) for p in source.partitions)
    whole = source.update(partitions=rest, reduced=source.reduced - new)
    split = whole.update(unreduced=whole.unreduced | new)
    x = constrain(x, named_sharding(mesh, whole))
    ins, outs = named_sharding(mesh, whole), named_sharding(mesh, split)
    free = [a for a in mesh.axis_names if a not in mesh.manual_axes]
    shape = ins.shard_shape(aval.shape)
    region = manual_computation([x.type], [x], [ins], [outs], free, mesh)
    with region.block([hlo.tensor_type(shape, aval.dtype)]) as (own,):
        part = own
        zero = hlo.zeros(ShapedArray(shape, aval.dtype))
        for axis in sorted(new, key=str):
            part = hlo.select(_is_first(mesh, axis, shape), part, zero)
        region.ret([part])
    return constrain(region.results[0], outs), split


def _is_first(mesh: Any, axis: Any, shape: tuple[int, ...]) -> IrValue:
    return hlo.broadcast_in_dim(is_first_along(mesh, axis), ShapedArray(shape, np.bool_), ())


def _steps(source: PartitionSpec, target: PartitionSpec) -> list[PartitionSpec]:
    """Return specs to pass through on the way.

    When two axes of one dimension become unreduced at once, XLA (jaxlib 0.12.0) puts the blocks in
    wrong places. One axis at a time, from the minor one, is right, and as free.
    """
    steps = []
    for d, partition in enumerate(source.partitions):
        moving = [a for a in partition_axes(partition) if a in target.unreduced]
        for axis in reversed(moving[1:]):
            rest = tuple(a for a in partition_axes(source.partitions[d]) if a != axis)
            partitions = (*source.partitions[:d], rest, *source.partitions[d + 1 :])
            source = source.update(partitions=partitions, unreduced=source.unreduced | {axis})
            steps.append(source)
    if source.unreduced & target.unreduced and _moves_apart(source, target):
        kept = [
            a if a == b else None for a, b in zip(source.partitions, target.partitions, strict=True)
        ]
        steps.append(source.update(partitions=tuple(kept)))
    return steps


def _moves_apart(source: PartitionSpec, target: PartitionSpec) -> bool:
    """Whether a change of the sharded dimensions is more than one exchange of single axes.

    The partitioner would replicate and cut again then, which loses what is unreduced.
    """
    if source.partitions == target.partitions:
        return False
    sets = [{a for p in s.partitions for a in partition_axes(p)} for s in (source, target)]
    single = all(len(partition_axes(p)) < 2 for s in (source, target) for p in s.partitions)
    gathers_only = sets[1] < sets[0]
    return not gathers_only and not (single and (sets[0] == sets[1] or not sets[0]))
