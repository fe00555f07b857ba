"""Derivatives of while: forward only. The tangents join the carry, the condition ignores them.

Linearisation runs the loop once for the values and records a second loop that computes values and
tangents together: the number of steps is not known, so nothing can be saved per step. Refs are
read before both and written after the first.
"""

from collections.abc import Sequence
from typing import Any, Final, NoReturn

from tans_core.context import JVPContext, LinearizeContext, Mask, SplitContext, merge, partition
from tans_core.errors import message
from tans_core.jaxpr import ClosedJaxpr, eval_closed
from tans_core.primitive import Primitive
from tans_core.rules import ContextRule
from tans_core.staging import trace_to_jaxpr
from tans_core.values import typeof
from tans_core.zeros import is_zero, zero_tangent
from tans_lax.control_flow.masks import grow_carry, split_at
from tans_lax.control_flow.memo import BodyMemo
from tans_lax.control_flow.programs import pruned, rearranged, widened, without_effects
from tans_lax.control_flow.reach import reached_carry, through_recorded, through_smooth
from tans_lax.control_flow.while_loop import while_p
from tans_lax.control_flow.while_loop.discharge import run_on_values
from tans_lax.rows import instantiate_zeros
from tans_xla.ref_checks import identity, is_ref

type Value = Any

_MEMO: Final[BodyMemo[ClosedJaxpr]] = BodyMemo()


def _tangent_loop(
    ctx: JVPContext,
    primals: Sequence[Value],
    tangents: Sequence[Value],
    cond_jaxpr: ClosedJaxpr,
    body_jaxpr: ClosedJaxpr,
    cond_nconsts: int,
    body_nconsts: int,
    *,
    repeated: bool,
) -> tuple[list[Value], list[Value], Mask]:
    """Bind the loop over values and tangents.

    Args:
      ctx: gives the JVP of the body.
      primals: operands of the loop.
      tangents: their tangents.
      cond_jaxpr: the condition.
      body_jaxpr: the body.
      cond_nconsts: number of the condition's constants.
      body_nconsts: number of the body's constants.
      repeated: whether the loop's effects have happened already.

    Returns:
      The carry, the tangents that are not zero, and which they are.
    """
    cond_consts, body_consts, init = split_at(primals, cond_nconsts, body_nconsts)
    _, consts_dot, init_dot = split_at(tangents, cond_nconsts, body_nconsts)
    nz_consts = tuple(not is_zero(t) for t in consts_dot)
    if repeated:
        cond_jaxpr, body_jaxpr = without_effects(cond_jaxpr), without_effects(body_jaxpr)

    def jvp_body(carry: Mask) -> tuple[ClosedJaxpr, Mask]:
        return ctx.jvp_jaxpr(body_jaxpr, (*nz_consts, *carry), carry)

    nz_init = [not is_zero(t) for t in init_dot]
    nz = reached_carry(body_jaxpr, nz_consts, nz_init, (), through_smooth)
    nz = grow_carry(nz, lambda carry: jvp_body(carry)[1])
    body, _ = jvp_body(nz)
    consts_dot = [t for t in consts_dot if not is_zero(t)]
    init_dot = [instantiate_zeros(t) for t, z in zip(init_dot, nz, strict=True) if z]
    n_carry = len(init)
    c, k, c_dot, k_dot = split_at(range(len(body.in_avals)), body_nconsts, n_carry, len(consts_dot))
    body = rearranged(body, (*c, *c_dot, *k, *k_dot), range(len(body.out_avals)))
    ignored = body.in_avals[len(body.in_avals) - len(init_dot) :]
    cond = widened(
        cond_jaxpr,
        (*range(len(cond_jaxpr.in_avals)), *(None for _ in ignored)),
        (*cond_jaxpr.in_avals, *ignored),
    )
    outs = while_p.bind(
        *cond_consts, *body_consts, *consts_dot, *init, *init_dot,
        cond_nconsts=cond_nconsts, cond_jaxpr=cond,
        body_nconsts=body_nconsts + len(consts_dot), body_jaxpr=body,
    )  # fmt: skip
    return outs[:n_carry], outs[n_carry:], nz


def _while_jvp(
    ctx: JVPContext, primals: Sequence[Value], tangents: Sequence[Value], **params: Any
) -> tuple[list[Value], list[Value]]:
    outs, outs_dot, nz = _tangent_loop(ctx, primals, tangents, **params, repeated=False)
    return outs, _all_tangents(params["body_jaxpr"], nz, outs_dot)


def _all_tangents(body: ClosedJaxpr, nz: Mask, nonzero: Sequence[Value]) -> list[Value]:
    zeros = [zero_tangent(a) for a, z in zip(body.out_avals, nz, strict=True) if not z]
    return merge(nz, zeros, nonzero)


def _while_linearize(
    ctx: LinearizeContext, primals: Sequence[Value], tangents: Sequence[Value], **params: Any
) -> tuple[list[Value], list[Value]]:
    if any(map(is_ref, primals)):
        return _linearize_on_values(ctx, primals, tangents, params)
    outs = while_p.bind(*primals, **params)
    carry_tangents = tangents[params["cond_nconsts"] :]
    if all(map(is_zero, carry_tangents)):
        return outs, [zero_tangent(a) for a in params["body_jaxpr"].out_avals]
    _, outs_dot, nz = _tangent_loop(ctx, primals, tangents, **params, repeated=True)
    return outs, _all_tangents(params["body_jaxpr"], nz, outs_dot)


