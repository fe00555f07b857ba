"""Building StableHLO: types, attributes and the operations that lowering rules need most.

All functions build at the current insertion point of the active context. Operations are made with
`ir.Operation.create` and known result types, which costs half of the generated builders.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import ml_dtypes
import numpy as np

from tans_core import AbstractToken, AbstractValue, ShapedArray
from tans_xla._jaxlib import ir
from tans_xla.mlir_context import active
from tans_xla.physical import physical_aval
from tans_xla.sizes import has_symbolic, is_symbolic

_FLOATS = {
    "float16": "f16",
    "bfloat16": "bf16",
    "float32": "f32",
    "float64": "f64",
    "float4_e2m1fn": "f4E2M1FN",
    "float8_e3m4": "f8E3M4",
    "float8_e4m3": "f8E4M3",
    "float8_e4m3fn": "f8E4M3FN",
    "float8_e4m3fnuz": "f8E4M3FNUZ",
    "float8_e4m3b11fnuz": "f8E4M3B11FNUZ",
    "float8_e5m2": "f8E5M2",
    "float8_e5m2fnuz": "f8E5M2FNUZ",
    "float8_e8m0fnu": "f8E8M0FNU",
    "complex64": "complex<f32>",
    "complex128": "complex<f64>",
}


# ---- types ------------------------------------------------------------------------------------


def scalar_type(dtype: Any) -> Any:
    """Return the element type of a NumPy dtype."""
    name = dtype.name if isinstance(dtype, np.dtype) else np.dtype(dtype).name
    return active().cached(("element", name), lambda: ir.Type.parse(_element_text(name)))


def _element_text(name: str) -> str:
    if name in ("bool", "uint1") or name.startswith("void"):  # float0 is stored as bool
        return "i1"
    if name in _FLOATS:
        return _FLOATS[name]
    kind, bits = ("ui", name[4:]) if name.startswith("uint") else ("i", name[3:])
    return kind + bits


def tensor_type(shape: Sequence[int], dtype: Any) -> Any:
    """Return the ranked tensor type of a shape and a NumPy dtype."""
    if has_symbolic(shape):
        unknown = ir.ShapedType.get_dynamic_size()
        shape = [unknown if is_symbolic(d) else d for d in shape]
    return ir.RankedTensorType.get(shape, scalar_type(dtype))


def size_value(size: Any) -> Any:
    """Emit a size as a 32-bit integer.

    Raises:
      ValueError: it is a symbolic size of another program.
    """
    if not is_symbolic(size):
        kind = tensor_type((), np.int32)
        return op1("stablehlo.constant", kind, (), {"value": dense(np.array(size, np.int32))})
    emit = active().sizes
    if emit is None:
        raise ValueError(
            f"symbolic size '{size}': given in a program whose arguments have no symbolic sizes, "
            "expected numbers, or a program that is exported for an argument with this size. Pass "
            "shapes of numbers, or put the call into the function that tans.export exports."
        )
    return emit(size)


def shape_value(shape: Sequence[Any]) -> Any:
    """Emit sizes as an array of 32-bit integers, the operand of operations with dynamic shapes."""
    if not has_symbolic(shape):
        kind = tensor_type((len(shape),), np.int32)
        return op1("stablehlo.constant", kind, (), {"value": dense(np.array(shape, np.int32))})
    one = tensor_type((1,), np.int32)
    parts = [op1("stablehlo.reshape", one, (size_value(d),)) for d in shape]
    kind = tensor_type((len(parts),), np.int32)
    return op1("stablehlo.concatenate", kind, parts, {"dimension": i64(0)})


def ir_type(aval: Any) -> Any:
    """Return the MLIR type of an abstract value (of its physical form for extended dtypes)."""
    types = active().types
    found = types.get(aval)
    if found is None:
        found = types[aval] = _make_type(aval)
    return found


def _make_type(aval: Any) -> Any:
    if isinstance(aval, AbstractToken):
        return ir.Type.parse("!stablehlo.token")
    physical = physical_aval(aval)
    return tensor_type(physical.shape, physical.dtype)


# ---- attributes -------------------------------------------------------------------------------


def i64s(values: Sequence[int]) -> Any:
    """Return an array of 64-bit integers."""
    key = tuple(values)
    return active().cached(("i64s", key), lambda: ir.DenseI64ArrayAttr.get(key))


def bools(values: Sequence[bool]) -> Any:
    """Return an array of booleans."""
    key = tuple(values)
    return active().cached(("bools", key), lambda: ir.DenseBoolArrayAttr.get(key))


def i64_matrix(rows: Sequence[Sequence[int]], columns: int) -> Any:
    """Return a dense matrix of 64-bit integers, such as a padding."""
    data = np.asarray(rows, np.int64).reshape(len(rows), columns)
    return ir.DenseElementsAttr.get(data, shape=data.shape)


def i64(value: int) -> Any:
    """Return a 64-bit integer attribute."""
    return attribute(f"{value} : i64")


def i32(value: int) -> Any:
    """Return a 32-bit integer attribute."""
    return attribute(f"{value} : i32")


def boolean(value: bool) -> Any:
    """Return a boolean attribute."""
    return attribute("true" if value else "false")


def string(value: str) -> Any:
    """Return a string attribute."""
    return active().cached(("string", value), lambda: ir.StringAttr.get(value))


def unit() -> Any:
    """Return the attribute that is there or not."""
    return ir.UnitAttr.get()


def dictionary(entries: dict[str, Any]) -> Any:
    """Return a dictionary of attributes."""
    return ir.DictAttr.get(entries)


def array(values: Sequence[Any]) -> Any:
    """Return an array of attributes."""
    return ir.ArrayAttr.get(list(values))


def attribute(text: str) -> Any:
    """Parse an attribute from its text; cached."""
    return active().cached(("text", text), lambda: ir.Attribute.parse(text))


def symbol(name: str) -> Any:
    """Return a reference to a function of the module."""
    return ir.FlatSymbolRefAttr.get(name)


def comparison(direction: str) -> Any:
    """Return the comparison direction EQ, NE, LT, LE, GT or GE."""
    return attribute(f"#stablehlo<comparison_direction {direction}>")


def dense(data: np.ndarray) -> Any:
    """Return the elements of a NumPy array of any supported dtype."""
    data = np.ascontiguousarray(data).reshape(data.shape)
    shape, dtype = data.shape, data.dtype
    if dtype.names is not None or (dtype.kind == "V" and dtype.itemsize == 0):
        data = np.zeros(shape, bool)
        dtype = data.dtype
    element = scalar_type(dtype)
    if dtype.kind == "c":
        part = np.float32 if dtype == np.complex64 else np.float64
        parts = data.reshape(-1).view(part)
        return ir.DenseElementsAttr.get(parts, type=element, shape=shape)
    if dtype.kind in "biuf" and dtype.type.__module__ == "numpy":
        if dtype.kind == "u":
            return ir.DenseElementsAttr.get(data, type=element, shape=shape)
        return ir.DenseElementsAttr.get(data, shape=shape)
    if dtype.name in ("int1", "int2", "int4", "uint1", "uint2", "uint4"):
        return ir.DenseElementsAttr.get(data.astype(np.int8), type=element, shape=shape)
    if dtype == ml_dtypes.float4_e2m1fn:
        return ir.DenseElementsAttr.get(data.view(np.uint8), type=element, shape=shape)
    raw = np.uint16 if dtype.itemsize == 2 else np.uint8
    return ir.DenseElementsAttr.get(data.view(raw), type=element, shape=shape)


# ---- operations -------------------------------------------------------------------------------


def op(
    name: str,
    result_types: Sequence[Any],
    operands: Sequence[Any],
    attributes: dict[str, Any] | None = None,
    regions: int = 0,
) -> Any:
    """Create an operation and return it."""
    return ir.Operation.create(name, result_types, operands, attributes, None, regions)


def op1(
    name: str, result_type: Any, operands: Sequence[Any], attributes: dict[str, Any] | None = None
) -> Any:
    """Create an operation with one result and return the result."""
    return ir.Operation.create(name, (result_type,), operands, attributes).results[0]


def constant(value: Any, aval: AbstractValue) -> Any:
    """Return a constant with the type of `aval`; one element is spread over a larger shape."""
    aval = physical_aval(aval)
    data = np.asarray(value)
    if data.dtype != aval.dtype:
        data = data.astype(aval.dtype)
    if data.shape == aval.shape:
        attr = dense(data)
    elif data.dtype.kind == "c" or has_symbolic(aval.shape):  # the binding has no complex splats
        one = constant(data.reshape(()), aval.update(shape=()))
        return broadcast_in_dim(one, aval, ())
    else:
        attr = _splat(data, aval)
    return op1("stablehlo.constant", ir_type(aval), (), {"value": attr})


def _splat(data: np.ndarray, aval: ShapedArray) -> Any:
    one = dense(data.reshape(()))
    return ir.DenseElementsAttr.get_splat(ir_type(aval), one.get_splat_value())


def full(aval: ShapedArray, value: Any) -> Any:
    """Return an array filled with a Python or NumPy scalar, as one constant."""
    return constant(value, aval)


def zeros(aval: ShapedArray) -> Any:
    """Return an array of zeros."""
    return full(aval, 0)


def iota(aval: ShapedArray, dimension: int) -> Any:
    """Return an array that counts along one dimension."""
    if has_symbolic(aval.shape):
        attrs = {"iota_dimension": i64(dimension)}
        return op1("stablehlo.dynamic_iota", ir_type(aval), (shape_value(aval.shape),), attrs)
    return op1("stablehlo.iota", ir_type(aval), (), {"iota_dimension": i64(dimension)})


def literal_value(x: Any) -> Any:
    """Return the attribute of a constant's value when `x` is a splat constant, else None."""
    owner = x.owner
    if isinstance(owner, ir.Block) or owner.name != "stablehlo.constant":
        return None
    if isinstance(ir.RankedTensorType(x.type).element_type, ir.ComplexType):
        return None
    value = ir.DenseElementsAttr(owner.attributes["value"])
    return value if value.is_splat else None


