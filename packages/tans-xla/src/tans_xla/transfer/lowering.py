"""Lowering of device_put: constraints on sharding and memory; one program is one place."""

from collections.abc import Callable
from typing import Any, Final

from tans_core.explicit_mode import spec_of
from tans_core.primitive import Primitive
from tans_core.sharding import NamedSharding
from tans_xla import hlo, sdy_attributes
from tans_xla._jaxlib import ir, sdy
from tans_xla.memory import KIND_OF_HOST, MemorySpace
from tans_xla.resharding import resharded
from tans_xla.transfer import device_put_p


def _device_put(ctx: Any, *operands: Any, devices: tuple[Any, ...], **_: Any) -> list[Any]:
    results = []
    mesh = ctx.builder.mesh
    avals = zip(ctx.avals_in, ctx.avals_out, strict=True)
    for x, device, (own, aval) in zip(operands, devices, avals, strict=True):
        if isinstance(device, NamedSharding) and device.mesh.size > 1:
            if mesh is not None and aval.is_sharded:
                results.append(resharded(mesh, x, own, spec_of(aval)))
                continue
            sharding = sdy_attributes.tensor_sharding(device, aval.ndim)
            results.append(sdy.sharding_constraint(x, sharding))
        elif isinstance(device, MemorySpace) and ctx.platforms != ("cpu",):
            results.append(_placed(x, device))
        else:
            results.append(x)
    return results


def _placed(x: Any, space: MemorySpace) -> Any:
    """Tell the compiler which memory a value is kept in; a CPU has one only."""
    kind = KIND_OF_HOST if space is MemorySpace.Host else "device"
    attributes = {
        "call_target_name": hlo.string("annotate_device_placement"),
        "has_side_effect": ir.BoolAttr.get(True),
        "mhlo.frontend_attributes": hlo.dictionary({"_xla_buffer_placement": hlo.string(kind)}),
    }
    return hlo.op1("stablehlo.custom_call", x.type, [x], attributes)


LOWERING: Final[dict[Primitive, Callable[..., Any]]] = {device_put_p: _device_put}
