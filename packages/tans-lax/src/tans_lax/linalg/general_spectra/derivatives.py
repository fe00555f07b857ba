"""Derivatives of eigenvalue problems without symmetry.

With ``M = V^-1 dA V``: ``dw_i = m_ii`` and ``dV = V (F * M)``, ``f_ij = 1 / (w_j - w_i)``, up to
the scale of each column. That follows from what the columns keep: their length, and that their
largest component is real.
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

import tans_lax as lax
from tans_core import Primitive, Zero, typeof, zero_tangent
from tans_lax.linalg.gaps import inverse_gaps
from tans_lax.linalg.general_spectra import eig_p, schur_p
from tans_lax.linalg.matrices import conjugate, diagonal, matmul, real_part, spread
from tans_lax.linalg.row_gather import take_rows
from tans_lax.linalg.triangular_factors import lu
from tans_lax.linalg.triangular_systems import triangular_solve
from tans_lax.rows import not_differentiable, not_linear

type Value = Any


def _solve(a: Value, b: Value) -> Value:
    factors, _, permutation = lu(a)
    rows = take_rows(b, permutation)
    y = triangular_solve(factors, rows, left_side=True, lower=True, unit_diagonal=True)
    return triangular_solve(factors, y, left_side=True, lower=False)


def _eig_jvp(
    primals: tuple[Value],
    tangents: tuple[Value],
    *,
    compute_left_eigenvectors: bool,
    compute_right_eigenvectors: bool,
    enable_eigvec_derivs: bool,
    **params: Any,
) -> tuple[list[Value], list[Value]]:
    (x_dot,) = tangents
    left, right = compute_left_eigenvectors, compute_right_eigenvectors
    if type(x_dot) is Zero:
        params |= {
            "compute_left_eigenvectors": left,
            "compute_right_eigenvectors": right,
            "enable_eigvec_derivs": enable_eigvec_derivs,
        }
        outs = eig_p.bind(*primals, **params)
        return outs, [zero_tangent(typeof(x)) for x in outs]
    if left or (right and not enable_eigvec_derivs):
        _refuse(left, enable_eigvec_derivs)
    # The tangents of the eigenvalues don't depend on the scale of these vectors.
    w, v = eig_p.bind(
        *primals,
        compute_left_eigenvectors=False,
        compute_right_eigenvectors=True,
        enable_eigvec_derivs=True,
        **params,
    )
    x_dot = lax.convert_element_type(x_dot, typeof(v).dtype)
    rotated = _solve(v, matmul(x_dot, v))
    w_dot = diagonal(rotated)
    if not right:
        return [w], [w_dot]
    v_dot = matmul(v, lax.mul(inverse_gaps(w, typeof(w).shape[-1]), rotated))
    return [w, v], [w_dot, _keeping_scale(v, v_dot)]


def _keeping_scale(v: Value, v_dot: Value) -> Value:
    """Subtract from each column what would change its length or the phase of its largest part."""
    ndim = typeof(v).ndim
    growth = real_part(lax.reduce_sum(lax.mul(conjugate(v), v_dot), (ndim - 2,)))
    v_dot = lax.sub(v_dot, lax.mul(v, spread(growth, v, -1)))
    place = lax.argmax(lax.abs(v), ndim - 2, np.int32)
    rows = lax.broadcasted_iota(np.dtype("int32"), typeof(v).shape, ndim - 2)
    dims = (*range(ndim - 2), ndim - 1)
    largest = lax.eq(rows, lax.broadcast_in_dim(place, typeof(v).shape, dims))
    nothing = lax.full_like(v, 0)
    part, part_dot = (
        lax.reduce_sum(lax.select(largest, x, nothing), (ndim - 2,)) for x in (v, v_dot)
    )
    turn = lax.imag(lax.div(part_dot, part))
    turn = lax.complex(lax.full_like(turn, 0), turn)
    return lax.sub(v_dot, lax.mul(v, spread(turn, v, -1)))


def _refuse(left: bool, enabled: bool) -> None:
    expected = "right eigenvectors alone" if left else "enable_eigvec_derivs=True"
    raise NotImplementedError(
        f"eig: given compute_left_eigenvectors={left} and enable_eigvec_derivs={enabled}, expected "
        f"{expected} to differentiate. Eigenvectors are determined up to a factor, so their "
        "derivative needs an assumption: pass compute_left_eigenvectors=False and "
        "enable_eigvec_derivs=True, or ask for eigenvalues only."
    )


JVP: Final[dict[Primitive, Callable[..., Any]]] = {
    eig_p: _eig_jvp,
    schur_p: not_differentiable("but the Schur form depends on the order of the eigenvalues"),
}

TRANSPOSE: Final[dict[Primitive, Callable[..., Any]]] = {
    eig_p: not_linear,
    schur_p: not_linear,
}
