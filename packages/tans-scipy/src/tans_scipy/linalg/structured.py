"""Matrices of a given structure."""

from typing import Any

import tans_lax as lax
import tans_numpy as jnp
from tans_numpy.operands import ArrayLike, check_arraylike, promote_dtypes, strong
from tans_xla import composite
from tans_xla.sizes import max_size

type Array = Any


@composite
def block_diag(*arrs: ArrayLike) -> Array:
    """Return the matrix with given blocks along its diagonal.

    Args:
      *arrs: matrices [m, n]; vectors are rows.

    Raises:
      ValueError: an operand has more than two dimensions.

    Example:
      >>> block_diag(jnp.ones((1, 1)), jnp.ones((1, 2))).tolist()
      [[1.0, 0.0, 0.0], [0.0, 1.0, 1.0]]
    """
    if not arrs:
        return jnp.zeros((1, 0))
    blocks = [jnp.atleast_2d(x) for x in promote_dtypes("block_diag", *arrs)]
    if any(x.ndim > 2 for x in blocks):
        raise ValueError(
            f"block_diag: given operands of shapes {[x.shape for x in blocks]}, expected at most "
            "two dimensions. Use vmap for batches."
        )
    width = sum(x.shape[1] for x in blocks)
    rows, start = [], 0
    for x in blocks:
        zero = x.dtype.type(0)
        after = width - start - x.shape[1]
        rows.append(lax.pad(x, zero, ((0, 0, 0), (start, after, 0))))
        start += x.shape[1]
    return jnp.concatenate(rows, 0)


@composite
def toeplitz(c: ArrayLike, r: ArrayLike | None = None) -> Array:
    """Return the matrix with constant diagonals.

    Args:
      c: [..., m], first column.
      r: [..., n], first row without regard to its first element; the conjugate of `c` if None.

    Returns:
      Array [..., m, n].

    Example:
      >>> toeplitz(jnp.array([1, 2]), jnp.array([0, 3])).tolist()
      [[1, 3], [2, 1]]
    """
    check_arraylike("toeplitz", c)
    c = jnp.atleast_1d(c)
    r = jnp.conjugate(c) if r is None else jnp.atleast_1d(r)
    c, r = _of_one_batch("toeplitz", c, r)
    m, n = c.shape[-1], r.shape[-1]
    if not m or not n:
        return jnp.zeros((*c.shape[:-1], m, n), c.dtype)
    # The diagonals from the lower left to the upper right, and where each element lies in them.
    diagonals = jnp.concatenate([jnp.flip(c, -1), r[..., 1:]], -1)
    return diagonals[..., jnp.arange(n)[None, :] - jnp.arange(m)[:, None] + m - 1]


def _of_one_batch(name: str, c: Array, r: Array) -> tuple[Array, Array]:
    c, r = map(strong, promote_dtypes(name, c, r))
    batch = jnp.broadcast_shapes(c.shape[:-1], r.shape[:-1])
    return (
        jnp.broadcast_to(c, (*batch, c.shape[-1])),
        jnp.broadcast_to(r, (*batch, r.shape[-1])),
    )


@composite
def hankel(c: ArrayLike, r: ArrayLike | None = None) -> Array:
    """Return the matrix with constant antidiagonals.

    Args:
      c: [..., m], first column.
      r: [..., n], last row without regard to its first element; zeros if None.

    Returns:
      Array [..., m, n].

    Example:
      >>> hankel(jnp.array([1, 2])).tolist()
      [[1, 2], [2, 0]]
    """
    check_arraylike("hankel", c)
    c = jnp.atleast_1d(c)
    r = jnp.zeros_like(c) if r is None else jnp.atleast_1d(r)
    c, r = _of_one_batch("hankel", c, r)
    m, n = c.shape[-1], r.shape[-1]
    if not m or not n:
        return jnp.zeros((*c.shape[:-1], m, n), c.dtype)
    antidiagonals = jnp.concatenate([c, r[..., 1:]], -1)
    return antidiagonals[..., jnp.arange(m)[:, None] + jnp.arange(n)[None, :]]


def circulant(c: ArrayLike) -> Array:
    """Return the matrix whose columns are cyclic shifts of the first.

    Args:
      c: [..., n], first column.

    Returns:
      Array [..., n, n].

    Example:
      >>> circulant(jnp.array([1, 2])).tolist()
      [[1, 2], [2, 1]]
    """
    check_arraylike("circulant", c)
    c = jnp.atleast_1d(c)
    n = c.shape[-1]
    return c[..., (jnp.arange(n)[:, None] - jnp.arange(n)[None, :]) % max_size(n, 1)]


def hilbert(n: int) -> Array:
    """Return the Hilbert matrix, ``1 / (i + j + 1)``.

    Args:
      n: size.

    Example:
      >>> hilbert(2)[1, 0].item()
      0.5
    """
    i = jnp.arange(n)
    return 1 / (i[:, None] + i[None, :] + 1)
