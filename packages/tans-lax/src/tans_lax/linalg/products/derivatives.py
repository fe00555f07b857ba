"""Derivatives of symmetric products: linear in `c`, ``da a^T + a da^T`` in `a`."""

from collections.abc import Callable
from typing import Any, Final

import tans_lax as lax
from tans_core import LinearInput, Primitive, typeof
from tans_lax.linalg.matrices import matmul, transposed
from tans_lax.linalg.products import symmetric_product_p
from tans_lax.rows import jvp_of

type Value = Any


def _of_a(a_dot: Value, a: Value, c: Value, *, alpha: float, beta: float) -> Value:
    del c, beta
    half = lax.mul(typeof(a).dtype.type(alpha), matmul(a_dot, transposed(a)))
    return lax.add(half, transposed(half))


def _of_c(c_dot: Value, a: Value, c: Value, *, alpha: float, beta: float) -> Value:
    del a, c, alpha
    return lax.mul(typeof(c_dot).dtype.type(beta), c_dot)


def _transpose(ct: Value, a: Value, c: Value, *, alpha: float, beta: float) -> tuple[None, Value]:
    if type(a) is LinearInput:
        raise NotImplementedError(
            f"can't transpose symmetric_product: a_matrix {a.aval.str_short()} depends on a linear "
            "input, but the product is quadratic in it; expected a fixed matrix. Transpose linear "
            "functions only."
        )
    del c, alpha
    return None, lax.mul(typeof(ct).dtype.type(beta), ct)


JVP: Final[dict[Primitive, Callable[..., Any]]] = {
    symmetric_product_p: jvp_of(symmetric_product_p, _of_a, _of_c),
}

TRANSPOSE: Final[dict[Primitive, Callable[..., Any]]] = {
    symmetric_product_p: _transpose,
}
