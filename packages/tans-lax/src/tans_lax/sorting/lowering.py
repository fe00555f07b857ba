"""StableHLO of sorting: the comparison of keys, and the selection of the largest."""

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from tans_core import Primitive
from tans_core.dtype_queries import issubdtype
from tans_core.dtypes import is_complex
from tans_lax.reductions.lowering import part_of
from tans_lax.sorting import sort_p, top_k_p
from tans_xla import hlo

type IrValue = Any


def _total_order_key(x: IrValue) -> IrValue:
    """Map a float to one whose total order is the sorting order: one zero, one nan, nan last."""
    kind = hlo.ir.RankedTensorType(x.type)
    zero, nan = (
        hlo.op1("stablehlo.constant", kind, (), {"value": _splat(kind, value)})
        for value in (0.0, np.nan)
    )
    one_zero = hlo.select(hlo.compare(x, zero, "EQ"), zero, x)
    return hlo.select(hlo.compare(x, x, "NE"), nan, one_zero)


def _splat(kind: Any, value: float) -> Any:
    return hlo.ir.DenseElementsAttr.get_splat(kind, hlo.ir.FloatAttr.get(kind.element_type, value))


def _keys(x: IrValue, dtype: Any) -> list[tuple[IrValue, str | None]]:
    """Return the values to compare for one operand, most significant first, with their order."""
    if is_complex(dtype):
        return [(_total_order_key(part_of(x, part)), "TOTALORDER") for part in ("real", "imag")]
    if issubdtype(dtype, np.inexact):
        return [(_total_order_key(x), "TOTALORDER")]
    return [(x, None)]


def _precedes(left: Sequence[Any], right: Sequence[Any]) -> IrValue:
    """Return whether the keys `left` come lexicographically before `right`."""
    (*earlier, (x, order)), (*_, (y, _)) = left, right
    result = hlo.compare(x, y, "LT", order)
    for (x, order), (y, _) in zip(reversed(earlier), reversed(right[:-1]), strict=True):
        less = hlo.compare(x, y, "LT", order)
        equal = hlo.compare(x, y, "EQ", order)
        tie = hlo.op1("stablehlo.and", less.type, (equal, result))
        result = hlo.op1("stablehlo.or", less.type, (less, tie))
    return result


def _sort_lower(
    ctx: Any, *operands: IrValue, dimension: int, is_stable: bool, num_keys: int
) -> list[IrValue]:
    attributes = {"dimension": hlo.i64(dimension), "is_stable": hlo.boolean(is_stable)}
    out = hlo.op("stablehlo.sort", ctx.result_types, operands, attributes, regions=1)
    scalars = [hlo.tensor_type((), aval.dtype) for aval in ctx.avals_in]
    with hlo.block(out, 0, [kind for kind in scalars for _ in range(2)]) as args:
        left: list[Any] = []
        right: list[Any] = []
        for index, aval in enumerate(ctx.avals_in[:num_keys]):
            left += _keys(args[2 * index], aval.dtype)
            right += _keys(args[2 * index + 1], aval.dtype)
        hlo.ret([_precedes(left, right)])
    return list(out.results)


def _top_k_lower(ctx: Any, x: IrValue, *, k: int, axis: int, is_stable: bool) -> list[IrValue]:
    (aval,) = ctx.avals_in
    last = aval.ndim - 1
    if axis != last:
        return _top_k_of_moved(ctx, x, k, axis, is_stable)
    return _top_k_op(ctx.result_types, x, k, is_stable)


def _top_k_op(result_types: Sequence[Any], x: IrValue, k: int, is_stable: bool) -> list[IrValue]:
    attributes = {"k": hlo.i64(k)}
    if not is_stable:
        attributes["is_stable"] = hlo.boolean(False)
    return list(hlo.op("chlo.top_k", result_types, (x,), attributes).results)


def _top_k_of_moved(ctx: Any, x: IrValue, k: int, axis: int, is_stable: bool) -> list[IrValue]:
    (aval,) = ctx.avals_in
    order = [d for d in range(aval.ndim) if d != axis] + [axis]
    back = sorted(range(aval.ndim), key=order.__getitem__)

    def moved(a: Any) -> Any:
        return a.update(shape=tuple(a.shape[d] for d in order))

    kinds = [hlo.ir_type(moved(a)) for a in ctx.avals_out]
    outs = _top_k_op(kinds, hlo.transpose(x, moved(aval), order), k, is_stable)
    return [hlo.transpose(out, a, back) for out, a in zip(outs, ctx.avals_out, strict=True)]


LOWERING: Final[dict[Primitive, Callable[..., Any]]] = {
    sort_p: _sort_lower,
    top_k_p: _top_k_lower,
}
