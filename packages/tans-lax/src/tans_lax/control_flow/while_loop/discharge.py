"""While on refs: refs that the body or the condition writes are carried, one value for both."""

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from tans_core.jaxpr import ClosedJaxpr, eval_closed
from tans_core.primitive import Primitive
from tans_core.refs import get_p, swap_p
from tans_core.staging import trace_to_jaxpr
from tans_core.types import AbstractValue, ShapedArray
from tans_lax.control_flow.memo import BodyMemo
from tans_lax.control_flow.programs import rearranged
from tans_lax.control_flow.while_loop import while_p
from tans_xla.discharge import DischargeContext, Discharged, Updates, discharged
from tans_xla.ref_checks import identity, is_ref

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
    types = [v.aval for v in invars[:first]]
    loop = pure_loop(cond, body, invars[:first], types, cond_nconsts, body_jaxpr.out_avals)
    consts = [operands[i] for i in loop.kept]
    outs = loop.run(consts, [*(operands[i] for i in loop.state), *operands[first:]])
    n_state = len(loop.state)
    new = {invars[i]: x for i, x in zip(loop.state, outs, strict=False)}
    updates = {i: new[v] for i, v in enumerate(invars[:first]) if v in new}
    return outs[n_state:], updates


class PureLoop(NamedTuple):
    """A loop on the values of the refs that its functions write.

    Attributes:
      kept: numbers of the constants that stay constants.
      state: for each written ref, which is carried, the number of the first constant it is.
      test: ``(*kept, *state, *carry) -> (predicate, *state)``.
      step: ``(*kept, *state, *carry) -> (*state, *carry)``.
      tests_write: whether the condition writes refs.
    """

    kept: list[int]
    state: list[int]
    test: ClosedJaxpr
    step: ClosedJaxpr
    tests_write: bool

    def predicate(self) -> ClosedJaxpr:
        """Return the test without its new state."""
        return rearranged(self.test, range(len(self.test.in_avals)), [0])

    def run(self, consts: Sequence[Value], carry: Sequence[Value]) -> list[Value]:
        """Bind the loop; `carry` and the results start with the state."""
        n_consts, n_state = len(consts), len(self.state)
        if not self.tests_write:
            return _bind(consts, carry, self.predicate(), n_consts, self.step)
        test, step = self.test, self.step
        carry = [*eval_closed(test, *consts, *carry), *carry[n_state:]]
        step = _MEMO.get(step, (test, n_consts, n_state), lambda: _then_test(step, test, n_consts))
        return _bind(consts, carry, _first_of(step.in_avals[n_consts:]), 0, step)[1:]


def pure_loop(
    cond: Discharged,
    body: Discharged,
    keys: Sequence[Any],
    types: Sequence[Any],
    cond_nconsts: int,
    carry: Sequence[AbstractValue],
) -> PureLoop:
    """Return the loop on values of the discharged functions of a loop.

    Args:
      cond: the condition.
      body: the body.
      keys: per constant of both what tells refs apart; both may have one ref, which is one value.
      types: the constants' types.
      cond_nconsts: number of constants of the condition.
      carry: types of the carry.
    """
    written = [*cond.written, *(cond_nconsts + i for i in body.written)]
    state = list({keys[i]: i for i in reversed(written)}.values())[::-1]
    place = {keys[i]: k for k, i in enumerate(state)}
    kept = [i for i, key in enumerate(keys) if key not in place]
    where = tuple(
        (True, place[key]) if key in place else (False, kept.index(i)) for i, key in enumerate(keys)
    )
    avals = [_value_type(types[i]) for i in (*kept, *state)]
    shape = avals, len(kept), list(carry)
    test = _stepped(cond, where[:cond_nconsts], *shape, is_cond=True)
    step = _stepped(body, where[cond_nconsts:], *shape, is_cond=False)
    return PureLoop(kept, state, test, step, bool(cond.written))


def loop_of_values(
    args: Sequence[Value], cond_jaxpr: ClosedJaxpr, body_jaxpr: ClosedJaxpr, cond_nconsts: int
) -> PureLoop:
    """Return the loop on values of a loop with the constants `args`, some of which are refs."""
    keys = [identity(x) if is_ref(x) else (i,) for i, x in enumerate(args)]
    types = [*cond_jaxpr.in_avals[:cond_nconsts], *body_jaxpr.in_avals[: len(args) - cond_nconsts]]
    cond, body = discharged(cond_jaxpr), discharged(body_jaxpr)
    return pure_loop(cond, body, keys, types, cond_nconsts, body_jaxpr.out_avals)


def value_of(x: Value) -> Value:
    """Return what a ref holds; other values as they are."""
    return get_p.bind(x, transforms=()) if is_ref(x) else x


def run_on_values(
    *args: Value, cond_jaxpr: ClosedJaxpr, body_jaxpr: ClosedJaxpr, cond_nconsts: int,
    body_nconsts: int,
) -> list[Value]:  # fmt: skip
    """Run a loop on the values of its refs, which are read before it and written after it."""
    first = cond_nconsts + body_nconsts
    loop = loop_of_values(args[:first], cond_jaxpr, body_jaxpr, cond_nconsts)
    consts = [value_of(args[i]) for i in loop.kept]
    outs = loop.run(consts, [*(value_of(args[i]) for i in loop.state), *args[first:]])
    for i, new in zip(loop.state, outs, strict=False):
        swap_p.bind(args[i], new, transforms=())
    return outs[len(loop.state) :]


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
