"""Types of scan: carries keep theirs, each step's results get a leading dimension."""

from collections.abc import Callable
from typing import Any, Final

from tans_core.jaxpr import ClosedJaxpr
from tans_core.primitive import Primitive
from tans_core.rules import Typed
from tans_core.types import AbstractValue, same_but_weak
from tans_lax.control_flow.carry import shown
from tans_lax.control_flow.element_types import stacked_type
from tans_lax.control_flow.scan import scan_p


def _scan_type(
    *in_avals: AbstractValue,
    jaxpr: ClosedJaxpr,
    length: int,
    num_consts: int,
    num_carry: int,
    **params: Any,
) -> Any:
    del params
    first_x = num_consts + num_carry
    want = [*jaxpr.in_avals[:first_x]]
    want += [stacked_type(a, length) for a in jaxpr.in_avals[first_x:]]
    _check("operand", in_avals, want)
    carry_out = jaxpr.out_avals[:num_carry]
    _check("carry result", carry_out, jaxpr.in_avals[num_consts:first_x])
    outs = [*carry_out, *(stacked_type(a, length) for a in jaxpr.out_avals[num_carry:])]
    return Typed(outs, jaxpr.effects) if jaxpr.effects else outs


def _check(what: str, given: Any, expected: Any) -> None:
    if len(given) != len(expected):
        raise TypeError(
            f"scan: given {len(given)} values as {what}s, expected {len(expected)}. Bind scan_p "
            "with consts, carries and xs in this order, and num_consts and num_carry to match."
        )
    for i, (a, b) in enumerate(zip(given, expected, strict=True)):
        if not same_but_weak(a, b):
            raise TypeError(
                f"scan: {what} {i} has type {shown(a)}, but the body expects {shown(b)}. "
                "Trace the body with the operands' types."
            )


TYPES: Final[dict[Primitive, Callable[..., Any]]] = {
    scan_p: _scan_type,
}
