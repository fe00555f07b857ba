"""Symmetric products as one matrix product."""

from typing import Any, Final

import tans_lax as lax
from tans_core import Primitive, typeof
from tans_lax.linalg.matrices import matmul, transposed
from tans_lax.linalg.products import symmetric_product_p
from tans_xla.lowering import lower_as

type Value = Any


def weighted(a: Value, other: Value, c: Value, alpha: float, beta: float) -> Value:
    """Return ``alpha * a @ other^T + beta * c``."""
    number = typeof(a).dtype.type
    product = lax.mul(number(alpha), matmul(a, transposed(other)))
    return product if beta == 0 else lax.add(product, lax.mul(number(beta), c))


def _product(a: Value, c: Value, *, alpha: float, beta: float) -> Value:
    return weighted(a, a, c, alpha, beta)


LOWERING: Final[dict[Primitive, Any]] = {
    symmetric_product_p: lower_as(_product),
}