def broadcast_in_dim(x: Any, aval_out: ShapedArray, dimensions: Sequence[int]) -> Any:
    """Broadcast; a scalar constant becomes one constant of the larger shape."""
    if has_symbolic(aval_out.shape):
        attrs = {"broadcast_dimensions": i64s(dimensions)}
        sizes = shape_value(aval_out.shape)
        return op1("stablehlo.dynamic_broadcast_in_dim", ir_type(aval_out), (x, sizes), attrs)
    if not dimensions:
        splat = literal_value(x)
        if splat is not None:
            kind = ir_type(aval_out)
            attr = ir.DenseElementsAttr.get_splat(kind, splat.get_splat_value())
            return op1("stablehlo.constant", kind, (), {"value": attr})
    attrs = {"broadcast_dimensions": i64s(dimensions)}
    return op1("stablehlo.broadcast_in_dim", ir_type(aval_out), (x,), attrs)


def broadcast_operands(ctx: Any, operands: Sequence[Any]) -> list[Any]:
    """Broadcast the rank-0 operands of an elementwise operation to the largest operand's shape."""
    shape = max((a.shape for a in ctx.avals_in), key=len)
    return [
        x if len(a.shape) == len(shape) else broadcast_in_dim(x, a.update(shape=shape), ())
        for x, a in zip(operands, ctx.avals_in, strict=True)
    ]


