"""Derivatives of changes of sharding: the cotangent goes to the operand's cotangent type."""

from typing import Any, Final

from tans_core import Primitive
from tans_lax.mesh import reshard_p, reshard_to_type, sharding_constraint_p
from tans_lax.rows import linear_jvp, linear_transpose_of

type Value = Any


def _reshard_transpose(ct: Value, x_aval: Any, **params: Any) -> Value:
    del params
    return reshard_to_type(ct, x_aval.to_cotangent())


def _sharding_constraint_transpose(ct: Value, x_aval: Any, **params: Any) -> Value:
    del x_aval
    return sharding_constraint_p.bind(ct, **params)


JVP: Final[dict[Primitive, Any]] = {
    reshard_p: linear_jvp(reshard_p),
    sharding_constraint_p: linear_jvp(sharding_constraint_p),
}

TRANSPOSE: Final[dict[Primitive, Any]] = {
    reshard_p: linear_transpose_of(_reshard_transpose),
    sharding_constraint_p: linear_transpose_of(_sharding_constraint_transpose),
}
