"""Eigenvalues of symmetric tridiagonal matrices."""

from typing import Any

import numpy as np

import tans_lax as lax
import tans_numpy as jnp
from tans_core import typeof
from tans_numpy.operands import ArrayLike, promote_dtypes_inexact
from tans_xla import composite

type Array = Any


def eigh_tridiagonal(
    d: ArrayLike,
    e: ArrayLike,
    *,
    eigvals_only: bool = False,
    select: str = "a",
    select_range: tuple[float, float] | None = None,
    tol: float | None = None,
    key: Any = None,
) -> Array | tuple[Array, Array]:
    """Return eigenvalues, and eigenvectors, of a Hermitian tridiagonal matrix.

    Eigenvalues are found by bisection on the number of eigenvalues below a bound, all at once;
    eigenvectors by the dense method.

    Args:
      d: diagonal [n], real.
      e: elements beside the diagonal [n - 1].
      eigvals_only: whether to return the eigenvalues alone.
      select: "a" for all, "i" for those whose numbers are within `select_range`, both ends
        counted.
      select_range: first and last number.
      tol: width of the interval at which bisection stops; the rounding unit if None.
      key: accepted; no random numbers are needed.

    Returns:
      Eigenvalues [k], ascending, and eigenvectors [n, k] in columns.

    Raises:
      ValueError: sizes that do not fit, or an unknown `select`.
      NotImplementedError: selection by value, whose number of results is not static.

    References:
      Barth, Martin and Wilkinson, "Calculation of the eigenvalues of a symmetric tridiagonal
      matrix by the method of bisection", 1967.
    """
    del key
    if select == "v":
        raise NotImplementedError(
            "eigh_tridiagonal: given select='v', whose number of results is not static; expected "
            "'a' or 'i'. Compute all and select with jnp.where."
        )
    if select not in ("a", "i"):
        raise ValueError(f"eigh_tridiagonal: given select={select!r}, expected 'a' or 'i'.")
    d, e = jnp.asarray(d), jnp.asarray(e)
    n = d.shape[0] if d.ndim == 1 else -1
    if d.ndim != 1 or e.shape != (n - 1,):
        raise ValueError(
            f"eigh_tridiagonal: given shapes {d.shape} and {e.shape}, expected (n,) and (n - 1,)."
        )
    first, last = (0, n - 1) if select == "a" else (int(k) for k in select_range or (0, -1))
    if not 0 <= first <= last < n:
        raise ValueError(
            f"eigh_tridiagonal: given select_range={select_range}, expected numbers from 0 to "
            f"{n - 1} in ascending order."
        )
    d, e = promote_dtypes_inexact("eigh_tridiagonal", d, e)
    values = _eigenvalues(jnp.real(d), jnp.abs(e), tol, first=first, last=last)
    if eigvals_only:
        return values
    dense = jnp.diag(d) + jnp.diag(e, -1) + jnp.diag(jnp.conj(e), 1)
    return values, jnp.linalg.eigh(dense)[1][:, first : last + 1]


@composite(static_argnames=("first", "last"))
def _eigenvalues(d: Array, e: Array, tol: Any, *, first: int, last: int) -> Array:
    dtype = typeof(d).dtype
    squares = jnp.concatenate([jnp.zeros(1, dtype), e * e])
    radius = jnp.pad(e, (1, 0)) + jnp.pad(e, (0, 1))
    tiny = jnp.finfo(dtype).tiny
    size = jnp.max(jnp.abs(d) + radius)
    least = jnp.maximum(tiny, jnp.finfo(dtype).eps * jnp.max(squares) * 1e-3)
    low = jnp.full(last - first + 1, jnp.min(d - radius) - jnp.finfo(dtype).eps * size)
    high = jnp.full(last - first + 1, jnp.max(d + radius) + jnp.finfo(dtype).eps * size)
    wanted = jnp.arange(first, last + 1)

    def below(bound: Array) -> Array:
        # Sylvester: as many eigenvalues lie below the bound as pivots are negative.
        def pivot(state: tuple, row: tuple) -> tuple[tuple, None]:
            q, count = state
            q = row[0] - bound - row[1] / q
            q = jnp.where(jnp.abs(q) < least, -least, q)
            return (q, count + (q < 0)), None

        start = (jnp.ones_like(bound), jnp.zeros(bound.shape, np.int32))
        return lax.scan(pivot, start, (d, squares))[0][1]

    def halve(state: tuple) -> tuple:
        low, high, k = state
        middle = low + (high - low) / 2
        is_above = below(middle) > wanted
        return jnp.where(is_above, low, middle), jnp.where(is_above, middle, high), k + 1

    stop = jnp.finfo(dtype).eps * size if tol is None else tol
    steps = 2 * jnp.finfo(dtype).nmant + 8

    def is_wide(state: tuple) -> Array:
        low, high, k = state
        return (jnp.max(high - low) > stop) & (k < steps)

    low, high, _ = lax.while_loop(is_wide, halve, (low, high, 0))
    return low + (high - low) / 2
