"""Summaries of samples: ranks, the most frequent value, the standard error of the mean."""

from typing import Any, NamedTuple

import numpy as np

import tans_lax as lax
import tans_numpy as jnp
from tans_core import typeof
from tans_numpy.operands import ArrayLike, canonicalize_axis, check_arraylike
from tans_xla import composite

type Array = Any

_METHODS = ("average", "min", "max", "dense", "ordinal")


class ModeResult(NamedTuple):
    """What `mode` returns."""

    mode: Array
    count: Array


def _check_policy(name: str, nan_policy: str, allowed: tuple[str, ...] = ("propagate",)) -> None:
    if nan_policy not in ("propagate", "omit", "raise"):
        raise ValueError(
            f"{name}: given nan_policy={nan_policy!r}, expected 'propagate', 'omit' or 'raise'. "
            "Use 'propagate'."
        )
    if nan_policy not in allowed:
        raise NotImplementedError(
            f"{name}: given nan_policy={nan_policy!r}, expected one of {allowed}. Select the "
            "elements first, with jnp.where or a mask."
        )


def rankdata(
    a: ArrayLike, method: str = "average", *, axis: int | None = None,
    nan_policy: str = "propagate",
) -> Array:  # fmt: skip
    """Return the rank of each element, from 1; equal elements share a rank.

    Args:
      a: any shape, real.
      method: the rank that equal elements get: their "average", "min" or "max"; "dense" counts
        different values only, "ordinal" keeps their order.
      axis: the dimension along which to rank; None ranks all elements together.
      nan_policy: only "propagate".

    Returns:
      Floats of the shape of `a`; 1-D of all elements if `axis` is None.

    Raises:
      ValueError: an unknown method or policy.
      NotImplementedError: another policy.

    Example:
      >>> rankdata(jnp.array([3.0, 1.0, 1.0])).tolist()
      [3.0, 1.5, 1.5]
    """
    check_arraylike("rankdata", a)
    _check_policy("rankdata", nan_policy)
    if method not in _METHODS:
        raise ValueError(
            f"rankdata: given the method {method!r}, expected one of {_METHODS}. Use 'average'."
        )
    if axis is None:
        return _ranks(jnp.ravel(a), method=method).astype(float)
    axis = canonicalize_axis(axis, typeof(a).ndim, "rankdata")
    return jnp.apply_along_axis(lambda row: _ranks(row, method=method), axis, a).astype(float)


@composite(static_argnames=("method",))
def _ranks(a: Array, *, method: str) -> Array:
    order = jnp.argsort(a, stable=True)
    place = jnp.argsort(order, stable=True)
    if method == "ordinal":
        return place + 1
    ordered = a[order]
    is_new = jnp.concatenate([jnp.ones(min(1, a.shape[0]), bool), ordered[1:] != ordered[:-1]])
    dense = jnp.cumsum(is_new)[place]
    if method == "dense":
        return dense
    # Positions where each group of equal elements begins; one more at the end.
    starts = jnp.nonzero(is_new, size=a.shape[0] + 1, fill_value=a.shape[0])[0]
    if method == "min":
        return starts[dense - 1] + 1
    if method == "max":
        return starts[dense]
    return 0.5 * (starts[dense] + starts[dense - 1] + 1)


def mode(
    a: ArrayLike, axis: int | None = 0, nan_policy: str = "propagate", keepdims: bool = False
) -> ModeResult:
    """Return the most frequent value, the smallest of several, and how often it occurs.

    Args:
      a: any shape, real.
      axis: the dimension to reduce; None means all.
      nan_policy: only "propagate".
      keepdims: keep reduced dimensions with size 1.

    Raises:
      ValueError: an unknown policy.
      NotImplementedError: another policy.

    Example:
      >>> [int(v) for v in mode(jnp.array([1, 2, 2, 3]))]
      [2, 2]
    """
    check_arraylike("mode", a)
    _check_policy("mode", nan_policy)
    a = jnp.asarray(a)
    ndim = a.ndim
    if axis is None:
        rows = jnp.reshape(a, (1, -1))
        dims: tuple[int, ...] = (1,) * ndim if keepdims else ()
    else:
        axis = canonicalize_axis(axis, ndim, "mode")
        rows = jnp.moveaxis(a, axis, -1)
        kept = rows.shape[:-1]
        dims = (*kept[:axis], 1, *kept[axis:]) if keepdims else kept
        rows = jnp.reshape(rows, (-1, a.shape[axis]))
    values, counts = _modes(rows)
    return ModeResult(jnp.reshape(values, dims), jnp.reshape(counts, dims))


@composite
def _modes(rows: Array) -> tuple[Array, Array]:
    ordered = jnp.sort(rows, -1)
    first = jnp.sum(ordered[:, :, None] > ordered[:, None, :], -1)
    beyond = jnp.sum(ordered[:, :, None] >= ordered[:, None, :], -1)
    counts = beyond - first
    best = jnp.argmax(counts, -1)[:, None]
    return (
        jnp.take_along_axis(ordered, best, -1)[:, 0],
        jnp.take_along_axis(counts, best, -1)[:, 0],
    )


def sem(
    a: ArrayLike, axis: int | None = 0, ddof: int = 1, nan_policy: str = "propagate", *,
    keepdims: bool = False,
) -> Array:  # fmt: skip
    """Return the standard error of the mean.

    Args:
      a: any shape; integers become floats.
      axis: the dimension to reduce; None means all.
      ddof: the divisor of the variance is the number of elements minus this.
      nan_policy: "propagate", or "omit" to leave nan out.
      keepdims: keep reduced dimensions with size 1.

    Raises:
      ValueError: an unknown policy.
      NotImplementedError: the policy "raise".

    Example:
      >>> round(float(sem(jnp.arange(4.0))), 4)
      0.6455
    """
    check_arraylike("sem", a)
    _check_policy("sem", nan_policy, ("propagate", "omit"))
    if nan_policy == "omit":
        count = jnp.sum(~jnp.isnan(a), axis, keepdims=keepdims)
        return jnp.nanstd(a, axis, ddof=ddof, keepdims=keepdims) / lax.sqrt(count.astype(float))
    size = typeof(a).size if axis is None else typeof(a).shape[axis]
    return jnp.std(a, axis, ddof=ddof, keepdims=keepdims) / float(np.sqrt(size))
