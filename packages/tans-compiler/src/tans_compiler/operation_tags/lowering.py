"""Lowering: attributes on the call of a function, and on the operation that made a value."""

from typing import Any, Final

from tans_compiler.operation_tags import Tags, xla_metadata_call_p, xla_metadata_value_p
from tans_core import ClosedJaxpr
from tans_xla.lowering import LoweringContext
from tans_xla.operation_metadata import set_attributes

type Value = Any  # ir.Value


def _call_lower(
    ctx: LoweringContext, *operands: Value, jaxpr: ClosedJaxpr, xla_metadata: Tags, **_: Any
) -> list[Value]:
    return ctx.call("xla_metadata_call", jaxpr, *operands, metadata=xla_metadata)


def _value_lower(ctx: LoweringContext, x: Value, *, xla_metadata_kvs: Tags) -> Value:
    del ctx
    operation = x.owner
    if hasattr(operation, "attributes"):  # a block owns the arguments of a function
        set_attributes(operation, xla_metadata_kvs)
    return x


LOWERING: Final = {
    xla_metadata_call_p: _call_lower,
    xla_metadata_value_p: _value_lower,
}
