"""Folding of an axis by halves: a reduction written with operations that transpose.

The derivative of a general fold is taken of this form. It has about log2(n) levels of whole-array
operations, which the compiler fuses.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tans_lax as lax
from tans_core import ClosedJaxpr, eval_closed, typeof

type Value = Any
type Combine = Callable[[list[Value], list[Value]], list[Value]]


def fold_by_halves(
    combine: Combine, operands: Sequence[Value], identities: Sequence[complex] | None = None
) -> list[Value]:
    """Fold the leading axis of several arrays.

    Args:
      combine: elementwise on lists of arrays; associative and commutative.
      operands: arrays of shape ``[n, ...]`` with n at least 1.
      identities: for each operand the identity of `combine`, which fills up odd lengths; without
        it the odd element waits for the next level, which takes two operations more.

    Returns:
      Arrays of shape ``[...]``.
    """
    operands = list(operands)
    while (size := typeof(operands[0]).shape[0]) > 1:
        half = (size + 1) // 2 if identities is not None else size // 2
        rest = min(half, size - half)
        sizes = [n for n in (half, rest, size - half - rest) if n]
        # One operation, whose transpose is one too: run eagerly each is compiled for itself.
        left, right, *last = zip(*(lax.split(x, sizes, 0) for x in operands), strict=True)
        if size % 2 and identities is not None:
            right = [_pad_one(x, one) for x, one in zip(right, identities, strict=True)]
        folded = combine(list(left), list(right))
        if last:
            folded = [lax.concatenate(pair, 0) for pair in zip(folded, last[0], strict=True)]
        operands = folded
    return [lax.squeeze(x, (0,)) for x in operands]


def _pad_one(x: Value, value: complex) -> Value:
    aval = typeof(x)
    config = ((0, 1, 0), *(((0, 0, 0),) * (aval.ndim - 1)))
    return lax.pad(x, np.asarray(value, aval.dtype)[()], config)


def lead_with_one_axis(x: Value, axes: Sequence[int]) -> Value:
    """Gather `axes` of an array into one leading axis; the others follow in order."""
    aval = typeof(x)
    kept = tuple(axis for axis in range(aval.ndim) if axis not in axes)
    count = int(np.prod([aval.shape[axis] for axis in axes], dtype=np.int64))
    moved = lax.transpose(x, (*axes, *kept))
    return lax.reshape(moved, (count, *(aval.shape[axis] for axis in kept)))


def on_arrays(jaxpr: ClosedJaxpr) -> Combine:
    """Return `combine` for the scalar program of a reduction.

    The program's operations are elementwise, so they run on arrays as they are.
    """
    return lambda left, right: eval_closed(jaxpr, *left, *right)


def fold_with_inits(
    combine: Combine, operands: Sequence[Value], inits: Sequence[Value], axes: Sequence[int]
) -> list[Value]:
    """Fold `axes` and then the initial values, which may vary along leading kept axes."""
    lead = [lead_with_one_axis(x, axes) for x in operands]
    size, *shape = typeof(lead[0]).shape
    starts = [lax.broadcast_in_dim(init, shape, tuple(range(typeof(init).ndim))) for init in inits]
    return combine(starts, fold_by_halves(combine, lead)) if size else starts
