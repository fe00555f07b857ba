"""Transposition of scan: one scan the other way.

Cotangents of the carry are carried back; those of the constants are summed over the steps, in
carries of their own; those of xs are stacked. The non-linear operands (residuals) are read again.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from tans_core.context import Mask, TransposeContext, merge, partition
from tans_core.jaxpr import ClosedJaxpr
from tans_core.types import AbstractValue
from tans_core.zeros import Zero, is_linear_input, is_zero
from tans_lax.control_flow.memo import BodyMemo
from tans_lax.control_flow.programs import extended, rearranged
from tans_lax.control_flow.scan import scan_p
from tans_lax.control_flow.scan.known_carry import split_carry
from tans_lax.elementwise.arithmetic import add_any_p
from tans_lax.rows import instantiate_zeros, zeros_like_aval

type Value = Any
type Avals = Sequence[AbstractValue]


class TransposedBody(NamedTuple):
    """The body of the backward scan.

    Attributes:
      jaxpr: ``(*consts, *sums, *carry cts, *ys cts, *xs) -> (*sums, *carry cts, *xs cts)`` where
        consts and xs are the non-linear ones.
      consts: which linear constants have a cotangent.
      carry: which carries have one.
      xs: which linear xs have one.
    """

    jaxpr: ClosedJaxpr
    consts: Mask
    carry: Mask
    xs: Mask


_MEMO: Final[BodyMemo[TransposedBody]] = BodyMemo()


def scan_transpose(
    ctx: TransposeContext,
    cts: Sequence[Value],
    *operands: Value,
    jaxpr: ClosedJaxpr,
    num_consts: int,
    num_carry: int,
    reverse: bool,
    length: int,
    **params: Any,
) -> list[Value]:
    """Transpose rule of scan."""
    first_x = num_consts + num_carry
    linear = tuple(map(is_linear_input, operands))
    if not all(linear[num_consts:first_x]):
        plan = split_carry(jaxpr, linear, num_consts, num_carry)
        given = scan_transpose(
            ctx, [cts[i] for i in plan.outs],
            *plan.operands(operands, reverse=reverse, length=length, **params),
            jaxpr=rearranged(jaxpr, plan.ins, plan.outs), num_consts=num_consts,
            num_carry=len(plan.linear), reverse=reverse, length=length, **params,
        )  # fmt: skip
        return plan.cotangents(given, linear)
    ct_carry, ct_ys = cts[:num_carry], cts[num_carry:]
    nz_carry = tuple(not is_zero(ct) for ct in ct_carry)
    nz_ys = tuple(not is_zero(ct) for ct in ct_ys)
    shape = (linear, num_consts, num_carry)
    body = _MEMO.get(
        jaxpr,
        (type(ctx), shape, nz_carry, nz_ys),
        lambda: _transpose_body(ctx, jaxpr, *shape, nz_carry, nz_ys),
    )
    consts, linear_consts = partition(linear[:num_consts], operands[:num_consts])
    xs, _ = partition(linear[first_x:], operands[first_x:])
    sums = [
        zeros_like_aval(x.aval.to_cotangent())
        for x, nz in zip(linear_consts, body.consts, strict=True)
        if nz
    ]
    carry = [instantiate_zeros(ct) for ct, nz in zip(ct_carry, body.carry, strict=True) if nz]
    outs = []
    if body.jaxpr.out_avals:
        outs = scan_p.bind(
            *consts, *sums, *carry, *(ct for ct in ct_ys if not is_zero(ct)), *xs,
            jaxpr=body.jaxpr, num_consts=len(consts), num_carry=len(sums) + len(carry),
            reverse=not reverse, length=length, **params,
        )  # fmt: skip
    of_linear = _with_zeros(
        (*body.consts, *body.carry, *body.xs),
        [x.aval for x in operands if is_linear_input(x)],
        outs,
    )
    return merge(linear, [None] * linear.count(False), of_linear)


def _with_zeros(nonzero: Mask, avals: Avals, values: Sequence[Value]) -> list[Value]:
    zeros = [Zero(a.to_cotangent()) for a, nz in zip(avals, nonzero, strict=True) if not nz]
    return merge(nonzero, zeros, values)


def _transpose_body(
    ctx: TransposeContext,
    jaxpr: ClosedJaxpr,
    linear: Mask,
    num_consts: int,
    num_carry: int,
    nz_carry: Mask,
    nz_ys: Mask,
) -> TransposedBody:
    linear_consts = sum(linear[:num_consts])
    while True:
        body, nz_in = ctx.transpose_jaxpr(jaxpr, linear, (*nz_carry, *nz_ys))
        carry_in = nz_in[linear_consts : linear_consts + num_carry]
        grown = tuple(a or b for a, b in zip(nz_carry, carry_in, strict=True))
        if grown == nz_carry:
            break
        nz_carry = grown
    nz_consts, nz_xs = nz_in[:linear_consts], nz_in[linear_consts + num_carry :]
    sums = [
        a.to_cotangent()
        for a, nz in zip(_where(linear[:num_consts], jaxpr.in_avals), nz_consts, strict=True)
        if nz
    ]
    carry_avals = jaxpr.in_avals[num_consts : num_consts + num_carry]
    lost = [
        None if has else a.to_cotangent()
        for a, nz, has in zip(carry_avals, nz_carry, carry_in, strict=True)
        if nz
    ]
    loop = _accumulating(body, sums, lost)
    n_consts = num_consts - linear_consts
    n_xs = len(linear) - num_consts - num_carry - sum(linear[num_consts + num_carry :])
    n_cts = sum(nz_carry) + sum(nz_ys)
    c, x, ct, s = _ranges(n_consts, n_xs, n_cts, len(sums))
    k, y = ct[: sum(nz_carry)], ct[sum(nz_carry) :]
    loop = rearranged(loop, (*c, *s, *k, *y, *x), range(len(loop.out_avals)))
    return TransposedBody(loop, nz_consts, nz_carry, nz_xs)


def _where(mask: Mask, avals: Avals) -> list[AbstractValue]:
    return [a for m, a in zip(mask, avals, strict=False) if m]


def _ranges(*sizes: int) -> list[list[int]]:
    ranges, start = [], 0
    for size in sizes:
        ranges.append(list(range(start, start + size)))
        start += size
    return ranges


def _accumulating(body: ClosedJaxpr, sums: Avals, lost: Sequence[Any]) -> ClosedJaxpr:
    """Add each step's cotangents of constants to sums, and zeros where a carry's cotangent ends.

    Args:
      body: ``(*ins) -> (*consts cts, *carry cts, *xs cts)``.
      sums: types of the sums, one per constant's cotangent.
      lost: per carried cotangent, None, or its type when the body does not give it back.
    """
    if not sums and not any(lost):
        return body
    n_outs, n_sums = len(body.out_avals), len(sums)

    def epilogue(*values: Value) -> list[Value]:
        outs, totals = values[:n_outs], values[n_outs:]
        new = [add_any_p.bind(t, ct) for t, ct in zip(totals, outs, strict=False)]
        rest = iter(outs[n_sums:])
        carry = [next(rest) if a is None else zeros_like_aval(a) for a in lost]
        return [*new, *carry, *rest]

    return extended(body, sums, epilogue)
