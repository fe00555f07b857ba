"""Result types of named operations: those of the decomposition."""

from typing import Any, Final

from tans_core import ClosedJaxpr, Primitive
from tans_core.rules import Typed
from tans_lax.composites import composite_p
from tans_lax.composites.platforms import platform_index_p, platform_index_type


def _composite_type(*avals: Any, call_jaxpr: ClosedJaxpr, **_: Any) -> Typed:
    del avals
    return Typed(call_jaxpr.out_avals, call_jaxpr.effects)


TYPES: Final[dict[Primitive, Any]] = {
    composite_p: _composite_type,
    platform_index_p: platform_index_type,
}
