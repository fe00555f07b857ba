"""Derivatives of foreign calls: there are none."""

from collections.abc import Sequence
from typing import Any, Final, NoReturn

from tans_core.errors import message
from tans_core.values import typeof
from tans_core.zeros import Zero, zero_tangent
from tans_lax.foreign_calls import ffi_call_p


def _ffi_call_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
    if all(type(t) is Zero for t in tangents):
        outs = ffi_call_p.bind(*primals, **params)
        return outs, [zero_tangent(typeof(x)) for x in outs]
    _refuse(**params)


def _refuse(*_: Any, target_name: str, **__: Any) -> NoReturn:
    raise ValueError(
        message(
            f"ffi_call of {target_name!r}",
            "differentiation of the call",
            "a function around it that has a derivative: foreign code has none of its own",
            "Wrap it in a HiPrim with vjp_fwd and vjp_bwd_retval, or in a custom_vjp.",
        )
    )


JVP: Final = {ffi_call_p: _ffi_call_jvp}
TRANSPOSE: Final = {ffi_call_p: _refuse}
