"""Type rules: those of the body, and of the operand."""

from typing import Any, Final

from tans_compiler.operation_tags import xla_metadata_call_p, xla_metadata_value_p
from tans_core.rules import Typed


def _call_types(*in_avals: Any, jaxpr: Any, **_: Any) -> Typed:
    del in_avals
    return Typed(jaxpr.out_avals, jaxpr.effects)


def _value_type(x: Any, **_: Any) -> Any:
    return x


TYPES: Final = {
    xla_metadata_call_p: _call_types,
    xla_metadata_value_p: _value_type,
}
