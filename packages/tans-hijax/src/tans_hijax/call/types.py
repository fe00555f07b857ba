"""Types of user primitives: what their instances declare."""

from typing import Any, Final

from tans_core.rules import Typed
from tans_core.types import AbstractValue
from tans_hijax.call import hi_call_p, hi_lin_p


def _call_types(*in_avals: AbstractValue, prim: Any) -> Any:
    return Typed(prim.out_avals_flat, prim.effects) if prim.effects else prim.out_avals_flat


def _lin_types(*in_avals: AbstractValue, prim: Any, nz_out: tuple[bool, ...], **_: Any) -> Any:
    pairs = zip(prim.out_avals_flat, nz_out, strict=True)
    return [a.to_tangent() for a, nz in pairs if nz]


TYPES: Final = {hi_call_p: _call_types, hi_lin_p: _lin_types}
