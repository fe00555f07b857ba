"""Lowering of callbacks: a custom call that refers to a Python callable by index."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from tans_core.primitive import Primitive
from tans_xla import hlo
from tans_xla._jaxlib import ir, sdy
from tans_xla.callbacks import debug_callback_p, effects, io_callback_p, pure_callback_p
from tans_xla.callbacks.host import HostCallback
from tans_xla.lowering import ByPlatform
from tans_xla.partition_index import is_first_along

_MAXIMAL: Final = "#sdy.sharding_per_value<[{}]>"
_MAXIMAL_VALUE: Final = "<mesh<[], device_ids=[{}]>, []>"


def _emit(
    ctx: Any,
    target: str,
    operands: Sequence[Any],
    callback: Callable[..., Any],
    *,
    effect: Any = None,
    has_side_effect: bool = True,
    sharding: Any = None,
    partitioned: bool = False,
) -> list[Any]:
    """Emit the custom call; with an ordered effect its token goes in front."""
    ordered = effect is not None and effect.is_ordered
    builder = ctx.builder
    partitions = _num_partitions(builder)
    _refuse_partly_manual(builder.mesh, ctx)
    index = len(builder.host_callbacks)
    builder.host_callbacks.append(
        HostCallback(callback, ctx.avals_out, ordered, deferred=partitions > 0)
    )
    operands, results = list(operands), list(ctx.result_types)
    if ordered:
        operands.insert(0, ctx.tokens[effect])
        results.insert(0, ctx.tokens[effect].type)
    attributes = {
        "call_target_name": hlo.string(target),
        "api_version": hlo.i32(4),
        "has_side_effect": hlo.boolean(has_side_effect),
        "backend_config": hlo.attribute(f"{{index = {index} : ui64}}"),
        **_layouts(operands, results),
    }
    devices = 0 if partitioned else partitions
    if devices:
        # Gathering first is cheap; from a sharded operand the partitioner would take a detour.
        operands = [_replicate(x, devices) for x in operands]
        value = _MAXIMAL_VALUE.format(0 if sharding is None else sharding._device.id)
        text = _MAXIMAL.format(", ".join([value] * max(1, len(results))))
        attributes["sdy.sharding"] = hlo.attribute(text)
    call = hlo.op("stablehlo.custom_call", results, operands, attributes)
    outs = list(call.results)
    if devices:
        # Otherwise a result would be whole on one device, and rubbish on the others.
        outs = [_replicate(x, devices) for x in outs]
    if ordered:
        ctx.tokens[effect] = outs.pop(0)
    return outs


def _layouts(operands: Sequence[Any], results: Sequence[Any]) -> dict[str, Any]:
    """Row-major layouts, which is what NumPy views of the buffers assume."""
    return {
        "operand_layouts": hlo.array([_row_major(x.type) for x in operands]),
        "result_layouts": hlo.array([_row_major(t) for t in results]),
    }


def _row_major(kind: Any) -> Any:
    rank = kind.rank if isinstance(kind, ir.RankedTensorType) else 0
    order = f"[{', '.join(map(str, reversed(range(rank))))}]" if rank else ""
    return hlo.attribute(f"dense<{order}> : tensor<{rank}xindex>")


def _refuse_partly_manual(mesh: Any, ctx: Any) -> None:
    if mesh is None or not mesh.manual_axes or mesh.are_all_axes_manual:
        return
    raise NotImplementedError(
        f"{ctx.eqn.primitive.name}: given a callback inside of a shard_map over {mesh.manual_axes} "
        f"of {mesh}, expected one over all axes: the compiler can't place the call. Leave "
        "axis_names out, or move the callback out of the mapped function."
    )


def _num_partitions(builder: Any) -> int:
    """Return the number of devices of the program; 0 for a program on one device."""
    attributes = builder.module.operation.attributes
    if "mhlo.num_partitions" not in attributes:
        return 0
    return ir.IntegerAttr(attributes["mhlo.num_partitions"]).value


def _replicate(x: Any, devices: int) -> Any:
    """Ask for a value on all devices; tokens are left alone."""
    if not isinstance(x.type, ir.RankedTensorType):
        return x
    dims = ", ".join(["{}"] * x.type.rank)
    text = f'#sdy.sharding<mesh<["devices"={devices}]>, [{dims}]>'
    return sdy.sharding_constraint(x, hlo.attribute(text))


def _pure_callback(target: str) -> Callable[..., Any]:
    def rule(ctx: Any, *operands: Any, callback: Any, sharding: Any, **_: Any) -> list[Any]:
        return _emit(ctx, target, operands, callback, has_side_effect=False, sharding=sharding)

    return rule


def _io_callback(target: str) -> Callable[..., Any]:
    def rule(
        ctx: Any, *operands: Any, callback: Any, sharding: Any, ordered: bool, **_: Any
    ) -> list[Any]:
        effect = effects.ordered_io_effect if ordered else effects.io_effect
        return _emit(ctx, target, operands, callback, effect=effect, sharding=sharding)

    return rule


def _debug_callback(target: str, partitioned_target: str) -> Callable[..., Any]:
    def rule(
        ctx: Any, *operands: Any, callback: Any, ordered: bool, partitioned: bool
    ) -> list[Any]:
        effect = effects.ordered_debug_effect if ordered else effects.debug_effect
        name = partitioned_target if partitioned else target
        copies = [] if ordered or partitioned else _equal_along(ctx)
        if not copies:
            return _emit(ctx, name, operands, callback, effect=effect, partitioned=partitioned)
        # Devices that hold the same values call once.
        first = is_first_along(ctx.builder.mesh, copies[0])
        for axis in copies[1:]:
            first = hlo.op1(
                "stablehlo.and", first.type, [first, is_first_along(ctx.builder.mesh, axis)]
            )
        chosen = hlo.op("stablehlo.if", [], [first], regions=2)
        with hlo.block(chosen, 0, []):
            _emit(ctx, name, operands, callback, effect=effect)
            hlo.ret([])
        with hlo.block(chosen, 1, []):
            hlo.ret([])
        return []

    return rule


def _equal_along(ctx: Any) -> list[Any]:
    """Return the manual axes along which the types say that the operands do not vary."""
    mesh = ctx.builder.mesh
    if not ctx.builder.varying_known or mesh is None or not mesh.are_all_axes_manual:
        return []
    varying = frozenset[Any]().union(*(getattr(a, "manual_axes", ()) for a in ctx.avals_in))
    return [a for a in mesh.axis_names if a not in varying]


_CPU: Final = "xla_ffi_python_cpu_callback"
_GPU: Final = "xla_ffi_python_gpu_callback"
_CPU_PARTITIONED: Final = "xla_ffi_partitioned_python_cpu_callback"
_GPU_PARTITIONED: Final = "xla_ffi_partitioned_python_gpu_callback"


def _by_platform(cpu: Callable[..., Any], gpu: Callable[..., Any]) -> ByPlatform:
    return ByPlatform(cpu=cpu, cuda=gpu, rocm=gpu)


LOWERING: Final[dict[Primitive, Any]] = {
    pure_callback_p: _by_platform(_pure_callback(_CPU), _pure_callback(_GPU)),
    io_callback_p: _by_platform(_io_callback(_CPU), _io_callback(_GPU)),
    debug_callback_p: _by_platform(
        _debug_callback(_CPU, _CPU_PARTITIONED), _debug_callback(_GPU, _GPU_PARTITIONED)
    ),
}
