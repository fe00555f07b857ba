"""Evaluation of custom calls on concrete arrays: the function runs as it is."""

from typing import Any, Final, NoReturn

from tans_autodiff.custom import custom_jvp_call_p, custom_lin_p, custom_vjp_call_p
from tans_autodiff.custom.calls import apply_body
from tans_autodiff.custom.derivatives import no_forward_mode


def _call(*args: Any, call_jaxpr: Any, **_: Any) -> Any:
    return apply_body(call_jaxpr, args)


def _lin(*args: Any, name: str, **_: Any) -> NoReturn:
    raise no_forward_mode(name)


EVALUATION: Final = {custom_jvp_call_p: _call, custom_vjp_call_p: _call, custom_lin_p: _lin}