def _linearize_on_values(
    ctx: LinearizeContext,
    primals: Sequence[Value],
    tangents: Sequence[Value],
    params: dict[str, Any],
) -> tuple[list[Value], list[Value]]:
    """Linearise the loop on the values of its refs: the second loop would find others in them."""
    first_of: dict[Any, int] = {}
    for i, x in enumerate(primals):
        first_of.setdefault(identity(x) if is_ref(x) else (i,), i)
    distinct = list(first_of.values())
    places = tuple(
        distinct.index(first_of[identity(x) if is_ref(x) else (i,)]) for i, x in enumerate(primals)
    )
    avals = [typeof(primals[i]) for i in distinct]
    body = params["body_jaxpr"]
    closed = _MEMO.get(
        body,
        (params["cond_jaxpr"], places, tuple(avals)),
        lambda: trace_to_jaxpr(
            lambda *args: run_on_values(*(args[i] for i in places), **params), avals
        ),
    )
    own, own_dot = [primals[i] for i in distinct], [tangents[i] for i in distinct]
    parts = ctx.linearize_jaxpr(closed, tuple(not is_zero(t) for t in own_dot))
    results = eval_closed(parts.primal, *own)
    count = len(closed.out_avals)
    found = iter(results[count:])
    residuals = [next(found) if i is None else own[i] for i in parts.forwards]
    outs_dot = eval_closed(parts.linear, *residuals, *(t for t in own_dot if not is_zero(t)))
    return results[:count], _all_tangents(body, parts.nonzero_out, outs_dot)


def _while_partial_eval(
    ctx: SplitContext,
    unknown: Mask,
    *args: Value,
    cond_jaxpr: ClosedJaxpr,
    body_jaxpr: ClosedJaxpr,
    cond_nconsts: int,
    body_nconsts: int,
) -> list[Value]:
    """Run what needs no unknown; record the whole loop for the rest."""
    un_cond, un_consts, un_init = split_at(unknown, cond_nconsts, body_nconsts)
    un_consts, un_init = tuple(un_consts), tuple(un_init)

    def split(carry: Mask) -> Any:
        return ctx.split_jaxpr(body_jaxpr, (*un_consts, *carry), carry)

    un_carry = reached_carry(body_jaxpr, un_consts, un_init, (), through_recorded)
    un_carry = grow_carry(un_carry, lambda carry: split(carry).unknown_out)
    cond_parts = ctx.split_jaxpr(cond_jaxpr, (*un_cond, *un_carry))
    whole = {"cond_nconsts": cond_nconsts, "body_nconsts": body_nconsts}
    if any(cond_parts.unknown_out) or all(un_carry):
        return ctx.record(while_p, *args, cond_jaxpr=cond_jaxpr, body_jaxpr=body_jaxpr, **whole)
    known_outs = _known_loop(
        split(un_carry).known, cond_parts.known, args, un_cond, un_consts, un_carry
    )
    recorded = ctx.record(
        while_p,
        *args,
        cond_jaxpr=without_effects(cond_jaxpr),
        body_jaxpr=without_effects(body_jaxpr),
        **whole,
    )
    _, unknown_outs = partition(un_carry, recorded)
    return merge(un_carry, known_outs, unknown_outs)


def _known_loop(
    body: ClosedJaxpr,
    cond: ClosedJaxpr,
    args: Sequence[Value],
    un_cond: Sequence[bool],
    un_consts: Sequence[bool],
    un_carry: Sequence[bool],
) -> list[Value]:
    cond_args, body_args, init = split_at(args, len(un_cond), len(un_consts))
    cond_consts, _ = partition(un_cond, cond_args)
    body_consts, _ = partition(un_consts, body_args)
    init, _ = partition(un_carry, init)
    n = len(init)
    # Residuals come after the carry; the recorded loop computes everything anew instead.
    body, _ = pruned(
        body,
        [i < n for i in range(len(body.out_avals))],
        [True] * len(body.in_avals),
    )
    cond, _ = pruned(cond, [i < 1 for i in range(len(cond.out_avals))], [True] * len(cond.in_avals))
    return while_p.bind(
        *cond_consts, *body_consts, *init,
        cond_nconsts=len(cond_consts), cond_jaxpr=cond,
        body_nconsts=len(body_consts), body_jaxpr=body,
    )  # fmt: skip


def _while_transpose(cts: Sequence[Value], *operands: Value, **params: Any) -> NoReturn:
    del cts, operands, params
    raise ValueError(
        message(
            "reverse-mode derivative",
            "a while_loop, or a fori_loop with traced bounds, on values to differentiate",
            "a loop whose number of steps is known when the program is traced, since each step "
            "has to be kept for the way back",
            "Use scan, or fori_loop with Python ints as bounds; for a derivative in forward mode "
            "use jvp or jacfwd.",
        )
    )


JVP: Final[dict[Primitive, ContextRule[Any]]] = {
    while_p: ContextRule(_while_jvp),
}

LINEARIZE: Final[dict[Primitive, ContextRule[Any]]] = {
    while_p: ContextRule(_while_linearize),
}

PARTIAL_EVAL: Final[dict[Primitive, ContextRule[Any]]] = {
    while_p: ContextRule(_while_partial_eval),
}

TRANSPOSE: Final[dict[Primitive, Any]] = {
    while_p: _while_transpose,
}
