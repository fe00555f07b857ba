"""Makers of rule rows: what derivative and batching columns are written with.

A maker takes the primitive first and returns a rule of the table's form, so a column reads as a
table: ``sin_p: jvp_of(sin_p, lambda t, x, **_: mul(t, cos(x)))``.
"""

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from tans_core import AxisData, LinearInput, Primitive, ShapedArray, Zero, typeof, zero_tangent
from tans_core.explicit_mode import spec_of
from tans_core.hi_types import MappingSpec, is_hi_type
from tans_core.sharding import named_sharding
from tans_lax.creation import zeros_like_aval
from tans_lax.elementwise.arithmetic import add_any_p
from tans_lax.mesh.specs import insert_entry
from tans_lax.mesh.states import vary_along
from tans_lax.reductions import reduce_sum
from tans_lax.shape import broadcast_in_dim_p, reshape, transpose_p
from tans_lax.user_types import respecified

type Value = Any  # an array, a Python scalar or a tracer; in tangents also a Zero
type Rule = Callable[..., Any]
type Contribution = Callable[..., Value] | None

__all__ = [
    "add_tangents",
    "align_batch",
    "batch_to_front",
    "broadcast_batch",
    "elementwise_batching",
    "instantiate_zeros",
    "jvp_of",
    "jvp_of_output",
    "linear_jvp",
    "linear_transpose_of",
    "move_axis",
    "not_differentiable",
    "not_linear",
    "reduce_to_type",
    "zero_derivative",
    "zeros_like_aval",
]


def add_tangents(a: Value, b: Value) -> Value:
    """Add two tangents or cotangents of one type; either may be a symbolic zero."""
    if type(a) is Zero:
        return b
    if type(b) is Zero:
        return a
    if type(getattr(a, "aval", None)) is not ShapedArray:
        aval = typeof(a)
        if is_hi_type(aval):
            return aval.vspace_add(a, b)
    return add_any_p.bind(a, b)


def instantiate_zeros(x: Value) -> Value:
    """Turn a symbolic zero into an array of zeros; return other values as they are."""
    return zeros_like_aval(x.aval) if type(x) is Zero else x


def reduce_to_type(ct: Value, aval: Any) -> Value:
    """Sum a cotangent over the dimensions along which an operand of type `aval` was repeated."""
    shape = typeof(ct).shape
    if shape == aval.shape:
        return ct
    own = aval.shape or (1,) * len(shape)
    axes = tuple(i for i, (a, b) in enumerate(zip(shape, own, strict=True)) if a != b)
    return reshape(reduce_sum(ct, axes) if axes else ct, aval.shape)


def jvp_of(primitive: Primitive, *parts: Contribution) -> Rule:
    """Make a JVP rule from one contribution per operand.

    Args:
      primitive: a primitive with one result.
      parts: ``part(tangent, *primals, **params)`` is the contribution of that operand's tangent to
        the tangent of the result; None when the operand has none.

    Returns:
      A JVP rule that calls the parts of the operands whose tangent is not zero.
    """
    bind = primitive.bind
    if len(parts) == 1 and parts[0] is not None:
        return _unary_jvp(bind, parts[0])

    def rule(primals: tuple[Value, ...], tangents: tuple[Value, ...], **params: Any) -> Any:
        out = bind(*primals, **params)
        total = None
        for part, tangent in zip(parts, tangents, strict=True):
            if part is not None and type(tangent) is not Zero:
                term = part(tangent, *primals, **params)
                total = term if total is None else add_tangents(total, term)
        return out, zero_tangent(typeof(out)) if total is None else total

    return rule


def _unary_jvp(bind: Callable[..., Value], part: Callable[..., Value]) -> Rule:
    def rule(primals: tuple[Value, ...], tangents: tuple[Value, ...], **params: Any) -> Any:
        out = bind(*primals, **params)
        tangent = tangents[0]
        if type(tangent) is Zero:
            return out, zero_tangent(typeof(out))
        return out, part(tangent, *primals, **params)

    return rule


