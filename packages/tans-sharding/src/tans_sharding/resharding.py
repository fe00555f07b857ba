"""`reshard`: values with another sharding in their types."""

from typing import Any

from tans_core import ArrayImpl, Tracer, tree
from tans_core.config import concrete_mesh
from tans_core.partition_spec import PartitionSpec
from tans_core.sharding import NamedSharding, named_sharding
from tans_lax.mesh import reshard_array
from tans_xla import device_put

type Value = Any


def reshard(xs: Value, out_shardings: Any) -> Value:
    """Give arrays types with other shardings; values stay.

    In explicit mode this is the one operation that a program writes to communicate.

    Args:
      xs: tree of arrays, any shapes and dtypes; arrays may be unreduced or reduced.
      out_shardings: tree prefix of `PartitionSpec` (under a mesh in context) or `NamedSharding`.
        They name explicit axes only.

    Returns:
      A tree like `xs`.

    Raises:
      ValueError: a spec without a mesh, an axis that is not explicit, a spec longer than the rank,
        or a change of unreduced axes that would have to sum in between.

    Example:
      >>> import numpy as np
      >>> from tans_core import typeof
      >>> from tans_sharding import P, make_mesh
      >>> y = reshard(np.ones(4), NamedSharding(make_mesh((1,), ("x",)), P("x")))
      >>> str(typeof(y))
      'float32[4@x]'
    """
    leaves, treedef = tree.flatten(xs)
    if isinstance(out_shardings, PartitionSpec | NamedSharding):
        targets: list[Any] = [out_shardings] * len(leaves)
    else:
        targets = tree.broadcast_prefix(out_shardings, xs, is_leaf=_is_sharding)
    pairs = zip(leaves, targets, strict=True)
    return tree.unflatten(treedef, [_reshard_leaf(x, s) for x, s in pairs])


def _is_sharding(x: Any) -> bool:
    return isinstance(x, PartitionSpec | NamedSharding)


def _reshard_leaf(x: Value, sharding: Any) -> Value:
    if isinstance(sharding, NamedSharding) and not isinstance(x, Tracer):
        mesh = sharding.mesh
        if mesh._internal_device_list is not None and concrete_mesh.value is None:
            x = _on_mesh(x, mesh)
    return reshard_array(x, sharding)


def _on_mesh(x: Value, mesh: Any) -> Value:
    """Put a value on the devices of a mesh, replicated, unless it is there."""
    if isinstance(x, ArrayImpl) and x._committed:
        own = x._sharding
        if tuple(own._internal_device_list) == tuple(mesh._internal_device_list):
            return x
    return device_put(x, named_sharding(mesh, PartitionSpec()))
