"""Derivatives of Hermitian eigenvalue problems.

With ``M = V^H dA V``: ``dw_i = m_ii`` and ``dV = V (F * M)``, where ``f_ij = 1 / (w_j - w_i)``, and
zero on the diagonal and for equal eigenvalues (see `gaps`).

References:
  M. Giles, "Collected matrix derivative results for forward and reverse mode algorithmic
  differentiation", 2008.
"""

from collections.abc import Callable
from typing import Any, Final

import tans_lax as lax
from tans_core import Primitive, Zero, typeof, zero_tangent
from tans_lax.conversion import convert_element_type
from tans_lax.linalg.gaps import inverse_gaps
from tans_lax.linalg.hermitian_spectra import eigh_p
from tans_lax.linalg.matrices import adjoint, diagonal, matmul, real_part
from tans_lax.rows import not_linear
from tans_lax.slicing import slice_in_dim

type Value = Any


def _eigh_jvp(
    primals: tuple[Value],
    tangents: tuple[Value],
    *,
    subset_by_index: tuple[int, int] | None,
    **params: Any,
) -> tuple[list[Value], list[Value]]:
    (x_dot,) = tangents
    subset = subset_by_index
    if type(x_dot) is Zero:
        outs = eigh_p.bind(*primals, subset_by_index=subset, **params)
        return outs, [zero_tangent(typeof(x)) for x in outs]
    # The tangent of a chosen eigenvector has parts along all others.
    v, w = eigh_p.bind(*primals, subset_by_index=None, **params)
    rotated = matmul(adjoint(v), matmul(x_dot, v))
    w_dot = real_part(diagonal(rotated))
    gaps = convert_element_type(inverse_gaps(w, typeof(w).shape[-1]), typeof(v).dtype)
    v_dot = matmul(v, lax.mul(gaps, rotated))
    outs, dots = [v, w], [v_dot, w_dot]
    if subset is not None:
        outs, dots = ([slice_in_dim(x, *subset, axis=-1) for x in xs] for xs in (outs, dots))
    return outs, dots


JVP: Final[dict[Primitive, Callable[..., Any]]] = {
    eigh_p: _eigh_jvp,
}

TRANSPOSE: Final[dict[Primitive, Callable[..., Any]]] = {
    eigh_p: not_linear,
}
