"""Derivatives of scan: the tangents join the carry, the gradient is one scan the other way."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from tans_core.accumulators import AccumRule
from tans_core.context import (
    JVPContext,
    LinearizeContext,
    Mask,
    SplitContext,
    merge,
    partition,
)
from tans_core.jaxpr import ClosedJaxpr
from tans_core.primitive import Primitive
from tans_core.rules import ContextRule
from tans_core.zeros import Zero, is_zero, zero_tangent
from tans_lax.control_flow.element_types import stacked_type
from tans_lax.control_flow.masks import grow_carry, split_at
from tans_lax.control_flow.programs import rearranged
from tans_lax.control_flow.reach import reached_carry, through_recorded, through_smooth
from tans_lax.control_flow.scan import scan_p
from tans_lax.control_flow.scan.residuals import ResidualPlan, plan_residuals
from tans_lax.control_flow.scan.transposition import scan_transpose
from tans_lax.rows import instantiate_zeros

type Value = Any
type Params = dict[str, Any]


def _scan_jvp(
    ctx: JVPContext,
    primals: Sequence[Value],
    tangents: Sequence[Value],
    *,
    jaxpr: ClosedJaxpr,
    num_consts: int,
    num_carry: int,
    **params: Any,
) -> tuple[list[Value], list[Value]]:
    nz = tuple(not is_zero(t) for t in tangents)
    nz_consts, nz_init, nz_xs = split_at(nz, num_consts, num_carry)
    keep_ys = (False,) * (len(jaxpr.out_avals) - num_carry)

    def jvp_body(carry: Mask) -> tuple[ClosedJaxpr, Mask]:
        return ctx.jvp_jaxpr(jaxpr, (*nz_consts, *carry, *nz_xs), (*carry, *keep_ys))

    nz_carry = reached_carry(jaxpr, nz_consts, nz_init, nz_xs, through_smooth)
    nz_carry = grow_carry(nz_carry, lambda carry: jvp_body(carry)[1][:num_carry])
    body, nz_out = jvp_body(nz_carry)
    consts, init, xs = split_at(primals, num_consts, num_carry)
    consts_dot, init_dot, xs_dot = split_at(tangents, num_consts, num_carry)
    consts_dot = [t for t in consts_dot if not is_zero(t)]
    init_dot = [instantiate_zeros(t) for t, z in zip(init_dot, nz_carry, strict=True) if z]
    xs_dot = [t for t in xs_dot if not is_zero(t)]
    sizes = [len(consts), len(init), len(xs), len(consts_dot), len(init_dot)]
    c, k, x, c_dot, k_dot, x_dot = split_at(range(len(body.in_avals)), *sizes)
    n_ys = len(jaxpr.out_avals) - num_carry
    k_out, y_out, k_out_dot, y_out_dot = split_at(
        range(len(body.out_avals)), num_carry, n_ys, len(init_dot)
    )
    outs = scan_p.bind(
        *consts, *consts_dot, *init, *init_dot, *xs, *xs_dot,
        jaxpr=rearranged(
            body, (*c, *c_dot, *k, *k_dot, *x, *x_dot), (*k_out, *k_out_dot, *y_out, *y_out_dot)
        ),
        num_consts=len(consts) + len(consts_dot),
        num_carry=len(init) + len(init_dot),
        **params,
    )  # fmt: skip
    carry, carry_dot, ys, ys_dot = split_at(outs, num_carry, len(init_dot), n_ys)
    primal_outs = [*carry, *ys]
    nz_out = (*nz_carry, *nz_out[num_carry:])
    zeros = _zero_tangents(jaxpr, num_carry, params["length"], nz_out)
    return primal_outs, merge(nz_out, zeros, [*carry_dot, *ys_dot])


def _zero_tangents(
    body: ClosedJaxpr, num_carry: int, length: int, nz: Sequence[bool]
) -> list[Zero]:
    """Return the symbolic zeros of the results without a tangent."""
    avals = [a if i < num_carry else stacked_type(a, length) for i, a in enumerate(body.out_avals)]
    return [zero_tangent(a) for a, z in zip(avals, nz, strict=True) if not z]


def _scan_linearize(
    ctx: LinearizeContext,
    primals: Sequence[Value],
    tangents: Sequence[Value],
    *,
    jaxpr: ClosedJaxpr,
    num_consts: int,
    num_carry: int,
    **params: Any,
) -> tuple[list[Value], list[Value]]:
    nz = tuple(not is_zero(t) for t in tangents)
    nz_consts, nz_init, nz_xs = split_at(nz, num_consts, num_carry)
    num_outs = len(jaxpr.out_avals)
    keep_ys = (False,) * (num_outs - num_carry)

    def linearized(carry: Mask) -> Any:
        return ctx.linearize_jaxpr(jaxpr, (*nz_consts, *carry, *nz_xs), (*carry, *keep_ys))

    nz_carry = reached_carry(jaxpr, nz_consts, nz_init, nz_xs, through_smooth)
    nz_carry = grow_carry(nz_carry, lambda carry: linearized(carry).nonzero_out[:num_carry])
    lin = linearized(nz_carry)
    plan = plan_residuals(lin.primal, num_outs, num_consts, num_carry, lin.forwards)
    outs, residuals = plan.run(primals, num_carry, params)
    nz_out = (*nz_carry, *lin.nonzero_out[num_carry:])
    consts_dot, init_dot, xs_dot = split_at(tangents, num_consts, num_carry)
    linear_ins = [
        [t for t in consts_dot if not is_zero(t)],
        [instantiate_zeros(t) for t, z in zip(init_dot, nz_carry, strict=True) if z],
        [t for t in xs_dot if not is_zero(t)],
    ]
    outs_dot = _bind_second(scan_p.bind, lin.linear, plan, residuals, linear_ins, params)
    zeros = _zero_tangents(jaxpr, num_carry, params["length"], nz_out)
    return outs, merge(nz_out, zeros, outs_dot)


def _bind_second(
    bind: Callable[..., list[Value]],
    body: ClosedJaxpr,
    plan: ResidualPlan,
    residuals: Sequence[Value],
    ins: Sequence[list[Value]],
    params: Params,
) -> list[Value]:
    """Run the second scan of a split one.

    Args:
      bind: binds or records the scan.
      body: ``(*residuals, *consts, *carry, *xs) -> outs``.
      plan: says which residuals are the same in each step, and which are stacked.
      residuals: their values.
      ins: the second part's own constants, carries and xs.
      params: the scan's other params.
    """
    if not body.out_avals and not body.effects:
        return []
    consts, carry, xs = ins
    n_res = len(residuals)
    res_stacked, res_fixed = partition(plan.fixed, range(n_res))
    c, k, x = split_at(range(n_res, len(body.in_avals)), len(consts), len(carry))
    return bind(
        *(residuals[i] for i in res_fixed), *consts, *carry,
        *(residuals[i] for i in res_stacked), *xs,
        jaxpr=rearranged(
            body, (*res_fixed, *c, *k, *res_stacked, *x), range(len(body.out_avals))
        ),
        num_consts=len(res_fixed) + len(consts),
        num_carry=len(carry),
        **params,
    )  # fmt: skip


def _scan_partial_eval(
    ctx: SplitContext,
    unknown: Mask,
    *args: Value,
    jaxpr: ClosedJaxpr,
    num_consts: int,
    num_carry: int,
    **params: Any,
) -> list[Value]:
    un_consts, un_init, un_xs = split_at(unknown, num_consts, num_carry)
    keep_ys = (False,) * (len(jaxpr.out_avals) - num_carry)

    def split(carry: Mask) -> Any:
        return ctx.split_jaxpr(jaxpr, (*un_consts, *carry, *un_xs), (*carry, *keep_ys))

    un_carry = reached_carry(jaxpr, un_consts, un_init, un_xs, through_recorded)
    un_carry = grow_carry(un_carry, lambda carry: split(carry).unknown_out[:num_carry])
    parts = split(un_carry)
    consts, init, xs = split_at(args, num_consts, num_carry)
    known_consts, unknown_consts = partition(un_consts, consts)
    known_init, unknown_init = partition(un_carry, init)
    known_xs, unknown_xs = partition(un_xs, xs)
    un_out = parts.unknown_out
    plan = plan_residuals(
        parts.known, un_out.count(False), len(known_consts), len(known_init), None
    )
    known_ins = [*known_consts, *known_init, *known_xs]
    known_outs, residuals = plan.run(known_ins, len(known_init), params)
    unknown_outs = _bind_second(
        lambda *operands, **p: ctx.record(scan_p, *operands, **p),
        parts.unknown,
        plan,
        residuals,
        [unknown_consts, unknown_init, unknown_xs],
        params,
    )
    return merge(un_out, known_outs, unknown_outs)


JVP: Final[dict[Primitive, ContextRule[Any]]] = {
    scan_p: ContextRule(_scan_jvp),
}

LINEARIZE: Final[dict[Primitive, ContextRule[Any]]] = {
    scan_p: ContextRule(_scan_linearize),
}

PARTIAL_EVAL: Final[dict[Primitive, ContextRule[Any]]] = {
    scan_p: ContextRule(_scan_partial_eval),
}

TRANSPOSE: Final[dict[Primitive, ContextRule[Any]]] = {
    scan_p: AccumRule(scan_transpose),
}
