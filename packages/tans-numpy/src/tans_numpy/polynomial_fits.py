"""Polynomials from data, and roots of polynomials."""

import operator
from typing import Any

import numpy as np

import tans_lax as lax
from tans_core import typeof
from tans_core.dtype_queries import finfo
from tans_numpy.creation import asarray
from tans_numpy.diagonals import diag
from tans_numpy.linalg import eigvals, inv, lstsq
from tans_numpy.operands import ArrayLike, check_arraylike, promote_dtypes_inexact
from tans_numpy.polynomial import vander
from tans_numpy.rearrangement import roll
from tans_numpy.reductions import sum as sum_
from tans_numpy.selection import where
from tans_numpy.sorting import argsort
from tans_xla import composite

type Array = Any


@composite(static_argnames=("deg", "full", "cov"), is_whole=True)
def polyfit(
    x: ArrayLike,
    y: ArrayLike,
    deg: int,
    rcond: float | None = None,
    full: bool = False,
    w: ArrayLike | None = None,
    cov: bool = False,
) -> Array | tuple[Array, ...]:
    """Fit a polynomial to points by least squares.

    The columns of the system are scaled to length 1 first, which keeps it well-conditioned.

    Args:
      x: [n]; integers become the default float.
      y: [n], or [n, k] for k polynomials at once.
      deg: static degree, at least 0.
      rcond: singular values below this share of the largest count as zero; n times the rounding
        unit if None.
      full: whether to return the facts of the solution too.
      w: weights [n] of the residuals.
      cov: whether to return the covariance of the coefficients too; ``"unscaled"`` takes the
        weights for reciprocal standard deviations.

    Returns:
      Coefficients [deg + 1] or [deg + 1, k], highest power first. With `full`: (coefficients,
      sums of squared residuals, rank, singular values, rcond). With `cov`: (coefficients,
      covariance [deg + 1, deg + 1] or [deg + 1, deg + 1, k]).

    Raises:
      TypeError: shapes that do not fit.
      ValueError: negative degree, or too few points to scale the covariance.

    Example:
      >>> x = jnp.arange(4.0)
      >>> [round(c, 3) for c in polyfit(x, 2 * x + 1, 1).tolist()]
      [2.0, 1.0]
    """
    check_arraylike("polyfit", x, y, *(() if w is None else (w,)))
    deg = operator.index(deg)
    x_dims, y_dims = typeof(x).shape, typeof(y).shape
    if deg < 0:
        raise ValueError(f"polyfit: given deg={deg}, expected at least 0.")
    if len(x_dims) != 1 or not x_dims[0] or len(y_dims) not in (1, 2) or y_dims[:1] != x_dims:
        raise TypeError(
            f"polyfit: given x of shape {x_dims} and y of shape {y_dims}, expected shapes (n,) and "
            "(n,) or (n, k), with n of at least 1."
        )
    if w is not None and typeof(w).shape != x_dims:
        raise TypeError(
            f"polyfit: given weights of shape {typeof(w).shape}, expected one for each point: "
            f"{x_dims}."
        )
    if cov and cov != "unscaled" and x_dims[0] <= deg + 1:
        raise ValueError(
            f"polyfit: given {x_dims[0]} points for degree {deg} and cov={cov}, expected at least "
            f"{deg + 2}. Give more points, or cov='unscaled'."
        )
    (x,) = promote_dtypes_inexact("polyfit", x)
    rcond = x_dims[0] * float(finfo(typeof(x).dtype).eps) if rcond is None else rcond
    found = _polyfit(x, y, rcond, w, deg=deg, scaled=cov != "unscaled")
    if full:
        return (*found[:4], asarray(rcond))
    return (found[0], found[4]) if cov else found[0]


def _polyfit(x: Any, y: Any, rcond: Any, w: Any, *, deg: int, scaled: bool) -> tuple[Array, ...]:
    x, y = promote_dtypes_inexact("polyfit", x, y)
    lhs, rhs = vander(x, deg + 1), y
    if w is not None:
        w = lax.convert_element_type(w, typeof(lhs).dtype)
        lhs = lhs * w[:, None]
        rhs = rhs * (w[:, None] if typeof(y).ndim == 2 else w)
    lengths = lax.sqrt(sum_(lhs * lhs, 0))
    lhs = lhs / lengths
    c, residuals, rank, s = lstsq(lhs, rhs, rcond)
    c = (c.T / lengths).T
    covariance = inv(lax.dot(lhs.T, lhs)) / (lengths[:, None] * lengths[None])
    factor: Any = 1
    if scaled and typeof(x).shape[0] > deg + 1:
        factor = residuals / (typeof(x).shape[0] - (deg + 1))
    shaped = covariance[:, :, None] if typeof(y).ndim == 2 else covariance
    return c, residuals, rank, s, shaped * factor


def complex_of(dtype: Any) -> Any:
    """Return the complex dtype of the same precision."""
    return np.result_type(dtype, np.complex64)


def roots(p: ArrayLike, *, strip_zeros: bool = True) -> Array:
    """Return the roots of a polynomial, the eigenvalues of its companion matrix.

    Args:
      p: coefficients [n + 1], highest power first.
      strip_zeros: leave leading zeros out, which needs concrete coefficients. If False there are
        always n roots, and those that leading zeros take away are nan at the end.

    Returns:
      Complex roots [n].

    Raises:
      ValueError: more than one dimension.
      ConcretizationTypeError: `p` is traced and `strip_zeros` is not False.

    Example:
      >>> roots(jnp.array([1.0, -3.0, 2.0]))
      Array([2.+0.j, 1.+0.j], dtype=complex64)
    """
    check_arraylike("roots", p)
    (p,) = promote_dtypes_inexact("roots", p)
    p = asarray(p)
    if p.ndim > 1:
        raise ValueError(f"roots: given {p.ndim} dimensions, expected a vector of coefficients.")
    if p.size < 2:
        return lax.full((0,), 0, complex_of(p.dtype))
    if not strip_zeros:
        return _all_roots(p)
    filled = np.flatnonzero(np.asarray(p))
    return _roots(p[int(filled[0]) if filled.size else p.size :])


@composite(is_whole=True)
def _all_roots(p: Any) -> Array:
    n = typeof(p).shape[0]
    lead = argsort(p == 0)[0]
    # Leading zeros that move to the end become roots 0: the last ones by magnitude.
    found = _roots.inline(roll(p, -lead))
    found = found[argsort(-lax.abs(found))]
    return where(lax.iota(np.dtype(np.int32), n - 1) < n - 1 - lead, found, complex(np.nan, np.nan))


@composite(is_whole=True)
def _roots(p: Any) -> Array:
    n = typeof(p).shape[0]
    if n < 2:
        return lax.full((0,), 0, complex_of(typeof(p).dtype))
    companion = diag(lax.full((n - 2,), 1, typeof(p).dtype), -1)
    return eigvals(companion.at[0].set(-p[1:] / p[0]))
