"""Cond on refs: every branch returns the new values of all refs that some branch writes."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from tans_core.jaxpr import ClosedJaxpr
from tans_core.primitive import Primitive
from tans_lax.control_flow.cond import cond_p
from tans_lax.control_flow.memo import BodyMemo
from tans_lax.control_flow.programs import with_variables
from tans_xla.discharge import DischargeContext, Discharged, Updates

type Value = Any

_MEMO: Final[BodyMemo[ClosedJaxpr]] = BodyMemo()


def _cond_discharge(
    ctx: DischargeContext,
    index: Value,
    *operands: Value,
    branches: tuple[ClosedJaxpr, ...],
    **params: Any,
) -> tuple[list[Value], Updates]:
    parts = [ctx.discharge(b) for b in branches]
    written = sorted({i for part in parts for i in part.written})
    bodies = tuple(_returning(part, written) for part in parts)
    if not bodies[0].out_avals:
        return [], {}
    outs = cond_p.bind(index, *operands, branches=bodies, **params)
    count = len(outs) - len(written)
    updates = zip((i + 1 for i in written), outs[count:], strict=True)
    return outs[:count], dict(updates)


def _returning(part: Discharged, written: Sequence[int]) -> ClosedJaxpr:
    """Return the branch with new values of the `written` refs, also those that it leaves alone."""
    body, own = part
    if list(own) == list(written):
        return body

    def make() -> ClosedJaxpr:
        jaxpr = body.jaxpr
        count = len(jaxpr.outvars) - len(own)
        new = dict(zip(own, jaxpr.outvars[count:], strict=True))
        finals = [new.get(i, jaxpr.invars[i]) for i in written]
        return with_variables(body, outvars=[*jaxpr.outvars[:count], *finals])

    return _MEMO.get(body, (tuple(own), tuple(written)), make)


DISCHARGE: Final[dict[Primitive, Callable[..., Any]]] = {
    cond_p: _cond_discharge,
}
