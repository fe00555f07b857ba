"""While on refs: refs that the body or the condition writes are carried, one value for both."""

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from tans_core.jaxpr import ClosedJaxpr, eval_closed
from tans_core.primitive import Primitive
from tans_core.staging import trace_to_jaxpr
from tans_core.types import AbstractValue, ShapedArray
from tans_lax.control_flow.memo import BodyMemo
from tans_lax.control_flow.programs import rearranged
from tans_lax.control_flow.while_loop import while_p
from tans_xla.discharge import DischargeContext, Discharged, Updates

type Value = Any
type Places = tuple[tuple[bool, int], ...]  # per constant: (whether it is carried, where)

_MEMO: Final[BodyMemo[ClosedJaxpr]] = BodyMemo()


def _while_discharge(
    ctx: DischargeContext,
    *operands: Value,
    cond_jaxpr: ClosedJaxpr,
    body_jaxpr: ClosedJaxpr,
    cond_nconsts: int,
    body_nconsts: int,
) -> tuple[list[Value], Updates]:
    cond, body = ctx.discharge(cond_jaxpr), ctx.discharge(body_jaxpr)
    first = cond_nconsts + body_nconsts
    invars = ctx.eqn.invars
    written = [*cond.written, *(cond_nconsts + i for i in body.written)]
    # The condition and the body may have one ref; it is one value.
    state = list(dict.fromkeys(invars[i] for i in written))
    values = [operands[invars.index(v)] for v in state]
    place = {v: k for k, v in enumerate(state)}
    # Constants of both functions together: those that are carried, and the others.
    kept = [i for i in range(first) if invars[i] not in place]
    where = tuple(
        (True, place[v]) if v in place else (False, kept.index(i))
        for i, v in enumerate(invars[:first])
    )
    consts = [operands[i] for i in kept]
    const_avals = [_value_type(invars[i].aval) for i in kept]
    avals = [*const_avals, *(_value_type(v.aval) for v in state)]
    carry_avals = list(body_jaxpr.out_avals)
    carry = [*values, *operands[first:]]
    n_consts = len(kept)
    cond_places, body_places = where[:cond_nconsts], where[cond_nconsts:]
    step = _stepped(body, body_places, avals, n_consts, carry_avals, is_cond=False)
    test = _stepped(cond, cond_places, avals, n_consts, carry_avals, is_cond=True)
    n_state = len(state)
    if cond.written:
        carry = [*eval_closed(test, *consts, *carry), *operands[first:]]
        step = _MEMO.get(step, (test, n_consts, n_state), lambda: _then_test(step, test, n_consts))
        test = _first_of(step.in_avals[n_consts:])
        outs = _bind(consts, carry, test, 0, step)[1:]
    else:
        outs = _bind(
            consts, carry, rearranged(test, range(len(test.in_avals)), [0]), n_consts, step
        )
    new = dict(zip(state, outs[:n_state], strict=True))
    updates = {i: new[v] for i, v in enumerate(invars[:first]) if v in place}
    return outs[n_state:], updates


def _bind(
    consts: Sequence[Value], carry: Sequence[Value], test: ClosedJaxpr, n_test: int,
    step: ClosedJaxpr,
) -> list[Value]:  # fmt: skip
    return while_p.bind(
        *consts[:n_test], *consts, *carry,
        cond_nconsts=n_test, cond_jaxpr=test, body_nconsts=len(consts), body_jaxpr=step,
    )  # fmt: skip


def _value_type(aval: Any) -> AbstractValue:
    return getattr(aval, "inner_aval", aval)


def _stepped(
    part: Discharged, places: Places, avals: Sequence[AbstractValue], n_consts: int,
    carry: Sequence[AbstractValue], *, is_cond: bool,
) -> ClosedJaxpr:  # fmt: skip
    """Return ``(*consts, *state, *carry) -> (*state, *carry)``, or ``(predicate, *state)``."""
    closed, written = part

    def make() -> ClosedJaxpr:
        def step(*args: Value) -> list[Value]:
            state = list(args[n_consts : len(avals)])
            given = [state[k] if carried else args[k] for carried, k in places]
            outs = eval_closed(closed, *given, *args[len(avals) :])
            count = len(outs) - len(written)
            for i, new in zip(written, outs[count:], strict=True):
                state[places[i][1]] = new
            return [*outs[:count], *state] if is_cond else [*state, *outs[:count]]

        return trace_to_jaxpr(step, [*avals, *carry], closed.jaxpr.debug_info)

    return _MEMO.get(closed, (written, places, tuple(avals), n_consts, tuple(carry), is_cond), make)


def _then_test(step: ClosedJaxpr, test: ClosedJaxpr, n_consts: int) -> ClosedJaxpr:
    """Return ``(*consts, predicate, *state, *carry)`` to the same without constants.

    The condition's writes of the last, false evaluation count too, so the loop carries its result.
    """
    n_state = len(test.out_avals) - 1

    def both(*args: Value) -> list[Value]:
        consts, carry = args[:n_consts], args[n_consts + 1 :]
        outs = eval_closed(step, *consts, *carry)
        return [*eval_closed(test, *consts, *outs), *outs[n_state:]]

    predicate = ShapedArray((), np.bool_)
    avals = [*step.in_avals[:n_consts], predicate, *step.in_avals[n_consts:]]
    return trace_to_jaxpr(both, avals, step.jaxpr.debug_info)


def _first_of(avals: Sequence[AbstractValue]) -> ClosedJaxpr:
    return trace_to_jaxpr(lambda predicate, *rest: [predicate], avals)


DISCHARGE: Final[dict[Primitive, Callable[..., Any]]] = {
    while_p: _while_discharge,
}
