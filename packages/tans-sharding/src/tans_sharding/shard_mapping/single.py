"""`smap`: shard_map over one axis, with the integers of vmap in place of specs."""

from collections.abc import Callable
from typing import Any

from tans_core import tree
from tans_core.errors import message
from tans_core.partition_spec import PartitionSpec
from tans_sharding.shard_mapping import shard_map
from tans_sharding.shard_mapping.specs import INFER


def smap(
    f: Callable[..., Any] | None = None,
    /,
    *,
    in_axes: Any = INFER,
    out_axes: Any,
    axis_name: Any,
) -> Any:
    """Map a function over one axis of the mesh in context.

    Args:
      f: a function of one device's parts. Without it, the result is a decorator.
      in_axes: dimension of each argument that is split over the axis: an int, None for arguments
        that are whole, or a tuple of them; taken from the arguments' types when left out.
      out_axes: the same for the results.
      axis_name: the mesh axis.

    Returns:
      A function of positional arguments, arrays of any shape.

    Raises:
      TypeError: `in_axes` is a list, or `axis_name` a tuple.
      ValueError: no mesh in context, or sizes that the axis does not divide.
    """
    if isinstance(axis_name, tuple | list):
        raise TypeError(
            message("smap", f"axis_name={axis_name!r}", "one axis name", "Use shard_map for more.")
        )
    if isinstance(in_axes, list):
        raise TypeError(
            message("smap", f"in_axes={in_axes!r}", "an int, None or a tuple", "Use a tuple.")
        )
    in_specs = in_axes if in_axes is INFER else _specs("in_axes", in_axes, axis_name)
    out_specs = _specs("out_axes", out_axes, axis_name)
    return shard_map(f, in_specs=in_specs, out_specs=out_specs, axis_names={axis_name})


def _specs(name: str, axes: Any, axis_name: Any) -> Any:
    def spec(axis: Any) -> PartitionSpec:
        if axis is None:
            return PartitionSpec()
        if not isinstance(axis, int) or isinstance(axis, bool) or axis < 0:
            raise TypeError(
                message(
                    "smap",
                    f"{name}={axes!r} with the entry {axis!r}",
                    "dimensions, 0 or more, and None",
                    "Count dimensions from the front.",
                )
            )
        return PartitionSpec(*(None,) * axis, axis_name)

    return tree.map(spec, axes, is_leaf=lambda x: x is None)
