"""Makers of lowering rules for operations that work element by element."""

from collections.abc import Callable, Sequence
from typing import Any

from tans_lax.elementwise.accuracy import AccuracyMode, Tolerance
from tans_xla import hlo

type IrValue = Any  # jaxlib's ir.Value
type LoweringRule = Callable[..., IrValue]


def one_op(name: str) -> LoweringRule:
    """Make the rule of an operation that is one compiler operation.

    Args:
      name: the compiler operation, such as ``stablehlo.add``.
    """

    def rule(ctx: Any, *operands: IrValue, **params: Any) -> IrValue:
        if len(operands) > 1:
            operands = spread(ctx, operands)
        accuracy = params.get("accuracy")
        attributes = {} if accuracy is None else {"result_accuracy": accuracy_attribute(accuracy)}
        return hlo.op1(name, ctx.result_type, operands, attributes)

    return rule


def by_dtype(real: LoweringRule, complex_: LoweringRule) -> LoweringRule:
    """Make a rule that takes one of two ways, by the first operand's dtype."""

    def rule(ctx: Any, *operands: IrValue, **params: Any) -> IrValue:
        way = complex_ if ctx.avals_in[0].dtype.kind == "c" else real
        return way(ctx, *operands, **params)

    return rule


def spread(ctx: Any, operands: Sequence[IrValue], dtype: Any = None) -> Sequence[IrValue]:
    """Repeat operands of rank 0, or of size 1 along a dimension, to the shape of the result.

    `dtype` is the operands' dtype when it is not that of `ctx.avals_in` any more.
    """
    shape = ctx.avals_out[0].shape
    avals = ctx.avals_in
    if all(aval.shape == shape for aval in avals):
        return operands
    if dtype is not None:
        avals = [aval.update(dtype=dtype) for aval in avals]
    return [spread_to(x, aval, shape) for x, aval in zip(operands, avals, strict=True)]


def spread_to(x: IrValue, aval: Any, shape: tuple[int, ...]) -> IrValue:
    """Repeat one value of type `aval` to `shape`; its rank is 0 or that of `shape`."""
    if aval.shape == shape:
        return x
    return hlo.broadcast_in_dim(x, aval.update(shape=shape), range(aval.ndim))


def accuracy_attribute(accuracy: Tolerance | AccuracyMode) -> Any:
    """Return the compiler attribute for a requested accuracy."""
    if isinstance(accuracy, AccuracyMode):
        fields = f"mode = #stablehlo.result_accuracy_mode<{accuracy.name}>"
    else:
        fields = (
            f"atol = {accuracy.atol:e}, rtol = {accuracy.rtol:e}, ulps = {accuracy.ulps}, "
            "mode = #stablehlo.result_accuracy_mode<TOLERANCE>"
        )
    return hlo.attribute(f"#stablehlo.result_accuracy<{fields}>")
