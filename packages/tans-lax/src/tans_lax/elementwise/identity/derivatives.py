"""Derivatives of operations that return their operand."""

from typing import Any, Final

from tans_core import LinearInput, Primitive, Zero, typeof, zero_tangent
from tans_lax.elementwise.identity import copy_p, optimization_barrier_p, stage_p, stop_gradient_p
from tans_lax.rows import Rule, linear_jvp, linear_transpose_of, zero_derivative

type Value = Any  # an array, a Python scalar or a tracer; in tangents also a Zero


def _barrier_jvp(primals: tuple[Value, ...], tangents: tuple[Value, ...]) -> Any:
    outs = optimization_barrier_p.bind(*primals)
    held = iter(optimization_barrier_p.bind(*(t for t in tangents if type(t) is not Zero)))
    zeros = map(zero_tangent, map(typeof, outs))
    return outs, [
        z if type(t) is Zero else next(held) for t, z in zip(tangents, zeros, strict=True)
    ]


def _barrier_transpose(cts: list[Value], *operands: Value) -> list[Value]:
    return [ct if type(x) is LinearInput else None for ct, x in zip(cts, operands, strict=True)]


JVP: Final[dict[Primitive, Rule]] = {
    copy_p: linear_jvp(copy_p),
    stage_p: linear_jvp(stage_p),
    stop_gradient_p: zero_derivative(stop_gradient_p),
    optimization_barrier_p: _barrier_jvp,
}

TRANSPOSE: Final[dict[Primitive, Rule]] = {
    copy_p: linear_transpose_of(lambda ct, x: copy_p.bind(ct)),
    stage_p: linear_transpose_of(lambda ct, x: ct),
    # As a function of its operand it is the identity. It meets linear operands when a rule that
    # is linear in its tangents was traced through code that stops gradients.
    stop_gradient_p: linear_transpose_of(lambda ct, x: ct),
    optimization_barrier_p: _barrier_transpose,
}
