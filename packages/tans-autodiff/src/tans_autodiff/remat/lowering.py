"""Lowering of checkpointing: the body in place, fenced where values are computed anew."""

from typing import Any, Final

from tans_autodiff.remat import name_p, phase_p, remat_p
from tans_xla import hlo


def _remat_lower(
    ctx: Any, *operands: Any, jaxpr: Any, prevent_cse: bool, differentiated: bool, **_: Any
) -> Any:
    if differentiated and prevent_cse and operands:
        # Without the barrier the compiler would find the forward pass's values equal, and keep
        # them after all.
        types = [x.type for x in operands]
        operands = tuple(hlo.op("stablehlo.optimization_barrier", types, operands).results)
    return ctx.inline(jaxpr, *operands)


def _name_lower(ctx: Any, operand: Any, *, name: str) -> Any:
    return operand


def _phase_lower(ctx: Any, operand: Any, again: Any) -> Any:
    return operand


LOWERING: Final = {remat_p: _remat_lower, name_p: _name_lower, phase_p: _phase_lower}
