"""Lowering bodies into regions, with the tokens that order their effects."""

from collections.abc import Iterable, Sequence
from typing import Any

from tans_core.jaxpr import ClosedJaxpr
from tans_lax.control_flow.element_types import stacked_type
from tans_xla import hlo, hlo_parts
from tans_xla.hlo import ir
from tans_xla.lowering import LoweringContext, lower_eqns, ordered_effects
from tans_xla.physical import physical_aval
from tans_xla.sizes import Size

type Value = Any  # ir.Value
type Tokens = dict[Any, Value]


def effects_of(bodies: Iterable[ClosedJaxpr]) -> list[Any]:
    """Return the ordered effects of several bodies, each once, in a fixed order."""
    effects = {effect for body in bodies for effect in ordered_effects(body)}
    return sorted(effects, key=str)


def emit(
    ctx: LoweringContext, body: ClosedJaxpr, operands: Sequence[Value], tokens: Tokens
) -> list[Value]:
    """Emit a body at the insertion point; `tokens` is updated to those after it."""
    # Captured and carried values are constrained inside too, or the compiler communicates there.
    operands = ctx.constrain(operands, body.in_avals)
    return lower_eqns(ctx.builder, body, operands, tokens)


def rows_type(aval: Any, rows: Size) -> Any:
    """Return the physical type of stacked elements of type `aval`."""
    return physical_aval(stacked_type(aval, rows))


def element_of(x: Value, aval: Any) -> Value:
    """Reshape one row ``[1, ...]`` to an element of type `aval`."""
    return hlo.reshape(x, physical_aval(aval))


def static_rows(x: Value, aval: Any, start: Size, rows: Size, length: Size) -> Value:
    """Return rows ``start : start + rows`` of `x`, of `length` elements of type `aval`."""
    if rows == length:
        return x
    out = rows_type(aval, rows)
    zeros = [0] * (out.ndim - 1)
    limits = [start + rows, *out.shape[1:]]
    return hlo_parts.slice_between(x, out, [start, *zeros], limits)


def dynamic_rows(x: Value, aval: Any, start: Sequence[Value], rows: int, length: Size) -> Value:
    """Return `rows` rows of `x` from the indices `start`, one per dimension, at least."""
    out = rows_type(aval, rows)
    whole = rows_type(aval, length)
    return hlo_parts.slice_at(x, whole, start[: out.ndim], out.shape, hlo.ir_type(out))


def write_rows(buffer: Value, rows: Value, start: Sequence[Value]) -> Value:
    """Return `buffer` with `rows` written at the indices `start`."""
    rank = ir.RankedTensorType(buffer.type).rank
    operands = (buffer, rows, *start[:rank])
    return hlo.op1("stablehlo.dynamic_update_slice", buffer.type, operands)


def stack_rows(elements: Sequence[Value], aval: Any) -> Value:
    """Stack elements of type `aval` to ``[n, ...]``."""
    one = rows_type(aval, 1)
    parts = [hlo.reshape(x, one) for x in elements]
    if len(parts) == 1:
        return parts[0]
    kind = hlo.ir_type(rows_type(aval, len(parts)))
    return hlo.op1("stablehlo.concatenate", kind, parts, {"dimension": hlo.i64(0)})


def rank(x: Value) -> int:
    """Return the number of dimensions."""
    return ir.RankedTensorType(x.type).rank
