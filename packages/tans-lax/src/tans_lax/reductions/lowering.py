"""StableHLO of reductions."""

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from tans_core import ClosedJaxpr, Primitive, ShapedArray
from tans_core.dtypes import is_complex
from tans_core.explicit_mode import spec_of, type_sharding
from tans_lax.propagation import states_like
from tans_lax.reductions import (
    argmax_p,
    argmin_p,
    reduce_and_p,
    reduce_max_p,
    reduce_min_p,
    reduce_or_p,
    reduce_p,
    reduce_prod_p,
    reduce_sum_p,
    reduce_xor_p,
)
from tans_lax.reductions.monoids import MONOIDS, greatest, least
from tans_xla import hlo

type IrValue = Any
type Body = Callable[..., Sequence[IrValue]]


def monoid_body(name: str, dtype: Any) -> Body:
    """Return the region builder of a named fold on scalars of `dtype`."""
    if name in ("max", "min") and is_complex(dtype):
        direction = "GT" if name == "max" else "LT"
        return lambda x, y: [_complex_extremum(direction, x, y)]
    operation = f"stablehlo.{MONOIDS[name].operation}"
    return lambda x, y: [hlo.op1(operation, x.type, (x, y))]


def _complex_extremum(direction: str, x: IrValue, y: IrValue) -> IrValue:
    # Lexicographic: the imaginary parts decide where the real parts are equal.
    x_re, y_re = (part_of(z, "real") for z in (x, y))
    ties = hlo.compare(x_re, y_re, "EQ")
    by_real = hlo.compare(x_re, y_re, direction)
    by_imag = hlo.compare(part_of(x, "imag"), part_of(y, "imag"), direction)
    return hlo.select(hlo.select(ties, by_imag, by_real), x, y)


def part_of(z: IrValue, part: str) -> IrValue:
    """Return the real or imaginary part of a complex value; `part` is "real" or "imag"."""
    kind = hlo.ir.RankedTensorType(z.type)
    element = hlo.ir.ComplexType(kind.element_type).element_type
    return hlo.op1(f"stablehlo.{part}", hlo.ir.RankedTensorType.get(kind.shape, element), (z,))


def _named(name: str) -> Callable[..., IrValue]:
    identity = MONOIDS[name].identity

    def lower(ctx: Any, x: IrValue, *, axes: tuple[int, ...], **_: Any) -> IrValue:
        if not axes:
            return x
        (aval,) = ctx.avals_in
        if not _is_folded_over_devices(name, aval.dtype):
            (x,) = _gathered(ctx, [x], axes)
        init = hlo.full(ShapedArray((), aval.dtype), identity(aval.dtype))
        (out,) = hlo.reduce([x], [init], axes, ctx.result_types, monoid_body(name, aval.dtype))
        return out

    return lower


def _is_folded_over_devices(name: str, dtype: Any) -> bool:
    """Whether XLA has a collective for a fold."""
    if name in ("and", "or", "xor"):
        return name != "xor" and dtype == np.bool_
    return name not in ("max", "min") or not is_complex(dtype)


def _gathered(ctx: Any, operands: Sequence[IrValue], axes: Sequence[int]) -> list[IrValue]:
    """Gather the dimensions to fold: XLA folds over devices by a few named operations only."""
    mesh = ctx.builder.mesh
    avals = ctx.avals_in[: len(operands)]
    if mesh is None or not any(a.is_sharded for a in avals):
        return list(operands)
    whole = []
    for aval in avals:
        entries = spec_of(aval).partitions
        spec = states_like(aval, [None if d in axes else e for d, e in enumerate(entries)])
        whole.append(aval.update(sharding=type_sharding(mesh.abstract_mesh, spec, aval.ndim)))
    return ctx.constrain(operands, whole)


def _arg_extremum(direction: str, start: Callable[[Any], Any]) -> Callable[..., IrValue]:
    def body(x: IrValue, i: IrValue, y: IrValue, j: IrValue) -> list[IrValue]:
        # A nan on the left wins as the extremum; equal values are decided by the lower index.
        wins = hlo.compare(x, y, direction)
        left = wins
        if not isinstance(hlo.ir.RankedTensorType(x.type).element_type, hlo.ir.IntegerType):
            left = hlo.op1("stablehlo.or", wins.type, (wins, hlo.compare(x, x, "NE")))
        tie = hlo.compare(x, y, "EQ")
        earlier = hlo.compare(i, j, "LT")
        left_tie = hlo.op1("stablehlo.and", wins.type, (tie, earlier))
        left_index = hlo.op1("stablehlo.or", wins.type, (left, left_tie))
        return [hlo.select(left, x, y), hlo.select(left_index, i, j)]

    def lower(ctx: Any, x: IrValue, *, axes: tuple[int, ...], index_dtype: Any) -> IrValue:
        (aval,) = ctx.avals_in
        indices = hlo.iota(ShapedArray(aval.shape, index_dtype), axes[0])
        worst = hlo.full(ShapedArray((), aval.dtype), start(aval.dtype))
        zero = hlo.full(ShapedArray((), index_dtype), 0)
        (out_aval,) = ctx.avals_out
        kinds = [hlo.tensor_type(out_aval.shape, aval.dtype), *ctx.result_types]
        return hlo.reduce([x, indices], [worst, zero], axes, kinds, body)[1]

    return lower


def _reduce_lower(
    ctx: Any, *operands: IrValue, dimensions: tuple[int, ...], jaxpr: ClosedJaxpr
) -> list[IrValue]:
    count = len(operands) // 2
    operands = (*_gathered(ctx, operands[:count], dimensions), *operands[count:])

    def body(*scalars: IrValue) -> Sequence[IrValue]:
        return ctx.inline(jaxpr, *scalars)

    return hlo.reduce(operands[:count], operands[count:], dimensions, ctx.result_types, body)


LOWERING: Final[dict[Primitive, Callable[..., Any]]] = {
    reduce_sum_p: _named("sum"),
    reduce_prod_p: _named("prod"),
    reduce_max_p: _named("max"),
    reduce_min_p: _named("min"),
    reduce_and_p: _named("and"),
    reduce_or_p: _named("or"),
    reduce_xor_p: _named("xor"),
    argmax_p: _arg_extremum("GT", least),
    argmin_p: _arg_extremum("LT", greatest),
    reduce_p: _reduce_lower,
}
