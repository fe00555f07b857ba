"""Which values a checkpointed call saves, and the program that computes the others anew."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tans_autodiff.body_memo import memoised_on_body
from tans_autodiff.linearize import linearize_jaxpr
from tans_autodiff.remat import ALWAYS_SAVED, name_p, phase_p
from tans_core.context import Mask
from tans_core.dce import dce_jaxpr
from tans_core.jaxpr import ClosedJaxpr, Jaxpr, Literal, Var, eval_closed
from tans_core.staging import trace_to_jaxpr
from tans_lax.control_flow.programs import without_effects

type Policy = Callable[..., Any]
type Value = Any


class Recomputation(NamedTuple):
    """How a checkpointed call is linearised.

    Attributes:
      forward: ``(*ins) -> (*outs, *saved)``.
      body: the used ones of ``(*saved, *ins, *nonzero_tangents)`` to the nonzero out tangents.
      used: which of those inputs `body` has.
      nonzero_out: which outputs have a tangent.
    """

    forward: ClosedJaxpr
    body: ClosedJaxpr
    used: tuple[bool, ...]
    nonzero_out: Mask


@memoised_on_body
def recomputation(jaxpr: ClosedJaxpr, nonzero: Mask, policy: Policy | None) -> Recomputation:
    """Plan the linearisation of a checkpointed body.

    Args:
      jaxpr: the body.
      nonzero: which inputs have a tangent.
      policy: says of an equation whether its results are saved; None saves nothing.
    """
    body = jaxpr if policy is None else _with_calls_inlined(jaxpr)
    parts = linearize_jaxpr(body, nonzero)
    count = len(body.out_avals)
    primal = parts.primal
    saved = _saved_variables(primal.jaxpr, policy)
    again = _reading_saved(_with_outputs(_in_phase(primal, 1), primal.jaxpr.outvars[count:]), saved)
    again = without_effects(again)
    again, kept = dce_jaxpr(
        again, [True] * len(again.out_avals), [False] * len(saved) + [True] * len(body.in_avals)
    )
    saved = [v for v, k in zip(saved, kept, strict=False) if k]
    lead, n_ins = len(saved), len(body.in_avals)

    def push(*args: Value) -> list[Value]:
        ins, tangents = args[lead : lead + n_ins], args[lead + n_ins :]
        computed = iter(eval_closed(again, *args[: lead + n_ins]))
        values = [next(computed) if i is None else ins[i] for i in parts.forwards]
        return eval_closed(parts.linear, *values, *tangents)

    tangent_avals = [a.to_tangent() for a, nz in zip(body.in_avals, nonzero, strict=True) if nz]
    avals = [*(v.aval for v in saved), *body.in_avals, *tangent_avals]
    whole = trace_to_jaxpr(push, avals, jaxpr.jaxpr.debug_info)
    whole, used = dce_jaxpr(whole, [True] * len(whole.out_avals))
    forward = _with_outputs(_in_phase(primal, 0), [*primal.jaxpr.outvars[:count], *saved])
    forward, _ = dce_jaxpr(forward, [True] * len(forward.out_avals), True)
    return Recomputation(forward, whole, tuple(used), parts.nonzero_out)


def _saved_variables(jaxpr: Jaxpr, policy: Policy | None) -> list[Var]:
    saved: list[Var] = []
    for eqn in jaxpr.eqns:
        if eqn.primitive is name_p and eqn.params["name"] == ALWAYS_SAVED:
            saved += eqn.outvars
        elif policy is not None:
            decision = policy(eqn.primitive, *(v.aval for v in eqn.invars), **eqn.params)
            if is_saveable(decision):
                saved += eqn.outvars
    return saved


def _in_phase(closed: ClosedJaxpr, phase: int) -> ClosedJaxpr:
    """Let the results of `phase_p` be their first or their second operand."""
    j = closed.jaxpr
    if not any(eqn.primitive is phase_p for eqn in j.eqns):
        return closed
    eqns = [
        eqn.replace(primitive=name_p, params={"name": "phase"}, invars=[eqn.invars[phase]])
        if eqn.primitive is phase_p
        else eqn
        for eqn in j.eqns
    ]
    new = Jaxpr(j.constvars, j.invars, j.outvars, eqns, j.effects, j.debug_info)
    return ClosedJaxpr(new, closed.consts)


def is_saveable(decision: Any) -> bool:
    """Whether a policy's answer means "save".

    Raises:
      NotImplementedError: the answer asks for another memory.
    """
    if isinstance(decision, bool):
        return decision
    if hasattr(decision, "dst"):
        raise NotImplementedError(
            f"checkpoint policy: given {decision!r}, expected Saveable, Recompute or a bool: "
            "offloading residuals to another memory is not available. Use save_only_these_names."
        )
    return type(decision).__name__ == "Saveable"


def _with_outputs(closed: ClosedJaxpr, outvars: Sequence[Any]) -> ClosedJaxpr:
    j = closed.jaxpr
    new = Jaxpr(j.constvars, j.invars, outvars, j.eqns, j.effects, j.debug_info)
    return ClosedJaxpr(new, closed.consts)


def _reading_saved(closed: ClosedJaxpr, saved: Sequence[Var]) -> ClosedJaxpr:
    """Make variables leading inputs instead of computing them."""
    j = closed.jaxpr
    given = set(saved)
    renamed: dict[Var, Var] = {}
    eqns = []
    for eqn in j.eqns:
        if eqn.outvars and all(v in given for v in eqn.outvars):
            continue
        # An equation that is kept for some results must not define the saved ones again.
        outvars = [renamed.setdefault(v, Var(v.aval)) if v in given else v for v in eqn.outvars]
        eqns.append(eqn if outvars == eqn.outvars else eqn.replace(outvars=outvars))
    new = Jaxpr(j.constvars, [*saved, *j.invars], j.outvars, eqns, None, j.debug_info)
    return ClosedJaxpr(new, closed.consts)


def _with_calls_inlined(closed: ClosedJaxpr) -> ClosedJaxpr:
    """Open nested jit calls, so that a policy sees the operations inside."""
    if not any(eqn.primitive.name == "jit" for eqn in closed.eqns):
        return closed

    def run(*args: Value) -> list[Value]:
        return _run_inlined(closed, args)

    return trace_to_jaxpr(run, closed.in_avals, closed.jaxpr.debug_info)


def _run_inlined(closed: ClosedJaxpr, args: Sequence[Value]) -> list[Value]:
    j = closed.jaxpr
    env: dict[Any, Value] = dict(zip(j.constvars, closed.consts, strict=True))
    env.update(zip(j.invars, args, strict=True))
    for eqn in j.eqns:
        values = [v.val if type(v) is Literal else env[v] for v in eqn.invars]
        if eqn.primitive.name == "jit":
            outs = _run_inlined(eqn.params["jaxpr"], values)
        else:
            found = eqn.primitive.bind(*values, **eqn.params)
            outs = found if eqn.primitive.multiple_results else [found]
        env.update(zip(eqn.outvars, outs, strict=True))
    return [v.val if type(v) is Literal else env[v] for v in j.outvars]