def jvp_of_output(primitive: Primitive, *parts: Contribution) -> Rule:
    """Make a JVP rule whose contributions also read the result.

    Args:
      primitive: a primitive with one result.
      parts: ``part(tangent, out, *primals, **params)`` per operand, or None.

    Returns:
      A JVP rule that calls the parts of the operands whose tangent is not zero.
    """
    bind = primitive.bind

    def rule(primals: tuple[Value, ...], tangents: tuple[Value, ...], **params: Any) -> Any:
        out = bind(*primals, **params)
        total = None
        for part, tangent in zip(parts, tangents, strict=True):
            if part is not None and type(tangent) is not Zero:
                term = part(tangent, out, *primals, **params)
                total = term if total is None else add_tangents(total, term)
        return out, zero_tangent(typeof(out)) if total is None else total

    return rule


def linear_jvp(primitive: Primitive) -> Rule:
    """Make the JVP rule of a primitive that is linear in all operands together."""
    bind, multiple = primitive.bind, primitive.multiple_results

    def rule(primals: tuple[Value, ...], tangents: tuple[Value, ...], **params: Any) -> Any:
        out = bind(*primals, **params)
        zeros = [type(tangent) is Zero for tangent in tangents]
        if all(zeros):
            return out, _zeros_of(out, multiple)
        if any(zeros):
            tangents = tuple(map(instantiate_zeros, tangents))
        return out, bind(*tangents, **params)

    return rule


def linear_transpose_of(fn: Callable[..., Value]) -> Rule:
    """Make the transpose rule of a linear primitive with one operand.

    Args:
      fn: ``fn(ct, x_aval, **params)`` is the cotangent of the operand of type `x_aval`.
    """

    def rule(ct: Value, x: Value, **params: Any) -> tuple[Value]:
        return (fn(ct, x.aval, **params),)

    return rule


def zero_derivative(primitive: Primitive) -> Rule:
    """Make the JVP rule of a primitive whose derivative is zero wherever it exists."""
    bind, multiple = primitive.bind, primitive.multiple_results

    def rule(primals: tuple[Value, ...], tangents: tuple[Value, ...], **params: Any) -> Any:
        del tangents
        out = bind(*primals, **params)
        return out, _zeros_of(out, multiple)

    return rule


def _zeros_of(out: Value, multiple: bool) -> Any:
    if multiple:
        return [zero_tangent(typeof(x)) for x in out]
    return zero_tangent(typeof(out))


def not_differentiable(reason: str) -> Rule:
    """Make the JVP rule of a primitive that has no derivative on purpose; `reason` says why."""

    def rule(primals: tuple[Value, ...], tangents: tuple[Value, ...], **params: Any) -> NoReturn:
        del params
        types = ", ".join(typeof(x).str_short() for x in primals)
        varying = [i for i, tangent in enumerate(tangents) if type(tangent) is not Zero]
        raise NotImplementedError(
            f"no derivative: given operands of type {types}, differentiated in operand "
            f"{varying}, {reason}. Apply stop_gradient to those operands, or give the function "
            "a rule of its own with custom_jvp."
        )

    rule.not_differentiable = reason  # pyright: ignore[reportFunctionMemberAccess]
    return rule


def not_linear(ct: Value, *operands: Value, **params: Any) -> NoReturn:
    """Transpose row of a primitive that is linear in none of its operands."""
    del ct, params
    linear = [i for i, x in enumerate(operands) if type(x) is LinearInput]
    types = ", ".join(typeof_operand(x).str_short() for x in operands)
    raise NotImplementedError(
        f"can't transpose a non-linear operation on operands of type {types}: operands {linear} "
        "depend on a linear input, but the operation is not linear in them. Transpose linear "
        "functions only; a custom_jvp rule must be linear in its tangents."
    )


def typeof_operand(x: Value) -> Any:
    """Return the type of a transpose rule's operand, linear or not."""
    return x.aval if type(x) is LinearInput else typeof(x)


def move_axis(x: Value, source: int, destination: int) -> Value:
    """Move one dimension of `x`; the others keep their order."""
    if source == destination:
        return x
    permutation = [i for i in range(typeof(x).ndim) if i != source]
    permutation.insert(destination, source)
    return transpose_p.bind(x, permutation=tuple(permutation))


