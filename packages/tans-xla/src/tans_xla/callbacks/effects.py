"""The effects of callbacks: what keeps an equation alive and, if ordered, in program order."""

from typing import Final

from tans_core import effects
from tans_core.effects import Effect


class DebugEffect(Effect):
    """A callback that looks at values, in any order."""

    is_ordered = False

    def __str__(self) -> str:
        return "Debug"

    __repr__ = __str__


class OrderedDebugEffect(DebugEffect):
    """A callback that looks at values in program order."""

    is_ordered = True

    def __str__(self) -> str:
        return "OrderedDebug"

    __repr__ = __str__


class IOEffect(Effect):
    """A callback that changes something outside the program."""

    is_ordered = False

    def __str__(self) -> str:
        return "IO"

    __repr__ = __str__


class OrderedIOEffect(IOEffect):
    """A callback that changes something outside the program, in program order."""

    is_ordered = True

    def __str__(self) -> str:
        return "OrderedIO"

    __repr__ = __str__


debug_effect: Final = DebugEffect()
ordered_debug_effect: Final = OrderedDebugEffect()
io_effect: Final = IOEffect()
ordered_io_effect: Final = OrderedIOEffect()

for _kind in (OrderedDebugEffect, OrderedIOEffect):
    effects.ordered_effects.add_type(_kind)
for _kind in (DebugEffect, IOEffect):
    effects.lowerable_effects.add_type(_kind)
    effects.control_flow_allowed_effects.add_type(_kind)
    effects.custom_derivatives_allowed_effects.add_type(_kind)
for _set in (effects.remat_allowed_effects, effects.partial_eval_kept_effects):
    _set.add_type(DebugEffect)
