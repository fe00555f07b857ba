"""Lowering of scan: one ``stablehlo.while`` with a counter, which reads and writes rows.

Constants and xs are read from outside the loop's regions; only the counter, the tokens, the
carries and the buffers of results are loop state.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

from tans_core.jaxpr import ClosedJaxpr
from tans_core.primitive import Primitive
from tans_core.types import ShapedArray
from tans_lax.control_flow import regions
from tans_lax.control_flow.element_types import stacked_type
from tans_lax.control_flow.scan import scan_p
from tans_lax.slicing.start_indices import wide_dtype
from tans_xla import hlo, hlo_parts
from tans_xla.lowering import LoweringContext
from tans_xla.sizes import Size, is_always_at_least

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

    @property
    def x_avals(self) -> Sequence[Any]:
        """Types of the elements of xs."""
        return self.body.in_avals[len(self.consts) + self.num_carry :]

    @property
    def y_avals(self) -> Sequence[Any]:
        """Types of the elements of stacked results."""
        return self.body.out_avals[self.num_carry :]

    def run(
        self, carry: Sequence[Value], blocks: Sequence[Value], rows: Sequence[int], tokens: dict
    ) -> tuple[list[Value], list[Value]]:
        """Emit a step for each of `rows` of the blocks of xs, in the given order.

        Returns:
          The carry, and the stacked results in the order of the rows' numbers.
        """
        results: dict[int, list[Value]] = {}
        count = len(rows)
        for row in rows:
            single = self.part_of_xs(blocks, row, 1, count)
            elements = list(map(regions.element_of, single, self.x_avals))
            outs = regions.emit(self.ctx, self.body, [*self.consts, *carry, *elements], tokens)
            carry, results[row] = outs[: self.num_carry], outs[self.num_carry :]
        by_row = [results[row] for row in sorted(results)]
        stacked = list(map(regions.stack_rows, zip(*by_row, strict=True), self.y_avals))
        return list(carry), self.constrain_ys(stacked, count)

    def part_of_xs(self, xs: Sequence[Value], start: Size, rows: Size, length: Size) -> list[Value]:
        """Return rows of blocks of `length` elements of xs."""
        pairs = zip(xs, self.x_avals, strict=True)
        parts = [regions.static_rows(x, a, start, rows, length) for x, a in pairs]
        return self.constrain_xs(parts, rows)

    def constrain_xs(self, blocks: Sequence[Value], rows: Size) -> list[Value]:
        """Constrain blocks of rows of the xs to their shardings."""
        return self.ctx.constrain(blocks, [stacked_type(a, rows) for a in self.x_avals])

    def constrain_ys(self, blocks: Sequence[Value], rows: Size) -> list[Value]:
        """Constrain blocks of rows of the stacked results to their shardings."""
        return self.ctx.constrain(blocks, [stacked_type(a, rows) for a in self.y_avals])


def _scan_lower(
    ctx: LoweringContext,
    *operands: Value,
    jaxpr: ClosedJaxpr,
    length: Size,
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
    ys_avals = [stacked_type(a, length) for a in steps.y_avals]
    count = length // unroll
    if length == 0:
        return [*init, *(hlo.zeros(a) for a in ys_avals)]  # pyright: ignore[reportArgumentType]
    if is_always_at_least(1, count):
        # One iteration, or less than one: no loop.
        carry, ys = steps.run(init, xs, _order(length, reverse), ctx.tokens)
        return [*carry, *ys]
    buffers = [hlo.zeros(a) for a in ys_avals]  # pyright: ignore[reportArgumentType]
    buffers = steps.constrain_ys(buffers, length)
    carry, buffers = _loop(steps, init, xs, buffers, length, unroll, reverse)
    rest = length - count * unroll
    if rest:
        start = 0 if reverse else length - rest
        blocks = steps.part_of_xs(xs, start, rest, length)
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
    length: Size,
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
        pairs = zip(wholes, steps.x_avals, strict=True)
        blocks = [regions.dynamic_rows(x, a, at, unroll, length) for x, a in pairs]
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


def _integer(value: Size, length: Size) -> Value:
    """Return a size as a value of the counter's type."""
    return hlo_parts.size(value, ShapedArray((), wide_dtype([length])))


def _start_indices(row: Value, arrays: Sequence[Value], length: Size) -> list[Value]:
    """Return the indices at which a row starts in the array of the largest rank."""
    rank = max((regions.rank(x) for x in arrays), default=1)
    return [row] if rank == 1 else [row, *[_integer(0, length)] * (rank - 1)]


LOWERING: Final[dict[Primitive, Callable[..., Any]]] = {
    scan_p: _scan_lower,
}