def broadcast_batch(x: Value, axis: AxisData, dim: int) -> Value:
    """Repeat an unmapped value along a new dimension `dim`, as the mapped axis is long."""
    aval = typeof(x)
    if is_hi_type(aval):
        return respecified(x, aval, axis.size, None, dim)
    shape = aval.shape
    kept = tuple(i if i < dim else i + 1 for i in range(len(shape)))
    new = (*shape[:dim], axis.size, *shape[dim:])
    sharding = None
    if axis.explicit_mesh_axis is not None:
        own = spec_of(aval)
        sharding = insert_entry(own, dim, axis.explicit_mesh_axis)
        sharding = named_sharding(axis.explicit_mesh, sharding)
    out = broadcast_in_dim_p.bind(x, shape=new, broadcast_dimensions=kept, sharding=sharding)
    return vary_along(out, axis.varies_along) if axis.varies_along else out


def batch_to_front(axis: Any, x: Value, dim: int | None) -> Value:
    """Return `x` with its mapped dimension first; an unmapped value is repeated."""
    if dim is None:
        return broadcast_batch(x, axis, 0)
    return x if isinstance(dim, MappingSpec) else move_axis(x, dim, 0)


def elementwise_batching(primitive: Primitive) -> Rule:
    """Make the batching rule of a primitive that works element by element.

    Operands of rank 0 that are not mapped stay as they are: the primitive broadcasts them.
    """
    bind = primitive.bind

    def rule(
        axis: Any, args: tuple[Value, ...], dims: tuple[int | None, ...], **params: Any
    ) -> tuple[Value, int]:
        if len(args) == 1:
            return bind(args[0], **params), dims[0]  # pyright: ignore[reportReturnType]
        args, dim = align_batch(axis, args, dims)
        return bind(*args, **params), dim

    return rule


def align_batch(
    axis: Any,
    args: Sequence[Value],
    dims: Sequence[int | None],
    may_stay_scalar: Sequence[bool] | None = None,
) -> tuple[Sequence[Value], int]:
    """Give operands of equal logical shape (or rank 0) one common mapped dimension.

    Args:
      axis: the mapped axis; its `size` is read.
      args: operands; at least one is mapped.
      dims: mapped dimension per operand, None when it is not mapped.
      may_stay_scalar: per operand, whether it may stay unmapped when its rank is 0 and that of the
        others is not; all may when None.

    Returns:
      The operands and the mapped dimension of those that have one.
    """
    shapes = [typeof(x).shape for x in args]
    first = next(d for d in dims if d is not None)
    if all(d == first for d in dims) and all(len(s) == len(shapes[0]) for s in shapes):
        return args, first
    ranks = [len(s) - (d is not None) for s, d in zip(shapes, dims, strict=True)]
    rank = max(ranks)
    dim = next((d for d, r in zip(dims, ranks, strict=True) if d is not None and r == rank), 0)
    full = _batched_shape(axis.size, shapes, dims, rank, dim)
    out = []
    for i, (x, d) in enumerate(zip(args, dims, strict=True)):
        scalar_may_stay = may_stay_scalar is None or may_stay_scalar[i]
        if d is None and ranks[i] == 0 and scalar_may_stay:
            out.append(x)
        elif ranks[i] < rank:
            kept = () if d is None else (dim,)
            out.append(
                broadcast_in_dim_p.bind(x, shape=full, broadcast_dimensions=kept, sharding=None)
            )
        elif d is None:
            out.append(broadcast_batch(x, axis, dim))
        else:
            out.append(move_axis(x, d, dim))
    return out, dim


def _batched_shape(
    size: int,
    shapes: Sequence[tuple[int, ...]],
    dims: Sequence[int | None],
    rank: int,
    dim: int,
) -> tuple[int, ...]:
    logical = [1] * rank
    for shape, d in zip(shapes, dims, strict=True):
        own = shape if d is None else shape[:d] + shape[d + 1 :]
        if len(own) == rank:
            logical = [b if a == 1 else a for a, b in zip(logical, own, strict=True)]
    logical.insert(dim, size)
    return tuple(logical)