def reshape(x: Any, aval_out: ShapedArray) -> Any:
    """Reshape, or return `x` when its type is right already."""
    kind = ir_type(aval_out)
    if has_symbolic(aval_out.shape):
        return op1("stablehlo.dynamic_reshape", kind, (x, shape_value(aval_out.shape)))
    return x if x.type == kind else op1("stablehlo.reshape", kind, (x,))


def transpose(x: Any, aval_out: ShapedArray, permutation: Sequence[int]) -> Any:
    """Permute dimensions."""
    attrs = {"permutation": i64s(permutation)}
    return op1("stablehlo.transpose", ir_type(aval_out), (x,), attrs)


def convert(x: Any, aval_out: ShapedArray) -> Any:
    """Convert the element type."""
    return op1("stablehlo.convert", ir_type(aval_out), (x,))


def compare(x: Any, y: Any, direction: str, kind: str | None = None) -> Any:
    """Compare; `kind` is FLOAT, TOTALORDER, SIGNED or UNSIGNED (None: by the element type)."""
    source = ir.RankedTensorType(x.type)
    result = ir.RankedTensorType.get(source.shape, scalar_type(np.dtype(bool)))
    attrs = {"comparison_direction": comparison(direction)}
    if kind is None:
        kind = _comparison_kind(source.element_type)
    attrs["compare_type"] = attribute(f"#stablehlo<comparison_type {kind}>")
    return op1("stablehlo.compare", result, (x, y), attrs)


def _comparison_kind(element: Any) -> str:
    if isinstance(element, ir.IntegerType):
        return "UNSIGNED" if element.is_unsigned or element.width == 1 else "SIGNED"
    return "FLOAT"


def select(predicate: Any, on_true: Any, on_false: Any) -> Any:
    """Choose element by element."""
    return op1("stablehlo.select", on_true.type, (predicate, on_true, on_false))


# ---- regions ----------------------------------------------------------------------------------


@contextmanager
def block(operation: Any, region: int, arg_types: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
    """Context manager: append a block to a region, build inside it, yield its arguments."""
    new = operation.regions[region].blocks.append(*arg_types)
    with ir.InsertionPoint(new):
        yield tuple(new.arguments)


def ret(values: Sequence[Any]) -> None:
    """End a region with ``stablehlo.return``."""
    op("stablehlo.return", (), tuple(values))


def reduce(
    operands: Sequence[Any],
    inits: Sequence[Any],
    dimensions: Sequence[int],
    result_types: Sequence[Any],
    body: Callable[..., Sequence[Any]],
) -> list[Any]:
    """Build a variadic reduction; ``body(*accumulators, *elements)`` returns the accumulators."""
    out = op(
        "stablehlo.reduce",
        result_types,
        (*operands, *inits),
        {"dimensions": i64s(dimensions)},
        regions=1,
    )
    scalars = [x.type for x in inits]
    with block(out, 0, [*scalars, *scalars]) as args:
        ret(body(*args))
    return list(out.results)
