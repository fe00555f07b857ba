"""StableHLO of `dce_sink`: nothing, or a call that the compiler has to keep."""

from typing import Any, Final

from tans_core import Primitive
from tans_lax.sinks import dce_sink_p
from tans_xla import hlo


def _sink_lower(ctx: Any, x: Any, *, prevent_mlir_dce: bool) -> list[Any]:
    del ctx
    if prevent_mlir_dce:
        attributes = {
            "call_target_name": hlo.string("dce_sink"),
            "has_side_effect": hlo.boolean(True),
            "api_version": hlo.i32(4),
            "backend_config": hlo.ir.DictAttr.get({}),
        }
        hlo.op("stablehlo.custom_call", (), (x,), attributes)
    return []


LOWERING: Final[dict[Primitive, Any]] = {
    dce_sink_p: _sink_lower,
}
