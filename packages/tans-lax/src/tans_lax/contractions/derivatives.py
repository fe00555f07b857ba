"""Derivatives of `dot_general`, which is linear in each operand.

For out[b, i, j] = sum_k lhs[b, i, k] rhs[b, k, j] the cotangents are

    lhs_bar[b, i, k] = sum_j ct[b, i, j] rhs[b, k, j],
    rhs_bar[b, k, j] = sum_i lhs[b, i, k] ct[b, i, j].

Each is one product, taken in the operand order that gives the operand's own layout where one does.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import Any, Final

import tans_lax as lax
from tans_core import Primitive, ShapedArray, is_linear_input, typeof
from tans_core.dtypes import is_complex
from tans_core.sharding import named_sharding
from tans_lax.contractions import dot_general_p
from tans_lax.contractions.types import Axes, DimensionNumbers, free_axes
from tans_lax.mesh.specs import of_cotangent
from tans_lax.rows import jvp_of, not_linear

type Value = Any


def _lhs_tangent(t: Value, lhs: Value, rhs: Value, **params: Any) -> Value:
    del lhs
    return dot_general_p.bind(t, rhs, **params)


def _rhs_tangent(t: Value, lhs: Value, rhs: Value, **params: Any) -> Value:
    del rhs
    return dot_general_p.bind(lhs, t, **params)


def _dot_general_transpose(
    ct: Value, lhs: Value, rhs: Value, *, dimension_numbers: DimensionNumbers, **params: Any
) -> tuple[Value | None, Value | None]:
    if is_linear_input(lhs) and is_linear_input(rhs):
        not_linear(ct, lhs, rhs)
    (lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch) = dimension_numbers
    lhs_aval = lhs.aval if is_linear_input(lhs) else typeof(lhs)
    rhs_aval = rhs.aval if is_linear_input(rhs) else typeof(rhs)
    batch = len(lhs_batch)
    lhs_free = free_axes(lhs_aval.ndim, lhs_contracting, lhs_batch)
    rhs_free = free_axes(rhs_aval.ndim, rhs_contracting, rhs_batch)
    ct_lhs = tuple(range(batch, batch + len(lhs_free)))
    ct_rhs = tuple(range(batch + len(lhs_free), batch + len(lhs_free) + len(rhs_free)))
    if is_linear_input(lhs):
        other = _Operand(rhs, rhs_contracting, rhs_free, rhs_batch)
        layout = (lhs_batch, lhs_free, lhs_contracting)
        return _cotangent(ct, ct_rhs, other, lhs_aval, layout, params), None
    other = _Operand(lhs, lhs_contracting, lhs_free, lhs_batch)
    layout = (rhs_batch, rhs_free, rhs_contracting)
    return None, _cotangent(ct, ct_lhs, other, rhs_aval, layout, params)


class _Operand:
    """The operand that is not being transposed, with the roles of its axes."""

    def __init__(self, value: Value, contracting: Axes, free: Axes, batch: Axes) -> None:
        self.value = value
        self.contracting = contracting
        self.free = free
        self.batch = batch


def _cotangent(
    ct: Value,
    ct_contracting: Axes,
    other: _Operand,
    target: ShapedArray,
    layout: tuple[Axes, Axes, Axes],
    params: dict[str, Any],
) -> Value:
    """Multiply `ct` with the other operand and bring the axes into the target's order.

    Args:
      ct: cotangent of the product.
      ct_contracting: axes of `ct` that belong to the other operand.
      other: the other operand; its free axes are contracted with them.
      target: type of the operand whose cotangent is wanted.
      layout: the target's batch axes, free axes and contracting axes.
      params: precision, element type and sharding of the product.
    """
    target_batch, target_free, target_contracting = layout
    # The product keeps the other's contracting axes in ascending order; pair them accordingly.
    order = sorted(range(len(other.contracting)), key=other.contracting.__getitem__)
    target_contracting = tuple(target_contracting[i] for i in order)
    ct_batch = tuple(range(len(other.batch)))
    ct_first = (*target_batch, *target_free, *target_contracting)
    other_first = (*target_batch, *target_contracting, *target_free)
    swapped = _is_sorted(other_first) and not _is_sorted(ct_first)
    axes = other_first if swapped else ct_first
    params |= {"out_sharding": _permuted_sharding(axes, target, ct, other.value)}
    if swapped:
        numbers = ((other.free, ct_contracting), (other.batch, ct_batch))
        product = dot_general_p.bind(other.value, ct, dimension_numbers=numbers, **params)
    else:
        numbers = ((ct_contracting, other.free), (ct_batch, other.batch))
        product = dot_general_p.bind(ct, other.value, dimension_numbers=numbers, **params)
    if not _is_sorted(axes):
        permutation = tuple(sorted(range(len(axes)), key=axes.__getitem__))
        product = lax.transpose(product, permutation)
    return _with_dtype(product, target)


def _permuted_sharding(axes: Axes, target: ShapedArray, ct: Value, other: Value) -> Any:
    """Return the sharding of a cotangent whose dimensions stand in the order `axes`."""
    sharding = of_cotangent(target.to_cotangent(), typeof(ct), typeof(other))
    if sharding is None:
        return None
    partitions = tuple(sharding.spec.partitions[axis] for axis in axes)
    return named_sharding(sharding.mesh, sharding.spec.update(partitions=partitions))


def _is_sorted(axes: Axes) -> bool:
    return all(a < b for a, b in pairwise(axes))


def _with_dtype(product: Value, target: ShapedArray) -> Value:
    dtype = typeof(product).dtype
    if dtype == target.dtype:
        return product
    if is_complex(dtype) and not is_complex(target.dtype):
        product = lax.real(product)
    return lax.convert_element_type(product, target.dtype)


JVP: Final[dict[Primitive, Callable[..., Any]]] = {
    dot_general_p: jvp_of(dot_general_p, _lhs_tangent, _rhs_tangent),
}

TRANSPOSE: Final[dict[Primitive, Callable[..., Any]]] = {
    dot_general_p: _dot_general_transpose,
}
