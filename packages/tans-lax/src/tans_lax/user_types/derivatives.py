"""Derivatives: choosing and rearranging are linear, and a filler is constant."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from tans_core.hi_types import is_hi_type
from tans_core.values import typeof
from tans_core.zeros import Zero, is_linear_input, is_zero, zero_tangent
from tans_lax.elementwise.comparison import eq
from tans_lax.reductions import reduce_sum
from tans_lax.rows import instantiate_zeros
from tans_lax.shape import transpose
from tans_lax.user_types import PerPart, choose_p, filler_p, rearrange_p
from tans_lax.user_types.parts import moved, selected

type Value = Any


def _chosen(index: Value, tangents: Sequence[Value], axes: PerPart) -> Value:
    if is_hi_type(typeof(tangents[0])):
        return choose_p.bind(index, *tangents, axes=axes, tangent_axes=axes)
    return selected(index, tangents, axes[0])


def _choose_jvp(
    primals: Sequence[Value], tangents: Sequence[Value], *, axes: PerPart, tangent_axes: PerPart
) -> tuple[Value, Value]:
    out = choose_p.bind(*primals, axes=axes, tangent_axes=tangent_axes)
    if all(map(is_zero, tangents[1:])):
        return out, zero_tangent(typeof(out))
    dots = list(map(instantiate_zeros, tangents[1:]))
    return out, _chosen(primals[0], dots, tangent_axes)


def _choose_transpose(
    ct: Value, index: Value, *choices: Value, axes: PerPart, tangent_axes: PerPart
) -> list[Value]:
    zero = instantiate_zeros(Zero(typeof(ct)))

    def part(i: int) -> Value:
        taken = eq(index, np.asarray(i, typeof(index).dtype))  # pyright: ignore[reportAttributeAccessIssue]
        return _chosen(taken, [zero, ct], tangent_axes)

    return [None, *(part(i) if is_linear_input(x) else None for i, x in enumerate(choices))]


def _rearranged(x: Value, aval: Any, moves: PerPart) -> Value:
    if is_hi_type(aval):
        return rearrange_p.bind(x, aval=aval, moves=moves, tangent_moves=moves)
    return moved(x, moves[0], aval.shape)


def _rearrange_jvp(
    primals: Sequence[Value], tangents: Sequence[Value], *, aval: Any, **params: Any
) -> tuple[Value, Value]:
    out = rearrange_p.bind(*primals, aval=aval, **params)
    (dot,) = tangents
    if is_zero(dot):
        return out, zero_tangent(typeof(out))
    return out, _rearranged(dot, aval.to_tangent(), params["tangent_moves"])


def _rearrange_transpose(
    ct: Value, x: Value, *, aval: Any, moves: PerPart, tangent_moves: PerPart
) -> list[Value]:
    wanted = x.aval.to_cotangent()
    if not is_hi_type(wanted):
        (moves,) = tangent_moves
        new = tuple(i for i, m in enumerate(moves) if m < 0)
        ct = reduce_sum(ct, new) if new else ct
        kept = [m for m in moves if m >= 0]
        return [transpose(ct, _inverse(kept)) if kept != sorted(kept) else ct]
    if any(m < 0 for own in tangent_moves for m in own):
        raise NotImplementedError(
            f"vmap: given a value of type {wanted.str_short()} that is the same for all elements, "
            "and whose cotangents would have to be summed; expected a mapped one, because only "
            "arrays are summed along an axis. Make the value of mapped parts."
        )
    return [_rearranged(ct, wanted, tuple(map(_inverse, tangent_moves)))]


def _inverse(moves: Sequence[int]) -> tuple[int, ...]:
    return tuple(int(d) for d in np.argsort(moves))


def _filler_jvp(primals: Any, tangents: Any, *, aval: Any) -> tuple[Value, Value]:
    out = filler_p.bind(aval=aval)
    return out, zero_tangent(typeof(out))


def _filler_transpose(ct: Value, **_: Any) -> list[Value]:
    return []


JVP: Final = {choose_p: _choose_jvp, rearrange_p: _rearrange_jvp, filler_p: _filler_jvp}
TRANSPOSE: Final = {
    choose_p: _choose_transpose,
    rearrange_p: _rearrange_transpose,
    filler_p: _filler_transpose,
}
