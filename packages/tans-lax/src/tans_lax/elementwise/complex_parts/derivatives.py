"""Derivatives of the parts of complex numbers.

Transposition is bilinear, without conjugation: <ct, f(z)> = <transpose(ct), z> for the product
``<a, b> = Re(a b)``.
"""

from typing import Any, Final

import numpy as np

from tans_core import LinearInput, Primitive, Zero, typeof, zero_tangent
from tans_lax.creation import full_like
from tans_lax.elementwise.arithmetic import neg
from tans_lax.elementwise.complex_parts import (
    complex,
    complex_p,
    conj,
    conj_p,
    imag,
    imag_p,
    real,
    real_p,
)
from tans_lax.rows import Rule, linear_jvp, linear_transpose_of, reduce_to_type
from tans_lax.shape import broadcast_to_shape

type Value = Any  # an array, a Python scalar or a tracer; in tangents also a Zero


def _complex_jvp(primals: tuple[Value, Value], tangents: tuple[Value, Value]) -> Any:
    out = complex_p.bind(*primals)
    if all(type(t) is Zero for t in tangents):
        return out, zero_tangent(typeof(out))
    shape = typeof(out).shape
    parts = [
        full_like(x, 0) if type(t) is Zero else t for x, t in zip(primals, tangents, strict=True)
    ]
    return out, complex(*(broadcast_to_shape(part, shape) for part in parts))


def _complex_transpose(ct: Value, x: Value, y: Value) -> tuple[Value, Value]:
    return (
        reduce_to_type(real(ct), x.aval) if type(x) is LinearInput else None,
        reduce_to_type(neg(imag(ct)), y.aval) if type(y) is LinearInput else None,
    )


def _conj_transpose(ct: Value, x_aval: Any, *, input_dtype: np.dtype) -> Value:
    return conj(ct) if input_dtype.kind == "c" else real(ct)


JVP: Final[dict[Primitive, Rule]] = {
    real_p: linear_jvp(real_p),
    imag_p: linear_jvp(imag_p),
    complex_p: _complex_jvp,
    conj_p: linear_jvp(conj_p),
}

TRANSPOSE: Final[dict[Primitive, Rule]] = {
    real_p: linear_transpose_of(lambda ct, z: complex(ct, full_like(ct, 0))),
    imag_p: linear_transpose_of(lambda ct, z: complex(full_like(ct, 0), neg(ct))),
    complex_p: _complex_transpose,
    conj_p: linear_transpose_of(_conj_transpose),
}
