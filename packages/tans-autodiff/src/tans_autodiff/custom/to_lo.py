"""Custom calls in low programs: their bodies; rules are no longer needed there."""

from typing import Any, Final

from tans_autodiff.custom import custom_jvp_call_p, custom_lin_p, custom_vjp_call_p, remat_opt_p
from tans_autodiff.custom.calls import apply_body
from tans_autodiff.custom.derivatives import no_forward_mode
from tans_autodiff.custom.optimized import forward_operands
from tans_core.rules import ContextRule


def _call_to_lo(ctx: Any, *args: Any, call_jaxpr: Any, **_: Any) -> Any:
    return apply_body(call_jaxpr, args)


def _lin_to_lo(ctx: Any, *args: Any, name: str, **_: Any) -> Any:
    raise no_forward_mode(name)


def _opt_to_lo(ctx: Any, *args: Any, jaxpr: Any, num_captured: Any, **_: Any) -> Any:
    return apply_body(jaxpr, forward_operands(args, num_captured))


TO_LO: Final = {
    custom_jvp_call_p: ContextRule(_call_to_lo),
    custom_vjp_call_p: ContextRule(_call_to_lo),
    custom_lin_p: ContextRule(_lin_to_lo),
    remat_opt_p: ContextRule(_opt_to_lo),
}
