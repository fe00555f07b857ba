"""Type rules of custom calls: those of their bodies."""

from typing import Any, Final

from tans_autodiff.custom import custom_jvp_call_p, custom_lin_p, custom_vjp_call_p, remat_opt_p
from tans_core.rules import Typed


def _call_types(*in_avals: Any, call_jaxpr: Any, **_: Any) -> Typed:
    return Typed(call_jaxpr.out_avals, call_jaxpr.effects)


def _lin_types(*in_avals: Any, out_avals: Any, **_: Any) -> Any:
    return out_avals


def _opt_types(*in_avals: Any, jaxpr: Any, **_: Any) -> Typed:
    return Typed(jaxpr.out_avals, jaxpr.effects)


TYPES: Final = {
    custom_jvp_call_p: _call_types,
    custom_vjp_call_p: _call_types,
    custom_lin_p: _lin_types,
    remat_opt_p: _opt_types,
}
