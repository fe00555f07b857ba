"""Vector quantisation: the code book entry that lies nearest to each observation."""

from typing import Any

import tans_numpy as jnp
from tans_core import typeof
from tans_numpy.operands import ArrayLike, check_arraylike, promote_dtypes_inexact
from tans_xla import composite

__all__ = ("vq",)

type Array = Any


def vq(obs: ArrayLike, code_book: ArrayLike, check_finite: bool = True) -> tuple[Array, Array]:
    """Return the nearest entry of a code book for each observation, and the distance to it.

    Args:
      obs: [m, n], or [m] for n = 1; integers become floats.
      code_book: [k, n], or [k].
      check_finite: accepted; nothing is checked.

    Returns:
      Indices of entries [m] as integers, and Euclidean distances [m].

    Raises:
      ValueError: other numbers of dimensions, or rows of different length.

    Example:
      >>> index, distance = vq(jnp.array([[0.0], [3.0]]), jnp.array([[1.0], [3.0]]))
      >>> index.tolist(), distance.tolist()
      ([0, 1], [1.0, 0.0])
    """
    del check_finite
    check_arraylike("vq", obs, code_book)
    dims, entries = typeof(obs).shape, typeof(code_book).shape
    if len(dims) != len(entries) or len(dims) not in (1, 2) or dims[1:] != entries[1:]:
        raise ValueError(
            f"vq: given observations of shape {dims} and a code book of shape {entries}, expected "
            "shapes (m, n) and (k, n), or (m,) and (k,)."
        )
    return _nearest(obs, code_book)


@composite
def _nearest(obs: Any, code_book: Any) -> tuple[Array, Array]:
    obs, code_book = promote_dtypes_inexact("vq", obs, code_book)
    if typeof(obs).ndim == 1:
        obs, code_book = obs[:, None], code_book[:, None]
    gaps = obs[:, None] - code_book[None]
    squares = jnp.sum(jnp.real(gaps * jnp.conj(gaps)), -1)
    index = jnp.argmin(squares, -1)
    return index, jnp.sqrt(jnp.take_along_axis(squares, index[:, None], 1)[:, 0])
