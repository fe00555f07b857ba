"""Lowering: the size, read from the shapes of the program's arguments."""

from typing import Any, Final

from tans_compiler.symbolic.dimension_values import dimension_value_p
from tans_xla import hlo
from tans_xla.lowering import LoweringContext


def _lower(ctx: LoweringContext, *, dim: Any) -> Any:
    result: Any = ctx.avals_out[0]
    return hlo.convert(hlo.size_value(dim), result)


LOWERING: Final = {dimension_value_p: _lower}
