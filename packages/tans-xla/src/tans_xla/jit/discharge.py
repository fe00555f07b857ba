"""A nested jit of a program with refs: a call of the pure program."""

from typing import Any, Final

from tans_xla.discharge import DischargeContext, Updates
from tans_xla.jit.derivatives import bind_body
from tans_xla.jit.primitive import jit_p

type Value = Any


def _jit_discharge(
    ctx: DischargeContext, *operands: Value, **params: Any
) -> tuple[list[Value], Updates]:
    pure, written = ctx.discharge(params["jaxpr"])
    ins = params["in_shardings"]
    shardings = [*params["out_shardings"], *(ins[i] for i in written)]
    outs = bind_body(jit_p.bind, pure, operands, params, ins, shardings)
    count = len(pure.out_avals) - len(written)
    return outs[:count], dict(zip(written, outs[count:], strict=True))


DISCHARGE: Final = {jit_p: _jit_discharge}
