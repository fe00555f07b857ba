"""Operations without a sharding rule whose result's sharding is asked for.

They run on Auto axes, where the compiler finds how to compute the result where it is wanted.
"""

import functools
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from tans_core import is_evaluating, trace_to_jaxpr, typeof
from tans_core.cache import register_cache
from tans_core.config import abstract_mesh
from tans_core.errors import ShardingTypeError
from tans_core.explicit_mode import spec_of
from tans_core.jaxpr import eval_closed
from tans_core.mesh import AxisType
from tans_core.partition_spec import PartitionSpec
from tans_core.sharding import NamedSharding
from tans_lax.axis_types import call
from tans_lax.mesh import reshard_array, whole
from tans_lax.mesh.specs import as_named, check_axes, mesh_of
from tans_xla import jit

type Value = Any
type Spec = PartitionSpec | NamedSharding


def with_out_sharding(
    fun: Callable[..., Value], args: Sequence[Value], static: Hashable, out_sharding: Spec
) -> Value:
    """Compute an array where it is wanted.

    Args:
      fun: ``fun(static, *args)`` returns one array; a function of a module, since compiled programs
        are kept by it.
      args: arrays and Python scalars.
      static: what else the function needs.
      out_sharding: sharding of the result.

    Raises:
      ValueError: a spec without a mesh, one that does not fit, or one that names Auto axes.
    """
    mesh = mesh_of(*map(typeof, args))
    if mesh is None or AxisType.Explicit not in mesh.axis_types or mesh.manual_axes:
        return reshard_array(fun(static, *map(whole, args)), out_sharding)
    args = [whole(x) if spec_of(typeof(x)).unreduced else x for x in args]
    return _placed(fun, args, static, out_sharding)


def _placed(
    fun: Callable[..., Value], args: Sequence[Value], static: Hashable, out_sharding: Spec
) -> Value:
    if is_evaluating() and abstract_mesh.value is not None:
        return _compiled(fun, static, out_sharding)(*args)
    return _switched(fun, args, static, out_sharding)


def _switched(
    fun: Callable[..., Value], args: Sequence[Value], static: Hashable, out_sharding: Spec
) -> Value:
    if (found := _where_it_lies(fun, args, static, out_sharding)) is not None:
        return found
    outer = mesh_of(*map(typeof, args))
    types = dict.fromkeys(outer.explicit_axes, AxisType.Auto)

    def outside(avals: Sequence[Any]) -> list[NamedSharding]:
        target = as_named(out_sharding, avals[0], "out_sharding")
        check_axes(target, "out_sharding")
        target.shard_shape(avals[0].shape)
        return [target]

    meshes = outer, outer.update_axis_types(types)
    return call(lambda *xs: [fun(static, *xs)], args, meshes, [None] * len(args), outside)[0]


def _where_it_lies(
    fun: Callable[..., Value], args: Sequence[Value], static: Hashable, out_sharding: Spec
) -> Value:
    """Compute from reduced arrays on Explicit axes, if the result lies there as asked, else None.

    Then cotangents are unreduced where the arrays are reduced, without a sum over devices.
    """
    avals = [typeof(x) for x in args]
    if not any(spec_of(a).reduced for a in avals):
        return None
    try:
        closed = trace_to_jaxpr(lambda *xs: [fun(static, *xs)], avals)
    except ShardingTypeError:
        return None
    (aval,) = closed.out_avals
    target = as_named(out_sharding, aval, "out_sharding")
    if spec_of(aval) != target.spec.padded(aval.ndim):
        return None
    return eval_closed(closed, *args)[0]


@functools.lru_cache(maxsize=1024)
def _compiled(fun: Callable[..., Value], static: Hashable, out_sharding: Spec) -> Any:
    def run(*args: Value) -> Value:
        return _switched(fun, args, static, out_sharding)

    return jit(run)


register_cache(_compiled.cache_clear)
