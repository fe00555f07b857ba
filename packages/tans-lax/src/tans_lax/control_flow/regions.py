"""Lowering bodies into regions, with the tokens that order their effects."""

from collections.abc import Iterable, Sequence
from typing import Any

from tans_core.jaxpr import ClosedJaxpr
from tans_xla import hlo
from tans_xla.hlo import ir
from tans_xla.lowering import LoweringContext, lower_eqns, ordered_effects

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


def row_type(kind: Any, rows: int) -> Any:
    """Return the type of `rows` rows of a tensor type."""
    tensor = ir.RankedTensorType(kind)
    return ir.RankedTensorType.get([rows, *tensor.shape[1:]], tensor.element_type)


def element_of(x: Value) -> Value:
    """Reshape one row ``[1, ...]`` to ``[...]``."""
    tensor = ir.RankedTensorType(x.type)
    kind = ir.RankedTensorType.get(tensor.shape[1:], tensor.element_type)
    return hlo.op1("stablehlo.reshape", kind, (x,))


def as_row(x: Value) -> Value:
    """Reshape ``[...]`` to one row ``[1, ...]``."""
    tensor = ir.RankedTensorType(x.type)
    kind = ir.RankedTensorType.get([1, *tensor.shape], tensor.element_type)
    return hlo.op1("stablehlo.reshape", kind, (x,))


def static_rows(x: Value, start: int, rows: int) -> Value:
    """Return rows ``start : start + rows`` of `x`."""
    tensor = ir.RankedTensorType(x.type)
    shape = list(tensor.shape)
    if rows == shape[0]:
        return x
    attrs = {
        "start_indices": hlo.i64s([start, *[0] * (len(shape) - 1)]),
        "limit_indices": hlo.i64s([start + rows, *shape[1:]]),
        "strides": hlo.i64s([1] * len(shape)),
    }
    return hlo.op1("stablehlo.slice", row_type(x.type, rows), (x,), attrs)


def dynamic_rows(x: Value, start: Sequence[Value], rows: int) -> Value:
    """Return `rows` rows of `x` from the indices `start`, one per dimension, at least."""
    kind = row_type(x.type, rows)
    tensor = ir.RankedTensorType(kind)
    attrs = {"slice_sizes": hlo.i64s(tensor.shape)}
    return hlo.op1("stablehlo.dynamic_slice", kind, (x, *start[: tensor.rank]), attrs)


def write_rows(buffer: Value, rows: Value, start: Sequence[Value]) -> Value:
    """Return `buffer` with `rows` written at the indices `start`."""
    rank = ir.RankedTensorType(buffer.type).rank
    operands = (buffer, rows, *start[:rank])
    return hlo.op1("stablehlo.dynamic_update_slice", buffer.type, operands)


def stack_rows(rows: Sequence[Value]) -> Value:
    """Stack elements ``[...]`` to ``[n, ...]``."""
    parts = [as_row(x) for x in rows]
    if len(parts) == 1:
        return parts[0]
    kind = row_type(parts[0].type, len(parts))
    return hlo.op1("stablehlo.concatenate", kind, parts, {"dimension": hlo.i64(0)})


def rank(x: Value) -> int:
    """Return the number of dimensions."""
    return ir.RankedTensorType(x.type).rank
