"""Scan over refs: refs that are written become carries.

A ref that the body closes over is carried whole. Of a ref among the xs each step sees one row: the
whole ref is carried, and a counter says which row to read and write, so that the loop writes in
place.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from tans_core.jaxpr import ClosedJaxpr, eval_closed
from tans_core.primitive import Primitive
from tans_core.staging import trace_to_jaxpr
from tans_core.types import ShapedArray
from tans_lax.control_flow.element_types import stacked_type
from tans_lax.control_flow.memo import BodyMemo
from tans_lax.control_flow.programs import rearranged
from tans_lax.control_flow.scan import scan_p
from tans_lax.elementwise.arithmetic import add
from tans_lax.slicing import dynamic_index_in_dim, dynamic_update_index_in_dim
from tans_xla.discharge import DischargeContext, Updates

type Value = Any

_MEMO: Final[BodyMemo[ClosedJaxpr]] = BodyMemo()


def _scan_discharge(
    ctx: DischargeContext,
    *operands: Value,
    jaxpr: ClosedJaxpr,
    num_consts: int,
    num_carry: int,
    length: int,
    reverse: bool,
    **params: Any,
) -> tuple[list[Value], Updates]:
    body, written = ctx.discharge(jaxpr)
    first_x = num_consts + num_carry
    whole = [i for i in written if i < num_consts]
    rows = [i for i in written if i >= first_x and length]  # without a step, nothing is written
    consts = [i for i in range(num_consts) if i not in whole]
    xs = [i for i in range(first_x, len(operands)) if i not in rows]
    n_outs = len(jaxpr.out_avals)
    # Now: (*consts, *whole, *carry, *rows, *xs) -> (*whole, *carry, *rows, *ys)
    ins = [*consts, *whole, *range(num_consts, first_x), *rows, *xs]
    new = {i: n_outs + k for k, i in enumerate(written)}
    outs = [new[i] for i in whole] + list(range(num_carry)) + [new[i] for i in rows]
    body = rearranged(body, ins, [*outs, *range(num_carry, n_outs)])
    carry = len(whole) + num_carry
    given = [operands[i] for i in ins]
    if rows:
        key = (len(consts), carry, len(rows), length, reverse)
        body = _MEMO.get(body, key, lambda: _with_rows(body, *key))
        given.insert(len(consts), np.int32(length - 1 if reverse else 0))
        carry += 1 + len(rows)
    results = scan_p.bind(
        *given, jaxpr=body, num_consts=len(consts), num_carry=carry,
        length=length, reverse=reverse, **params,
    )  # fmt: skip
    if rows:
        results = results[1:]
    n_whole = len(whole)
    n_state = n_whole + num_carry + len(rows)
    updates = dict(zip(whole, results[:n_whole], strict=True))
    updates |= dict(zip(rows, results[n_whole + num_carry : n_state], strict=True))
    return [*results[n_whole : n_whole + num_carry], *results[n_state:]], updates


def _with_rows(
    body: ClosedJaxpr, num_consts: int, num_carry: int, num_rows: int, length: int, reverse: bool
) -> ClosedJaxpr:
    """Return a body that carries a counter and stacks, of which it gives `body` the rows."""
    first = num_consts + 1 + num_carry
    n_new = num_carry + num_rows

    def step(*args: Value) -> list[Value]:
        consts, i, carry = args[:num_consts], args[num_consts], args[num_consts + 1 : first]
        stacks, xs = args[first : first + num_rows], args[first + num_rows :]
        rows = [dynamic_index_in_dim(s, i, 0, keepdims=False) for s in stacks]
        outs = eval_closed(body, *consts, *carry, *rows, *xs)
        new = [
            dynamic_update_index_in_dim(s, row, i, 0)
            for s, row in zip(stacks, outs[num_carry:n_new], strict=True)
        ]
        following = add(i, np.int32(-1 if reverse else 1))
        return [following, *outs[:num_carry], *new, *outs[n_new:]]

    avals: Sequence[Any] = body.in_avals
    last = num_consts + num_carry
    return trace_to_jaxpr(
        step,
        [
            *avals[:num_consts],
            ShapedArray((), np.int32),
            *avals[num_consts:last],
            *(stacked_type(a, length) for a in avals[last : last + num_rows]),
            *avals[last + num_rows :],
        ],
        body.jaxpr.debug_info,
    )


DISCHARGE: Final[dict[Primitive, Callable[..., Any]]] = {
    scan_p: _scan_discharge,
}
