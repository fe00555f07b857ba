"""Which values a checkpointed call saves, and the program that computes the others anew."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tans_autodiff.body_memo import memoised_on_body
from tans_autodiff.decisions import Offloadable, Recompute, Saveable
from tans_autodiff.linearize import linearize_jaxpr
from tans_autodiff.remat import ALWAYS_SAVED, name_p, phase_p
from tans_core.context import Mask
from tans_core.dce import dce_jaxpr
from tans_core.errors import message
from tans_core.jaxpr import ClosedJaxpr, Jaxpr, Literal, Var, eval_closed
from tans_core.refs import is_ref_type
from tans_core.staging import lift_tracer_consts, trace_to_jaxpr
from tans_lax.control_flow.programs import without_effects
from tans_xla import device_put
from tans_xla.memory import MemorySpace

type Policy = Callable[..., Any]
type Value = Any


class Recomputation(NamedTuple):
    """How a checkpointed call is linearised.

    Attributes:
      forward: ``(*ins) -> (*outs, *saved)``.
      body: ``(*captured, *used)``, where used are some of ``(*saved, *ins, *nonzero_tangents)``,
        to the nonzero out tangents.
      used: which those are.
      nonzero_out: which outputs have a tangent.
      captured: values of an enclosing trace that custom rules inside captured.
    """

    forward: ClosedJaxpr
    body: ClosedJaxpr
    used: tuple[bool, ...]
    nonzero_out: Mask
    captured: list[Value]


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
    spaces = _saved_variables(primal.jaxpr, policy)
    saved = list(spaces)
    again = _reading_saved(_with_outputs(_in_phase(primal, 1), primal.jaxpr.outvars[count:]), saved)
    again = without_effects(again)
    again, kept = dce_jaxpr(
        again, [True] * len(again.out_avals), [False] * len(saved) + [True] * len(body.in_avals)
    )
    saved = [v for v, k in zip(saved, kept, strict=False) if k]
    away = [spaces[v] for v in saved]
    lead, n_ins = len(saved), len(body.in_avals)

    def push(*args: Value) -> list[Value]:
        values, ins, tangents = args[:lead], args[lead : lead + n_ins], args[lead + n_ins :]
        here = [_put(x, space and space.src) for x, space in zip(values, away, strict=True)]
        computed = iter(eval_closed(again, *here, *ins))
        residuals = [next(computed) if i is None else ins[i] for i in parts.forwards]
        return eval_closed(parts.linear, *residuals, *tangents)

    def primal_part(*ins: Value) -> list[Value]:
        outs = eval_closed(forward, *ins)
        pairs = zip(outs[count:], away, strict=True)
        return [*outs[:count], *(_put(x, space and space.dst) for x, space in pairs)]

    forward = _with_outputs(_in_phase(primal, 0), [*primal.jaxpr.outvars[:count], *saved])
    forward, _ = dce_jaxpr(forward, [True] * len(forward.out_avals), True)
    info = jaxpr.jaxpr.debug_info
    if any(away):
        forward = trace_to_jaxpr(primal_part, body.in_avals, info)
    tangent_avals = [a.to_tangent() for a, nz in zip(body.in_avals, nonzero, strict=True) if nz]
    whole = trace_to_jaxpr(push, [*forward.out_avals[count:], *body.in_avals, *tangent_avals], info)
    whole, used = dce_jaxpr(whole, [True] * len(whole.out_avals))
    whole, used = _without_unread_refs(whole, used)
    whole, captured = lift_tracer_consts(whole)
    return Recomputation(forward, whole, tuple(used), parts.nonzero_out, captured)


def _put(x: Value, space: Any) -> Value:
    return x if space is None else device_put(x, space, may_alias=False)


class _Away(NamedTuple):
    """A value that is kept in another memory than it is computed in."""

    src: MemorySpace
    dst: MemorySpace


def _saved_variables(jaxpr: Jaxpr, policy: Policy | None) -> dict[Var, _Away | None]:
    """Return what is saved, and in which memory."""
    saved: dict[Var, _Away | None] = {}
    outer = _outer_refs(jaxpr)
    for eqn in jaxpr.eqns:
        if not outer.isdisjoint(eqn.invars):
            # What is in the ref later may be something else.
            saved.update(dict.fromkeys(eqn.outvars))
        elif eqn.primitive is name_p and eqn.params["name"] == ALWAYS_SAVED:
            saved.update(dict.fromkeys(eqn.outvars))
        elif policy is not None:
            decision = policy(eqn.primitive, *(v.aval for v in eqn.invars), **eqn.params)
            if isinstance(decision, Offloadable):
                src, dst = MemorySpace.of(decision.src), MemorySpace.of(decision.dst)
                away = None if src is dst else _Away(src, dst)
                saved.update(dict.fromkeys(eqn.outvars, away))
            elif isinstance(decision, Saveable) or decision is True:
                saved.update(dict.fromkeys(eqn.outvars))
            elif not (isinstance(decision, Recompute) or decision is False):
                raise _no_decision(policy, eqn, decision)
    return saved


def _outer_refs(jaxpr: Jaxpr) -> set[Any]:
    return {v for v in (*jaxpr.constvars, *jaxpr.invars) if is_ref_type(v.aval)}


def _without_unread_refs(
    closed: ClosedJaxpr, used: Sequence[bool]
) -> tuple[ClosedJaxpr, list[bool]]:
    """Leave out refs from outside, which the forward pass has read."""
    j = closed.jaxpr
    read = {v for eqn in j.eqns for v in eqn.invars}
    keep = [v in read or not is_ref_type(v.aval) for v in j.invars]
    if all(keep):
        return closed, list(used)
    invars = [v for v, k in zip(j.invars, keep, strict=True) if k]
    new = Jaxpr(j.constvars, invars, j.outvars, j.eqns, None, j.debug_info)
    of_used = iter(keep)
    return ClosedJaxpr(new, closed.consts), [u and next(of_used) for u in used]


def _no_decision(policy: Policy, eqn: Any, decision: Any) -> TypeError:
    return TypeError(
        message(
            f"checkpoint policy {getattr(policy, '__name__', policy)}",
            f"the answer {decision!r} of type {type(decision).__name__} for an operation "
            f"{eqn.primitive.name!r}",
            "a bool, Saveable(), Recompute() or Offloadable(src, dst)",
            "Return False for operations that the policy has no opinion on.",
        )
    )


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


def _with_outputs(closed: ClosedJaxpr, outvars: Sequence[Any]) -> ClosedJaxpr:
    j = closed.jaxpr
    new = Jaxpr(j.constvars, j.invars, outvars, j.eqns, j.effects, j.debug_info)
    return ClosedJaxpr(new, closed.consts)


def _reading_saved(closed: ClosedJaxpr, saved: Sequence[Var]) -> ClosedJaxpr:
    """Make variables leading inputs instead of computing them."""
    j = closed.jaxpr
    given = set(saved)
    renamed: dict[Var, Var] = {}
    outer = _outer_refs(j)
    eqns = []
    for eqn in j.eqns:
        if all(v in given for v in eqn.outvars) and (
            eqn.outvars or not outer.isdisjoint(eqn.invars)
        ):
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
