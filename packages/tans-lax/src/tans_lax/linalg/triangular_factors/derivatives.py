"""Derivatives of LU factors.

Complete `L` (m, k) and `U` (k, n) by columns and rows of the identity to square `L'` and `U'`. Then
``M = L'^-1 P dA U'^-1`` is ``L'^-1 dL`` strictly below the diagonal and ``dU U'^-1`` on and above
it, since ``P A = L U`` and both completions are constant.
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

import tans_lax as lax
from tans_core import Primitive, Zero, typeof, zero_tangent
from tans_lax.linalg.matrices import (
    identity_like,
    leading,
    lower_mask,
    lower_part,
    matmul,
    upper_part,
)
from tans_lax.linalg.row_gather import take_rows
from tans_lax.linalg.triangular_factors import lu_p, lu_pivots_to_permutation_p
from tans_lax.linalg.triangular_systems import triangular_solve
from tans_lax.mesh.specs import partitions_like
from tans_lax.rows import not_linear, zero_derivative
from tans_xla.sizes import min_size

type Value = Any


def _completed(x: Value, size: int) -> Value:
    """Make a tall or wide trapezoid square with columns or rows of the identity."""
    aval = typeof(x)
    *_, rows, columns = aval.shape
    config = [(0, 0, 0)] * (aval.ndim - 2) + [(0, size - rows, 0), (0, size - columns, 0)]
    padded = lax.pad(x, aval.dtype.type(0), config)
    axis = aval.ndim - (1 if rows > columns else 2)
    shape, lies = typeof(padded).shape, partitions_like(padded)
    position = lax.broadcasted_iota(np.dtype("int32"), shape, axis, out_sharding=lies)
    added = lax.ge(position, min(rows, columns))
    return lax.select(added, identity_like(padded), padded)


def _lu_jvp(primals: tuple[Value], tangents: tuple[Value]) -> tuple[list[Value], list[Value]]:
    (x_dot,) = tangents
    factors, pivots, permutation = lu_p.bind(*primals)
    whole_numbers = [zero_tangent(typeof(pivots)), zero_tangent(typeof(permutation))]
    outs = [factors, pivots, permutation]
    if type(x_dot) is Zero:
        return outs, [zero_tangent(typeof(factors)), *whole_numbers]
    m, n = typeof(factors).shape[-2:]
    k = min_size(m, n)
    lower = _completed(leading(lower_part(factors, -1), k, -1), m)
    lower = lax.select(lower_mask(lower, -1), lower, identity_like(lower))
    upper = _completed(leading(upper_part(factors), k, -2), n)
    options: Any = {"left_side": True, "lower": True, "unit_diagonal": True}
    left = triangular_solve(lower, take_rows(x_dot, permutation), **options)
    both = triangular_solve(upper, left, left_side=False, lower=False)
    # Both products have the shape of the packed factors, and each is zero where the other is not.
    lower_dot = matmul(lower, lower_part(both, -1))
    upper_dot = matmul(upper_part(both), upper)
    return outs, [lax.add(lower_dot, upper_dot), *whole_numbers]


JVP: Final[dict[Primitive, Callable[..., Any]]] = {
    lu_p: _lu_jvp,
    lu_pivots_to_permutation_p: zero_derivative(lu_pivots_to_permutation_p),
}

TRANSPOSE: Final[dict[Primitive, Callable[..., Any]]] = {
    lu_p: not_linear,
    lu_pivots_to_permutation_p: not_linear,
}
