"""Evaluation of custom calls on concrete arrays: the function runs as it is."""

from typing import Any, Final, NoReturn

from tans_autodiff.custom import custom_jvp_call_p, custom_lin_p, custom_vjp_call_p, remat_opt_p
from tans_autodiff.custom.calls import apply_body
from tans_autodiff.custom.derivatives import no_forward_mode
from tans_autodiff.custom.optimized import forward_operands
from tans_core.jaxpr import eval_closed


def _call(*args: Any, call_jaxpr: Any, **_: Any) -> Any:
    return apply_body(call_jaxpr, args)


def _lin(*args: Any, name: str, **_: Any) -> NoReturn:
    raise no_forward_mode(name)


def _opt(*args: Any, jaxpr: Any, num_captured: Any, **_: Any) -> Any:
    return eval_closed(jaxpr, *forward_operands(args, num_captured))


EVALUATION: Final = {
    custom_jvp_call_p: _call,
    custom_vjp_call_p: _call,
    custom_lin_p: _lin,
    remat_opt_p: _opt,
}
