"""Transposition of scan: one scan the other way.

Cotangents of the carry are carried back; those of the constants are summed over the steps, in
carries of their own or in refs; those of xs are stacked. The non-linear operands (residuals) are
read again.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from tans_core.accumulators import GradAccum, Kind
from tans_core.context import Mask, TransposeContext, partition
from tans_core.jaxpr import ClosedJaxpr
from tans_core.refs import is_ref_type
from tans_core.types import AbstractValue
from tans_core.zeros import is_linear_input, is_zero
from tans_lax.control_flow.memo import BodyMemo
from tans_lax.control_flow.programs import extended, rearranged
from tans_lax.control_flow.scan import scan_p
from tans_lax.control_flow.scan.known_carry import split_carry
from tans_lax.elementwise.arithmetic import add_any_p
from tans_lax.rows import instantiate_zeros, zeros_like_aval
from tans_xla.ref_checks import identity

type Value = Any
type Avals = Sequence[AbstractValue]


class TransposedBody(NamedTuple):
    """The body of the backward scan.

    Attributes:
      jaxpr: ``(*consts, *refs, *sums, *carry cts, *ys cts, *xs, *xs refs) -> (*sums, *carry cts,
        *xs cts, *logs)`` where consts and xs are the non-linear ones.
      consts: which linear constants that are summed as values have a cotangent.
      carry: which carries have one.
      xs: which linear xs have one.
      logs: structure of the backward-pass logs; without leaves when there are none.
    """

    jaxpr: ClosedJaxpr
    consts: Mask
    carry: Mask
    xs: Mask
    logs: Any


_MEMO: Final[BodyMemo[TransposedBody]] = BodyMemo()


def scan_transpose(
    ctx: TransposeContext,
    cts: Sequence[Value],
    *operands: Any,
    jaxpr: ClosedJaxpr,
    num_consts: int,
    num_carry: int,
    reverse: bool,
    length: int,
    **params: Any,
) -> dict[Any, Any] | None:
    """Transpose rule of scan."""
    first_x = num_consts + num_carry
    linear = tuple(isinstance(x, GradAccum) or is_linear_input(x) for x in operands)
    if not all(linear[num_consts:first_x]):
        plan = split_carry(jaxpr, linear, num_consts, num_carry)
        return scan_transpose(
            ctx, [cts[i] for i in plan.outs],
            *plan.operands(operands, reverse=reverse, length=length, **params),
            jaxpr=rearranged(jaxpr, plan.ins, plan.outs), num_consts=num_consts,
            num_carry=len(plan.linear), reverse=reverse, length=length, **params,
        )  # fmt: skip
    ct_carry, ct_ys = cts[:num_carry], cts[num_carry:]
    nz_carry = tuple(not is_zero(ct) for ct in ct_carry)
    nz_ys = tuple(not is_zero(ct) for ct in ct_ys)
    consts, const_accums = partition(linear[:num_consts], operands[:num_consts])
    xs, x_accums = partition(linear[first_x:], operands[first_x:])
    x_avals = _where(linear[first_x:], jaxpr.in_avals[first_x:])
    in_rows = _are_distinct((*const_accums, *x_accums))
    x_kinds = tuple(_kind_of_x(a, t, in_rows) for a, t in zip(x_accums, x_avals, strict=True))
    const_kinds = tuple(a.kind for a in const_accums)
    shape = (linear, num_consts, num_carry, const_kinds, x_kinds)
    body = _MEMO.get(
        jaxpr,
        (type(ctx), shape, nz_carry, nz_ys),
        lambda: _transpose_body(ctx, jaxpr, *shape, nz_carry, nz_ys),
    )
    summed = _where(body.consts, _of_kind("value", const_accums, const_kinds))
    refs = [a.ref for a in _of_kind("ref", const_accums, const_kinds)]
    x_refs = [a.ref for a in _of_kind("ref", x_accums, x_kinds)]
    sums = [zeros_like_aval(a.aval) for a in summed]
    carry = [instantiate_zeros(ct) for ct in _where(body.carry, ct_carry)]
    outs: list[Value] = []
    if body.jaxpr.out_avals or body.jaxpr.effects:
        outs = scan_p.bind(
            *consts, *refs, *sums, *carry, *(ct for ct in ct_ys if not is_zero(ct)), *xs, *x_refs,
            jaxpr=body.jaxpr, num_consts=len(consts) + len(refs),
            num_carry=len(sums) + len(carry), reverse=not reverse, length=length, **params,
        )  # fmt: skip
    into = [
        *summed,
        *_where(body.carry, operands[num_consts:first_x]),
        *_where(body.xs, _of_kind("value", x_accums, x_kinds)),
    ]
    for accum, ct in zip(into, outs, strict=False):
        if isinstance(accum, GradAccum):
            accum.accum(ct)
    return body.logs.unflatten(outs[len(into) :]) if len(outs) > len(into) else None


def _transpose_body(
    ctx: TransposeContext,
    jaxpr: ClosedJaxpr,
    linear: Mask,
    num_consts: int,
    num_carry: int,
    const_kinds: tuple[Kind, ...],
    x_kinds: tuple[Kind, ...],
    nz_carry: Mask,
    nz_ys: Mask,
) -> TransposedBody:
    first_x = num_consts + num_carry
    kinds: tuple[Kind, ...] = (*const_kinds, *("value",) * num_carry, *x_kinds)
    n_summed = const_kinds.count("value")
    while True:
        found = ctx.transpose_into(jaxpr, linear, (*nz_carry, *nz_ys), kinds)
        carry_in = found.nonzero[n_summed : n_summed + num_carry]
        grown = tuple(a or b for a, b in zip(nz_carry, carry_in, strict=True))
        if grown == nz_carry:
            break
        nz_carry = grown
    nz_consts, nz_xs = found.nonzero[:n_summed], found.nonzero[n_summed + num_carry :]
    avals = _of_kind("value", _where(linear[:num_consts], jaxpr.in_avals), const_kinds)
    sums = [a.to_cotangent() for a in _where(nz_consts, avals)]
    carry_avals = jaxpr.in_avals[num_consts:first_x]
    lost = [
        None if has else a.to_cotangent()
        for a, nz, has in zip(carry_avals, nz_carry, carry_in, strict=True)
        if nz
    ]
    loop = _accumulating(found.program, sums, lost)
    n_cts = sum(nz_carry) + sum(nz_ys)
    c, x, r, rx, ct, s = _ranges(
        num_consts - len(const_kinds),
        len(linear) - first_x - len(x_kinds),
        const_kinds.count("ref"),
        x_kinds.count("ref"),
        n_cts,
        len(sums),
    )
    k, y = ct[: sum(nz_carry)], ct[sum(nz_carry) :]
    loop = rearranged(loop, (*c, *r, *s, *k, *y, *x, *rx), range(len(loop.out_avals)))
    return TransposedBody(loop, nz_consts, nz_carry, nz_xs, found.logs)


def _are_distinct(accums: Sequence[GradAccum]) -> bool:
    """Whether the refs among accumulators differ, so that a loop may write to each."""
    refs = [identity(a.ref) for a in accums if a.kind == "ref"]  # pyright: ignore[reportAttributeAccessIssue]
    return len(set(refs)) == len(refs)


def _kind_of_x(accum: GradAccum, aval: AbstractValue, in_rows: bool) -> Kind:
    """Return the kind of accumulator that the slices of an operand have.

    Every step adds to its row of a ref, unless another operand has the same ref.
    """
    summed_after = accum.kind == "ref" and not is_ref_type(aval) and not in_rows
    return "value" if summed_after else accum.kind


def _of_kind[T](kind: Kind, values: Sequence[T], kinds: Sequence[Kind]) -> list[T]:
    return [x for x, k in zip(values, kinds, strict=True) if k == kind]


def _where[T](mask: Sequence[bool], values: Sequence[T]) -> list[T]:
    return [x for m, x in zip(mask, values, strict=False) if m]


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
