"""Custom calls on refs: their bodies in place, since nothing is differentiated any more."""

from typing import Any, Final

from tans_autodiff.custom import custom_jvp_call_p, custom_vjp_call_p
from tans_xla.discharge import inline_rule

DISCHARGE: Final[dict[Any, Any]] = {
    custom_jvp_call_p: inline_rule("call_jaxpr"),
    custom_vjp_call_p: inline_rule("call_jaxpr"),
}
