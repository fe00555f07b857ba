"""Type of `dce_sink`: no results, and an effect that keeps it."""

from typing import Any, Final

from tans_core import Primitive
from tans_core.rules import Typed
from tans_lax.sinks import dce_sink_p, sink_effect


def _sink_type(x: Any, *, prevent_mlir_dce: bool) -> Typed:
    del x, prevent_mlir_dce
    return Typed((), frozenset((sink_effect,)))


TYPES: Final[dict[Primitive, Any]] = {
    dce_sink_p: _sink_type,
}
