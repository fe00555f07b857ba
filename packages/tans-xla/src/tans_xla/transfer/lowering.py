"""Lowering of device_put: a sharding constraint, or nothing, since one program is one place."""

from collections.abc import Callable
from typing import Any, Final

from tans_core.primitive import Primitive
from tans_core.sharding import NamedSharding
from tans_xla import sdy_attributes
from tans_xla._jaxlib import sdy
from tans_xla.transfer import device_put_p


def _device_put(ctx: Any, *operands: Any, devices: tuple[Any, ...], **_: Any) -> list[Any]:
    results = []
    for x, device, aval in zip(operands, devices, ctx.avals_out, strict=True):
        if isinstance(device, NamedSharding) and device.mesh.size > 1:
            sharding = sdy_attributes.tensor_sharding(device, aval.ndim)
            results.append(sdy.sharding_constraint(x, sharding))
        else:
            results.append(x)
    return results


LOWERING: Final[dict[Primitive, Callable[..., Any]]] = {device_put_p: _device_put}
