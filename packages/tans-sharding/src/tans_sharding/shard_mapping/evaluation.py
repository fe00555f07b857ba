"""Evaluation of shard_map on concrete arrays: one compiled program per body."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from tans_core import ArrayImpl, ClosedJaxpr
from tans_core.config import concrete_mesh
from tans_core.hi_types import HiPspec
from tans_core.mesh import AxisType, Mesh
from tans_core.refs import RefCell
from tans_core.sharding import NamedSharding, named_sharding
from tans_sharding.shard_mapping.primitive import shard_map_p
from tans_xla import device_put, jit

type Value = Any


def _shard_map_eval(*args: Value, jaxpr: ClosedJaxpr, mesh: Any, **params: Any) -> list[Value]:
    _refuse_refs(args)
    concrete = _with_devices(mesh, args)
    if AxisType.Auto in concrete.axis_types:
        specs = zip(args, params["in_specs"], strict=True)
        args = tuple(
            x if isinstance(s, HiPspec) else _placed(x, named_sharding(concrete, s))
            for x, s in specs
        )
    if jaxpr.runners is None:
        jaxpr.runners = {}
    key = (shard_map_p, concrete, *params.items())
    run = jaxpr.runners.get(key)
    if run is None:
        run = jaxpr.runners.setdefault(key, _runner(jaxpr, concrete, params))
    return run(*args)


def _refuse_refs(args: Sequence[Value]) -> None:
    for x in args:
        if isinstance(x, RefCell):
            raise NotImplementedError(
                f"shard_map: given a {x.aval.str_short(False)} outside of traced code; expected a "
                "call inside of jit, which can split the ref's buffer. Write "
                "jit(shard_map(f, ...))(ref)."
            )


def _placed(x: Value, sharding: NamedSharding) -> Value:
    own = x._sharding if isinstance(x, ArrayImpl) and x._committed else None
    if isinstance(own, NamedSharding) and own.mesh == sharding.mesh:
        return x  # the compiled program moves it
    return device_put(x, sharding)


def _runner(jaxpr: ClosedJaxpr, mesh: Mesh, params: dict[str, Any]) -> Callable[..., Any]:
    def shard_map(*args: Value) -> list[Value]:
        return shard_map_p.bind(*args, jaxpr=jaxpr, mesh=mesh, **params)

    outs: Any = None
    if mesh.are_all_axes_auto:
        outs = [_out_sharding(mesh, s) for s in params["out_specs"]]
    return jit(shard_map, out_shardings=outs)


def _out_sharding(mesh: Mesh, spec: Any) -> Any:
    if isinstance(spec, HiPspec):
        return tuple(named_sharding(mesh, s) for s in spec.to_lo())
    return named_sharding(mesh, spec)


def _with_devices(mesh: Any, args: Sequence[Value]) -> Mesh:
    if isinstance(mesh, Mesh):
        return mesh
    found = concrete_mesh.value
    if found is not None and found.shape_tuple == mesh.shape_tuple:
        return found
    for x in args:
        own = getattr(getattr(x, "sharding", None), "mesh", None)
        if isinstance(own, Mesh) and own.shape_tuple == mesh.shape_tuple:
            return own
    raise ValueError(
        f"shard_map: given the mesh {mesh} without devices and arguments that lie on no such mesh; "
        "expected devices to run on. Pass a Mesh, or arrays with a NamedSharding over one."
    )


EVALUATION: Final = {
    shard_map_p: _shard_map_eval,
}
