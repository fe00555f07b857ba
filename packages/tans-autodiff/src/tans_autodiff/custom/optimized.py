"""Forward rules that give way to the function itself where only its output is read.

A custom forward rule may cost more than the function, for the sake of its residuals. Whether they
are read is known once dead code has been removed: then the equation holds one of two programs.
"""

from collections.abc import Sequence
from typing import Any

from tans_autodiff.custom import remat_opt_p
from tans_autodiff.custom.calls import rule_name
from tans_core.dce import dce_jaxpr
from tans_core.jaxpr import ClosedJaxpr, Eqn
from tans_core.staging import lift_tracer_consts, trace_to_jaxpr
from tans_core.values import typeof

type Value = Any


class OptimizedForward:
    """A flat VJP rule whose forward part is one equation; see `custom_vjp.defvjp`."""

    __slots__ = ("_fun", "_rule")

    def __init__(self, rule: Any, fun: Any) -> None:
        self._rule = rule
        self._fun = fun

    def __repr__(self) -> str:
        return rule_name(self._rule)

    def __call__(self, primals: Sequence[Value], nonzero: Sequence[bool]) -> Any:
        """Run the forward rule."""
        count, pull = 0, None

        def forward(*leaves: Value) -> list[Value]:
            nonlocal count, pull
            outs, residuals, pull = self._rule(leaves, nonzero)
            count = len(outs)
            return [*outs, *residuals]

        avals = [typeof(x) for x in primals]
        fwd, fwd_captured = lift_tracer_consts(trace_to_jaxpr(forward, avals))
        fun, fun_captured = lift_tracer_consts(trace_to_jaxpr(self._fun, avals))
        found = remat_opt_p.bind(
            *fwd_captured,
            *fun_captured,
            *primals,
            jaxpr=fwd,
            fun_jaxpr=fun,
            num_captured=(len(fwd_captured), len(fun_captured)),
        )
        return found[:count], found[count:], pull


def forward_places(count: int, num_captured: tuple[int, int]) -> list[int]:
    """Return which of the operands the forward program takes."""
    own, other = num_captured
    return [*range(own), *range(own + other, count)]


def forward_operands(operands: Sequence[Any], num_captured: tuple[int, int]) -> list[Any]:
    """Return the operands that the forward program takes."""
    return [operands[i] for i in forward_places(len(operands), num_captured)]


def remat_opt_dce(used_outputs: Sequence[bool], eqn: Eqn) -> tuple[list[bool], Eqn | None]:
    """Keep the forward program while a residual is read, else the function."""
    params: dict[str, Any] = eqn.params
    fwd: ClosedJaxpr = params["jaxpr"]
    fun: ClosedJaxpr | None = params["fun_jaxpr"]
    own, other = params["num_captured"]
    plain = fun is not None and not any(used_outputs[len(fun.out_avals) :])
    closed, mask = (fun, used_outputs[: len(fun.out_avals)]) if plain else (fwd, used_outputs)
    if not plain and all(used_outputs):
        return [True] * len(eqn.invars), eqn
    closed, used = dce_jaxpr(closed, mask)
    if not closed.out_avals and not closed.effects:
        return [False] * len(eqn.invars), None
    count = other if plain else own
    captured, rest = used[:count], used[count:]
    lead = [False] * own + captured if plain else captured + [False] * other
    used_inputs = [*lead, *rest]
    # What is left of the residuals is kept, so the function can't replace it any more.
    new = {"jaxpr": closed, "fun_jaxpr": None, "num_captured": (sum(captured), 0)}
    return used_inputs, eqn.replace(
        params=new,
        invars=[v for v, u in zip(eqn.invars, used_inputs, strict=True) if u],
        outvars=[v for v, u in zip(eqn.outvars, used_outputs, strict=True) if u],
        effects=closed.effects,
    )
