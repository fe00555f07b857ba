"""`dce_sink` of a computed value does nothing."""

from typing import Any, Final

from tans_core import Primitive
from tans_lax.sinks import dce_sink_p


def _sink(x: Any, **params: Any) -> list[Any]:
    del x, params
    return []


EVALUATION: Final[dict[Primitive, Any]] = {
    dce_sink_p: _sink,
}
