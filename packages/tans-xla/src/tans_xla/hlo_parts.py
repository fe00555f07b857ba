"""Operations on parts of arrays whose sizes may be symbolic: slices, pads, foreign calls.

With numbers they are StableHLO's usual operations; with a symbolic size those that read sizes from
operands.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tans_core import ShapedArray
from tans_xla import hlo
from tans_xla.sizes import Size, has_symbolic, is_symbolic

type Value = Any  # ir.Value


def size(value: Size, aval: ShapedArray) -> Value:
    """Return a size as a scalar of a type."""
    return hlo.convert(hlo.size_value(value), aval) if is_symbolic(value) else hlo.full(aval, value)


def sizes(values: Sequence[Size], aval: ShapedArray) -> Value:
    """Return sizes as a vector of a type."""
    if has_symbolic(values):
        return hlo.convert(hlo.shape_value(values), aval)
    return hlo.constant(np.array(values), aval)


def pairs(padding: Sequence[tuple[Size, Size]]) -> Value:
    """Return a padding as an array ``[dimensions, 2]`` of 32-bit integers."""
    flat = hlo.shape_value([n for pair in padding for n in pair])
    return hlo.reshape(flat, ShapedArray((len(padding), 2), np.int32))


def slice_between(
    x: Value,
    aval_out: ShapedArray,
    starts: Sequence[Size],
    limits: Sequence[Size],
    strides: Sequence[int] | None = None,
) -> Value:
    """Take the elements from `starts` up to, but without, `limits`."""
    steps = (1,) * len(starts) if strides is None else strides
    kind = hlo.ir_type(aval_out)
    if has_symbolic((*starts, *limits, *steps)):
        bounds = [hlo.shape_value(part) for part in (starts, limits, steps)]
        return hlo.op1("stablehlo.real_dynamic_slice", kind, (x, *bounds))
    attributes = {
        "start_indices": hlo.i64s(starts),
        "limit_indices": hlo.i64s(limits),
        "strides": hlo.i64s(steps),
    }
    return hlo.op1("stablehlo.slice", kind, (x,), attributes)


def slice_at(
    x: Value, aval: ShapedArray, starts: Sequence[Value], sizes: Sequence[Size], kind: Any
) -> Value:
    """Take a window at positions that are scalars of the program, moved so that it fits.

    Args:
      x: value to take from.
      aval: its physical type.
      starts: one integer scalar per dimension.
      sizes: of the window.
      kind: MLIR type of the result.
    """
    if not has_symbolic(sizes):
        attributes = {"slice_sizes": hlo.i64s(sizes)}
        return hlo.op1("stablehlo.dynamic_slice", kind, (x, *starts), attributes)
    vector = ShapedArray((len(sizes),), np.int32)
    one = hlo.tensor_type((1,), np.int32)
    scalar = ShapedArray((), np.int32)
    parts = [hlo.op1("stablehlo.reshape", one, (hlo.convert(i, scalar),)) for i in starts]
    joined = hlo.op1("stablehlo.concatenate", hlo.ir_type(vector), parts, {"dimension": hlo.i64(0)})
    room = [n - size for n, size in zip(aval.shape, sizes, strict=True)]
    ends = (hlo.zeros(vector), joined, hlo.shape_value(room))
    low = hlo.op1("stablehlo.clamp", joined.type, ends)
    high = hlo.op1("stablehlo.add", low.type, (low, hlo.shape_value(sizes)))
    steps = hlo.shape_value((1,) * len(sizes))
    return hlo.op1("stablehlo.real_dynamic_slice", kind, (x, low, high, steps))


def pad(
    x: Value, value: Value, aval_out: ShapedArray, config: Sequence[tuple[Size, Size, Size]]
) -> Value:
    """Add elements in front of, behind and between those of each dimension."""
    parts = tuple(zip(*config, strict=True)) if config else ((), (), ())
    kind = hlo.ir_type(aval_out)
    if any(map(has_symbolic, parts)):
        operands = [x, value, *map(hlo.shape_value, parts)]
        return hlo.op1("stablehlo.dynamic_pad", kind, operands)
    names = ("edge_padding_low", "edge_padding_high", "interior_padding")
    attributes = {name: hlo.i64s(part) for name, part in zip(names, parts, strict=True)}
    return hlo.op1("stablehlo.pad", kind, (x, value), attributes)


def custom_call(
    results: Sequence[ShapedArray], operands: Sequence[Value], attributes: dict[str, Any]
) -> list[Value]:
    """Call a library function; shapes of results with symbolic sizes are operands too."""
    kinds = [hlo.ir_type(a) for a in results]
    if any(has_symbolic(a.shape) for a in results):
        count = len(operands)
        operands = [*operands, *(hlo.shape_value(a.shape) for a in results)]
        places = np.arange(count, len(operands), dtype=np.int64)
        attributes = attributes | {"indices_of_shape_operands": hlo.dense(places)}
    return list(hlo.op("stablehlo.custom_call", kinds, operands, attributes).results)
