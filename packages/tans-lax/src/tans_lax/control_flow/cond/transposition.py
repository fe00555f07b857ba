"""Transposition of cond: a cond over the transposed branches, with the same index."""

import dataclasses
from collections.abc import Sequence
from typing import Any, Final

from tans_core import tree
from tans_core.accumulators import GradAccum
from tans_core.context import Mask, TransposeContext, Transposed, partition
from tans_core.jaxpr import ClosedJaxpr
from tans_core.tree_util import register_pytree_node
from tans_core.types import AbstractValue
from tans_core.zeros import is_linear_input, is_zero
from tans_lax.control_flow.cond import cond_p
from tans_lax.control_flow.memo import BodyMemo
from tans_lax.control_flow.programs import extended
from tans_lax.rows import zeros_like_aval

type Value = Any
type Jaxprs = tuple[ClosedJaxpr, ...]
type Pytree = Any
type Log = tuple[Any, Any, tuple[AbstractValue, ...]]  # key, structure, types of the leaves


@dataclasses.dataclass(frozen=True)
class CondSum:
    """What the branches of a cond report under one key; a pytree.

    Attributes:
      index: which branch ran.
      branches: per branch its entry: zeros when it didn't run, None when it never reports one.
    """

    index: Value
    branches: list[Pytree]


register_pytree_node(
    CondSum, lambda x: ((x.index, x.branches), None), lambda _, children: CondSum(*children)
)

_MEMO: Final[BodyMemo[ClosedJaxpr]] = BodyMemo()


def cond_transpose(
    ctx: TransposeContext,
    cts: Sequence[Value],
    index: Value,
    *operands: Any,
    branches: Jaxprs,
    **params: Any,
) -> dict[Any, CondSum] | None:
    """Transpose rule of cond."""
    if isinstance(index, GradAccum) or is_linear_input(index):
        raise NotImplementedError(
            "cond: can't transpose, because the index of the branch depends on a linear input; "
            "expected an index that does not. Transpose linear functions only."
        )
    linear = tuple(isinstance(x, GradAccum) for x in operands)
    nonlinear, accums = partition(linear, operands)
    kinds = tuple(a.kind for a in accums)
    nz_ct = tuple(not is_zero(ct) for ct in cts)
    parts = [ctx.transpose_into(b, linear, nz_ct, kinds) for b in branches]
    summed = [a for a in accums if a.kind == "value"]
    nz_in = tuple(any(column) for column in zip(*(p.nonzero for p in parts), strict=True))
    avals = tuple(a.aval for a in summed)
    logs = [_logs_of(part) for part in parts]
    bodies = tuple(_with_all_outputs(part, i, nz_in, avals, logs) for i, part in enumerate(parts))
    refs = [a.ref for a in accums if a.kind == "ref"]
    given = [ct for ct in cts if not is_zero(ct)]
    outs: list[Value] = []
    if bodies[0].out_avals or any(b.effects for b in bodies):
        outs = cond_p.bind(index, *nonlinear, *refs, *given, branches=bodies, **params)
    moved = [a for a, nz in zip(summed, nz_in, strict=True) if nz]
    for accum, ct in zip(moved, outs, strict=False):
        accum.accum(ct)
    return _sums(index, logs, outs[len(moved) :]) if any(logs) else None


def _logs_of(part: Transposed) -> tuple[Log, ...]:
    """Return the entries that a branch reports."""
    avals = part.program.out_avals[sum(part.nonzero) :]
    if not avals:
        return ()
    entries: dict[Any, Any] = part.logs.unflatten(avals)
    return tuple((k, tree.structure(x), tuple(tree.leaves(x))) for k, x in entries.items())


def _with_all_outputs(
    part: Transposed,
    branch: int,
    wanted: Mask,
    avals: Sequence[AbstractValue],
    logs: Sequence[tuple[Log, ...]],
) -> ClosedJaxpr:
    """Return a transposed branch with zeros for what only other branches give."""
    own = tuple(part.nonzero)
    if own == wanted and not any(logs):
        return part.program
    count = sum(own)

    def epilogue(*outs: Value) -> list[Value]:
        given = iter(outs[:count])
        masks = zip(own, wanted, avals, strict=True)
        cts = [next(given) if has else zeros_like_aval(a) for has, want, a in masks if want]
        for i, entries in enumerate(logs):
            other = [zeros_like_aval(a) for _, _, leaves in entries for a in leaves]
            cts += outs[count:] if i == branch else other
        return cts

    key = (branch, own, wanted, tuple(avals), tuple(logs))
    return _MEMO.get(part.program, key, lambda: extended(part.program, (), epilogue))


def _sums(
    index: Value, logs: Sequence[tuple[Log, ...]], leaves: Sequence[Value]
) -> dict[Any, CondSum]:
    found = iter(leaves)
    sums: dict[Any, CondSum] = {}
    for i, entries in enumerate(logs):
        for key, structure, avals in entries:
            entry = structure.unflatten([next(found) for _ in avals])
            if key not in sums:
                sums[key] = CondSum(index, [None] * len(logs))
            sums[key].branches[i] = entry
    return sums
