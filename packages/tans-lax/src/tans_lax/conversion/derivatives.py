"""Derivatives of changes of dtype."""

from typing import Any, Final

from tans_core import Primitive, Zero, dtypes, typeof, zero_tangent
from tans_lax.conversion import as_type, bitcast_convert_type_p, convert_element_type_p
from tans_lax.rows import Rule, linear_transpose_of, not_linear, zero_derivative

type Value = Any  # an array, a Python scalar or a tracer; in tangents also a Zero


def _convert_jvp(
    primals: tuple[Value], tangents: tuple[Value], *, new_dtype: Any, weak_type: bool, sharding: Any
) -> tuple[Value, Value]:
    params = {"new_dtype": new_dtype, "weak_type": weak_type, "sharding": sharding}
    out = convert_element_type_p.bind(primals[0], **params)
    (tangent,) = tangents
    if type(tangent) is Zero or not dtypes.is_inexact(new_dtype):
        return out, zero_tangent(typeof(out))
    return out, convert_element_type_p.bind(tangent, **params)


def _convert_transpose(
    ct: Value, x_aval: Any, *, new_dtype: Any, weak_type: bool, sharding: Any
) -> Value:
    return as_type(ct, x_aval.dtype, x_aval.weak_type)


JVP: Final[dict[Primitive, Rule]] = {
    convert_element_type_p: _convert_jvp,
    bitcast_convert_type_p: zero_derivative(bitcast_convert_type_p),
}

TRANSPOSE: Final[dict[Primitive, Rule]] = {
    convert_element_type_p: linear_transpose_of(_convert_transpose),
    bitcast_convert_type_p: not_linear,
}
