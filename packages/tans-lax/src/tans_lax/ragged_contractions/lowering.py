"""Ragged products: an operation that TPUs and GPUs have kernels for, or a masked plain product."""

from typing import Any, Final

from tans_core import Primitive
from tans_lax.ragged_contractions import RaggedDotDimensionNumbers, ragged_dot_general_p
from tans_lax.ragged_contractions.labels import masked_product
from tans_xla import hlo
from tans_xla.lowering import ByPlatform, lower_as

type IrValue = Any

_masked: Final = lower_as(masked_product)


def _operation(
    ctx: Any,
    lhs: IrValue,
    rhs: IrValue,
    sizes: IrValue,
    *,
    ragged_dot_dimension_numbers: RaggedDotDimensionNumbers,
    precision: Any,
    **params: Any,
) -> IrValue:
    numbers = ragged_dot_dimension_numbers
    plain = type(precision) is not tuple and precision is not None
    if plain or ctx.avals_in[0].dtype != ctx.avals_in[1].dtype:
        params |= {"ragged_dot_dimension_numbers": numbers, "precision": precision}
        return _masked(ctx, lhs, rhs, sizes, **params)
    levels = precision or ("DEFAULT", "DEFAULT")
    (lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch) = numbers.dot_dimension_numbers
    fields = {
        "lhs_batching_dimensions": lhs_batch,
        "rhs_batching_dimensions": rhs_batch,
        "lhs_contracting_dimensions": lhs_contracting,
        "rhs_contracting_dimensions": rhs_contracting,
        "lhs_ragged_dimensions": numbers.lhs_ragged_dimensions,
        "rhs_group_dimensions": numbers.rhs_group_dimensions,
    }
    text = ", ".join(f"{name} = {list(axes)}" for name, axes in fields.items() if axes)
    levels_text = ", ".join(f"#chlo<precision {level}>" for level in levels)
    attributes = {
        "ragged_dot_dimension_numbers": hlo.attribute(f"#chlo.ragged_dot<{text}>"),
        "precision_config": hlo.attribute(f"[{levels_text}]"),
    }
    return hlo.op1("chlo.ragged_dot", ctx.result_type, (lhs, rhs, sizes), attributes)


LOWERING: Final[dict[Primitive, Any]] = {
    ragged_dot_general_p: ByPlatform(default=_masked, cuda=_operation, tpu=_operation),
}
