"""The argument `out_sharding` of functions whose operations have no such parameter."""

from collections.abc import Callable
from typing import Any

from tans_core import typeof
from tans_core.partition_spec import PartitionSpec
from tans_core.sharding import NamedSharding
from tans_lax.mesh import reshard_array

type Array = Any
type Sharding = PartitionSpec | NamedSharding


def placed(function: Callable[..., Array], operands: list[Any], out_sharding: Sharding) -> Array:
    """Call a function of arrays and give its result the sharding that was asked for.

    The operands are used whole, so that their shardings put no condition on that of the result.

    Args:
      function: takes the operands.
      operands: arrays of any shape; None is passed as it is.
      out_sharding: spec over the mesh in context, or `NamedSharding`.
    """
    return reshard_array(function(*map(_whole, operands)), out_sharding)


def _whole(x: Any) -> Any:
    aval = None if x is None else typeof(x)
    if not getattr(aval, "is_sharded", False):
        return x
    return reshard_array(x, NamedSharding(aval.sharding.mesh, PartitionSpec()))
