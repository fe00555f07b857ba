"""Lowering of custom calls: their bodies in place."""

from typing import Any, Final, NoReturn

from tans_autodiff.custom import custom_jvp_call_p, custom_lin_p, custom_vjp_call_p, remat_opt_p
from tans_autodiff.custom.derivatives import no_forward_mode
from tans_autodiff.custom.optimized import forward_operands


def _call_lower(ctx: Any, *operands: Any, call_jaxpr: Any, **_: Any) -> Any:
    return ctx.inline(call_jaxpr, *operands)


def _lin_lower(ctx: Any, *operands: Any, name: str, **_: Any) -> NoReturn:
    raise no_forward_mode(name)


def _opt_lower(ctx: Any, *operands: Any, jaxpr: Any, num_captured: Any, **_: Any) -> Any:
    return ctx.inline(jaxpr, *forward_operands(operands, num_captured))


LOWERING: Final = {
    custom_jvp_call_p: _call_lower,
    custom_vjp_call_p: _call_lower,
    custom_lin_p: _lin_lower,
    remat_opt_p: _opt_lower,
}
