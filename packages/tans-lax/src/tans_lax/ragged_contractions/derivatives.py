"""Derivatives of ragged products, which are linear in each operand; see `labels`."""

from collections.abc import Callable
from typing import Any, Final

import tans_lax as lax
from tans_core import LinearInput, Primitive
from tans_lax.ragged_contractions import RaggedDotDimensionNumbers, ragged_dot_general_p
from tans_lax.ragged_contractions.labels import Labels, Roles, product, roles_of
from tans_lax.rows import jvp_of, typeof_operand

type Value = Any


def _of_lhs(t: Value, lhs: Value, rhs: Value, sizes: Value, **params: Any) -> Value:
    del lhs
    return ragged_dot_general_p.bind(t, rhs, sizes, **params)


def _of_rhs(t: Value, lhs: Value, rhs: Value, sizes: Value, **params: Any) -> Value:
    del rhs
    return ragged_dot_general_p.bind(lhs, t, sizes, **params)


def _transpose(
    ct: Value,
    lhs: Value,
    rhs: Value,
    sizes: Value,
    *,
    ragged_dot_dimension_numbers: RaggedDotDimensionNumbers,
    precision: Any,
    **_: Any,
) -> tuple[Value, Value, None]:
    lhs_aval, rhs_aval = typeof_operand(lhs), typeof_operand(rhs)
    roles = roles_of(ragged_dot_dimension_numbers, lhs_aval.ndim, rhs_aval.ndim)
    if type(lhs) is LinearInput:
        return _other(ct, rhs, roles.rhs, sizes, roles.lhs, lhs_aval, roles, precision), None, None
    return None, _other(ct, lhs, roles.lhs, sizes, roles.rhs, rhs_aval, roles, precision), None


def _other(
    ct: Value,
    x: Value,
    labels: Labels,
    sizes: Value,
    out: Labels,
    out_aval: Any,
    roles: Roles,
    precision: Any,
) -> Value:
    """Return the cotangent of one operand, with labels `out`, from that of the result."""
    if type(precision) is tuple:
        precision = precision[::-1]
    params = {"precision": precision, "preferred_element_type": out_aval.dtype}
    first, second = (ct, roles.out), (x, labels)
    if roles.ragged not in roles.out:
        first, second = second, first
    result = product(*first, *second, sizes, out, roles, **params)
    return lax.convert_element_type(result, out_aval.dtype)


JVP: Final[dict[Primitive, Callable[..., Any]]] = {
    ragged_dot_general_p: jvp_of(ragged_dot_general_p, _of_lhs, _of_rhs, None),
}

TRANSPOSE: Final[dict[Primitive, Callable[..., Any]]] = {
    ragged_dot_general_p: _transpose,
}
