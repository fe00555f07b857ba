"""Lowering of scan: one ``stablehlo.while`` with a counter, which reads and writes rows.

Constants and xs are read from outside the loop's regions; only the counter, the tokens, the
carries and the buffers of results are loop state.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from tans_core.jaxpr import ClosedJaxpr
from tans_core.primitive import Primitive
from tans_core.types import ShapedArray
from tans_lax.control_flow import regions
from tans_lax.control_flow.element_types import stacked_type
from tans_lax.control_flow.scan import scan_p
from tans_xla import hlo
from tans_xla.lowering import LoweringContext

type Value = Any  # ir.Value


class _Steps:
    """Emits steps of one scan, in order, in the region that is being built."""

    def __init__(
        self, ctx: LoweringContext, body: ClosedJaxpr, consts: Sequence[Value], num_carry: int
    ) -> None:
        self.ctx = ctx
        self.body = body
        self.consts = consts
        self.num_carry = num_carry
        self.effects = regions.effects_of([body])

    def run(
        self, carry: Sequence[Value], blocks: Sequence[Value], rows: Sequence[int], tokens: dict
    ) -> tuple[list[Value], list[Value]]:
        """Emit a step for each of `rows` of the blocks of xs, in the given order.

        Returns:
          The carry, and the stacked results in the order of the rows' numbers.
        """
        results: dict[int, list[Value]] = {}
        for row in rows:
            single = self.constrain_xs([regions.static_rows(x, row, 1) for x in blocks], 1)
            elements = [regions.element_of(x) for x in single]
            outs = regions.emit(self.ctx, self.body, [*self.consts, *carry, *elements], tokens)
            carry, results[row] = outs[: self.num_carry], outs[self.num_carry :]
        by_row = [results[row] for row in sorted(results)]
        stacked = [regions.stack_rows(ys) for ys in zip(*by_row, strict=True)]
        return list(carry), self.constrain_ys(stacked, len(by_row))

    def constrain_xs(self, blocks: Sequence[Value], rows: int) -> list[Value]:
        """Constrain blocks of rows of the xs to their shardings."""
        avals = self.body.in_avals[len(self.consts) + self.num_carry :]
        return self.ctx.constrain(blocks, [stacked_type(a, rows) for a in avals])

    def constrain_ys(self, blocks: Sequence[Value], rows: int) -> list[Value]:
        """Constrain blocks of rows of the stacked results to their shardings."""
        avals = self.body.out_avals[self.num_carry :]
        return self.ctx.constrain(blocks, [stacked_type(a, rows) for a in avals])


def _scan_lower(
    ctx: LoweringContext,
    *operands: Value,
    jaxpr: ClosedJaxpr,
    length: int,
    reverse: bool,
    unroll: int,
    num_consts: int,
    num_carry: int,
    **params: Any,
) -> list[Value]:
    del params
    first_x = num_consts + num_carry
    init, xs = list(operands[num_consts:first_x]), list(operands[first_x:])
    steps = _Steps(ctx, jaxpr, operands[:num_consts], num_carry)
    ys_avals = [stacked_type(a, length) for a in jaxpr.out_avals[num_carry:]]
    count = length // unroll
    if length == 0:
        return [*init, *(hlo.zeros(a) for a in ys_avals)]  # pyright: ignore[reportArgumentType]
    if count <= 1:
        # One iteration, or less than one: no loop.
        carry, ys = steps.run(init, xs, _order(length, reverse), ctx.tokens)
        return [*carry, *ys]
    buffers = [hlo.zeros(a) for a in ys_avals]  # pyright: ignore[reportArgumentType]
    buffers = steps.constrain_ys(buffers, length)
    carry, buffers = _loop(steps, init, xs, buffers, length, unroll, reverse)
    rest = length - count * unroll
    if rest:
        start = 0 if reverse else length - rest
        blocks = steps.constrain_xs([regions.static_rows(x, start, rest) for x in xs], rest)
        carry, ys = steps.run(carry, blocks, _order(rest, reverse), ctx.tokens)
        at = _start_indices(_integer(start, length), buffers, length)
        buffers = [regions.write_rows(b, y, at) for b, y in zip(buffers, ys, strict=True)]
    return [*carry, *buffers]


def _order(rows: int, reverse: bool) -> list[int]:
    return list(reversed(range(rows))) if reverse else list(range(rows))


def _loop(
    steps: _Steps,
    init: Sequence[Value],
    xs: Sequence[Value],
    buffers: Sequence[Value],
    length: int,
    unroll: int,
    reverse: bool,
) -> tuple[list[Value], list[Value]]:
    """Emit the while loop over blocks of `unroll` rows; return the carry and the buffers."""
    tokens = steps.ctx.tokens
    state = [_integer(0, length), *(tokens[e] for e in steps.effects), *init, *buffers]
    types = [x.type for x in state]
    loop = hlo.op("stablehlo.while", types, state, regions=2)
    with hlo.block(loop, 0, types) as (i, *_):
        limit = _integer(length - length % unroll, length)
        hlo.ret([hlo.compare(i, limit, "LT", "SIGNED")])
    n_tokens, n_carry = len(steps.effects), len(init)
    with hlo.block(loop, 1, types) as (i, *rest):
        inner = dict(zip(steps.effects, rest[:n_tokens], strict=True))
        carry, written = rest[n_tokens : n_tokens + n_carry], rest[n_tokens + n_carry :]
        row = i
        if reverse:
            row = hlo.op1("stablehlo.subtract", i.type, (_integer(length - unroll, length), i))
        at = _start_indices(row, [*xs, *written], length)
        written = steps.constrain_ys(written, length)
        wholes = steps.constrain_xs(xs, length)
        blocks = [regions.dynamic_rows(x, at, unroll) for x in wholes]
        blocks = steps.constrain_xs(blocks, unroll)
        carry, ys = steps.run(carry, blocks, _order(unroll, reverse), inner)
        written = [regions.write_rows(b, y, at) for b, y in zip(written, ys, strict=True)]
        written = steps.constrain_ys(written, length)
        following = hlo.op1("stablehlo.add", i.type, (i, _integer(unroll, length)))
        hlo.ret([following, *(inner[e] for e in steps.effects), *carry, *written])
    outs = list(loop.results)[1:]
    tokens.update(zip(steps.effects, outs, strict=False))
    outs = outs[n_tokens:]
    return outs[:n_carry], steps.constrain_ys(outs[n_carry:], length)


def _integer(value: int, length: int) -> Value:
    """Return a constant of the counter's type."""
    dtype = np.dtype(np.int32 if length < 1 << 31 else np.int64)
    return hlo.full(ShapedArray((), dtype), value)


def _start_indices(row: Value, arrays: Sequence[Value], length: int) -> list[Value]:
    """Return the indices at which a row starts in the array of the largest rank."""
    rank = max((regions.rank(x) for x in arrays), default=1)
    return [row] if rank == 1 else [row, *[_integer(0, length)] * (rank - 1)]


LOWERING: Final[dict[Primitive, Callable[..., Any]]] = {
    scan_p: _scan_lower,
}
