"""Types of foreign calls: the announced ones, with an effect where the call must stay."""

from typing import Any, Final

from tans_core import effects
from tans_core.effects import Effect
from tans_core.rules import Typed
from tans_lax.foreign_calls import ffi_call_p


class FfiEffect(Effect):
    """A foreign function that does something besides computing its results."""

    def __str__(self) -> str:
        return "FFI"

    __repr__ = __str__


ffi_effect: Final = FfiEffect()
for _set in (effects.lowerable_effects, effects.control_flow_allowed_effects):
    _set.add_type(FfiEffect)


def _ffi_call_types(*_: Any, result_avals: Any, has_side_effect: bool, **__: Any) -> Any:
    return Typed(result_avals, frozenset((ffi_effect,))) if has_side_effect else result_avals


TYPES: Final = {ffi_call_p: _ffi_call_types}
