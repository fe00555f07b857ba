"""Operations that return their operands, on values of user types: on each of their parts."""

from typing import Any, Final

from tans_core.hi_types import lower_value, raise_value
from tans_core.rules import ContextRule
from tans_core.values import typeof
from tans_lax.elementwise.identity import copy_p, optimization_barrier_p, stop_gradient_p


def _by_part(primitive: Any) -> Any:
    def rule(ctx: Any, x: Any) -> Any:
        aval = typeof(x)
        return raise_value(aval, [primitive.bind(part) for part in lower_value(aval, x)])

    return ContextRule(rule)


def _barrier(ctx: Any, *args: Any) -> list[Any]:
    avals = [typeof(x) for x in args]
    return ctx.raised(avals, optimization_barrier_p.bind(*ctx.lowered(avals, args)))


TO_LO: Final = {
    copy_p: _by_part(copy_p),
    stop_gradient_p: _by_part(stop_gradient_p),
    optimization_barrier_p: ContextRule(_barrier),
}
