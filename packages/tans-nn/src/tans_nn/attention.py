"""Scaled dot-product attention, with grouped heads, masks and windows.

Inside, heads are split in (key heads, queries per key head), and the scores are laid out as
[batch, key heads, queries, group, keys]: the order that one batched product gives, so that nothing
but the result is transposed.
"""

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

import tans_lax as lax
import tans_numpy as jnp
from tans_core import typeof
from tans_core.dtype_queries import finfo, issubdtype
from tans_numpy.exponential_sums import logsumexp, softmax
from tans_numpy.operands import ArrayLike
from tans_xla import composite

type Array = Any
type Window = tuple[int, int]


def dot_product_attention(
    query: ArrayLike, key: ArrayLike, value: ArrayLike, bias: ArrayLike | None = None,
    mask: ArrayLike | None = None, *, scale: float | None = None, is_causal: bool = False,
    query_seq_lengths: ArrayLike | None = None, key_value_seq_lengths: ArrayLike | None = None,
    local_window_size: int | tuple[int, int] | None = None,
    implementation: Literal["xla", "cudnn"] | None = None, return_residual: bool = False,
) -> Any:  # fmt: skip
    """Compute ``softmax(query key^T scale + bias) value``.

    Scores and weights are float32 at least; masked scores are a large negative number, so that a
    query that may see nothing gets the mean of all values.

    Args:
      query: [batch, t, n, h] or [t, n, h].
      key: [batch, s, k, h] or [s, k, h]; k divides n, and n / k query heads share a key head.
      value: as `key`, the same dtype.
      bias: added to the scores; [batch or 1, n or 1, t or 1, s or 1].
      mask: booleans of the same shapes; scores where it is False do not count.
      scale: factor of the scores; ``1 / sqrt(h)`` if None.
      is_causal: whether query i sees only the keys up to i.
      query_seq_lengths: [batch] int32, number of queries that count; later results are 0.
      key_value_seq_lengths: [batch] int32, number of keys that count.
      local_window_size: how many keys before and after its own position a query sees: one number
        for both, or a pair.
      implementation: "xla" or None; "cudnn" is not available.
      return_residual: also return the logarithm of the sum of exponential scores.

    Returns:
      Array of the shape of `query`; with `return_residual` a pair of it and [batch, t, n].

    Raises:
      ValueError: shapes or dtypes that do not fit, or an unknown implementation.
      RuntimeError: the implementation is "cudnn".

    Example:
      >>> x = jnp.ones((3, 2, 4))
      >>> dot_product_attention(x, x, x, is_causal=True).shape
      (3, 2, 4)

    References:
      Vaswani and others, "Attention is all you need", 2017.
    """
    _check_implementation(implementation)
    query, key, value = (jnp.asarray(x) for x in (query, key, value))
    has_batch = query.ndim == 4
    if not has_batch:
        query, key, value = (x[None] if x.ndim == 3 else x for x in (query, key, value))
    _check_operands(query, key, value)
    batch, t, heads, size = query.shape
    s, key_heads = key.shape[1:3]
    scores_shape = (batch, heads, t, s)
    bias = _as_scores_operand("bias", bias, scores_shape)
    mask = _as_scores_operand("mask", mask, scores_shape)
    if mask is not None and mask.dtype != np.bool_:
        raise ValueError(
            f"dot_product_attention: given a mask of {mask.dtype}, expected bool. Pass mask != 0, "
            "or a bias."
        )
    lengths = [
        _as_lengths(name, x, batch)
        for name, x in (
            ("query_seq_lengths", query_seq_lengths),
            ("key_value_seq_lengths", key_value_seq_lengths),
        )
    ]
    window = (local_window_size,) * 2 if isinstance(local_window_size, int) else local_window_size
    out, residual = _attend(
        query, key, value, bias, mask, *lengths,
        1 / math.sqrt(size) if scale is None else scale,
        plan=Plan(bool(is_causal), window, key_heads, bool(return_residual)),
    )  # fmt: skip
    if not has_batch:
        out, residual = out[0], None if residual is None else residual[0]
    return (out, residual) if return_residual else out


@dataclass(frozen=True, slots=True)
class Plan:
    """The static choices of one attention."""

    is_causal: bool
    window: Window | None
    key_heads: int
    with_residual: bool


@composite(static_argnames=("plan",))
def _attend(
    query: Array, key: Array, value: Array, bias: Any, mask: Any, query_lengths: Any,
    key_lengths: Any, scale: Any, *, plan: Plan,
) -> tuple[Array, Any]:  # fmt: skip
    batch, t, heads, size = query.shape
    s, k = key.shape[1], plan.key_heads
    grouped = lax.reshape(query, (batch, t, k, heads // k, size))
    dtype = np.promote_types(query.dtype, np.float32)
    scores = _product(grouped, key, (((4,), (3,)), ((0, 2), (0, 2))), dtype)
    scores = lax.mul(scores, _number(scale, dtype))
    if bias is not None:
        scores = jnp.add(scores, lax.convert_element_type(_grouped(bias, k), dtype))
    allowed = _allowed(mask, query_lengths, key_lengths, (batch, t, s), plan)
    if allowed is not None:
        scores = jnp.where(allowed, scores, dtype.type(-0.7 * float(finfo(dtype).max)))
    weights = lax.convert_element_type(softmax(scores, -1), value.dtype)
    out = _product(weights, value, (((4,), (1,)), ((0, 1), (0, 2))), value.dtype)
    out = lax.reshape(lax.transpose(out, (0, 2, 1, 3, 4)), (batch, t, heads, size))
    if query_lengths is not None:
        rows = lax.lt(lax.broadcasted_iota(np.int32, (batch, t), 1), query_lengths[:, None])
        out = jnp.where(rows[:, :, None, None], out, value.dtype.type(0))
    if not plan.with_residual:
        return out, None
    total = lax.convert_element_type(logsumexp(scores, -1), query.dtype)
    total = lax.transpose(total, (0, 2, 1, 3))
    return out, lax.reshape(total, (batch, t, heads))


def _product(lhs: Array, rhs: Array, dimensions: Any, dtype: Any) -> Array:
    """Multiply; half-precision operands are accumulated in float32."""
    return lax.dot_general(lhs, rhs, dimensions, preferred_element_type=dtype)


def _number(scale: Any, dtype: Any) -> Any:
    if isinstance(scale, int | float):
        return dtype.type(scale)
    return lax.convert_element_type(scale, dtype)


def _grouped(x: Array, key_heads: int) -> Array:
    """Lay [batch or 1, heads or 1, t, s] out as the scores are."""
    batch, heads, t, s = x.shape
    split = (batch, 1, 1, t, s) if heads == 1 else (batch, key_heads, heads // key_heads, t, s)
    return lax.transpose(lax.reshape(x, split), (0, 1, 3, 2, 4))


def _allowed(
    mask: Any, query_lengths: Any, key_lengths: Any, dims: tuple[int, int, int], plan: Plan
) -> Any:
    """Return which scores count, broadcastable to the scores; None if all do."""
    parts = [] if mask is None else [_grouped(mask, plan.key_heads)]
    _, t, s = dims
    rows = lax.broadcasted_iota(np.int32, (t, 1), 0)
    columns = lax.broadcasted_iota(np.int32, (1, s), 1)
    position = []
    if plan.is_causal:
        position.append(jnp.greater_equal(rows, columns))
    if plan.window is not None:
        before, after = plan.window
        position.append(jnp.greater_equal(columns, rows - before))
        position.append(jnp.less_equal(columns, rows + after))
    parts += [p[None, None, :, None, :] for p in position]
    if key_lengths is not None:
        parts.append(jnp.less(columns[None, None, None], key_lengths[:, None, None, None, None]))
    if query_lengths is not None:
        inside = jnp.less(rows, query_lengths[:, None, None])
        parts.append(inside[:, None, :, None, :])
    out = None
    for part in parts:
        out = part if out is None else jnp.logical_and(out, part)
    return out


def _check_implementation(implementation: Any) -> None:
    if implementation == "cudnn":
        raise RuntimeError(
            "dot_product_attention: given implementation='cudnn', expected 'xla' or None: the "
            "cuDNN kernel is not available. Leave the choice to None."
        )
    if implementation not in (None, "xla"):
        raise ValueError(
            f"dot_product_attention: given implementation={implementation!r}, expected 'xla' or "
            "None. Leave it out."
        )


def _check_operands(query: Array, key: Array, value: Array) -> None:
    shapes = ", ".join(
        f"{name} {x.dtype}{list(x.shape)}"
        for name, x in (("query", query), ("key", key), ("value", value))
    )
    fits = (
        query.ndim == key.ndim == 4
        and key.shape == value.shape
        and query.shape[0] == key.shape[0]
        and query.shape[3] == key.shape[3]
        and query.dtype == key.dtype == value.dtype
    )
    if not fits:
        raise ValueError(
            f"dot_product_attention: given {shapes}; expected query [batch, t, n, h], and key and "
            "value of one shape [batch, s, k, h], all of one dtype. Transpose or convert them."
        )
    if key.shape[2] == 0 or query.shape[2] % key.shape[2]:
        raise ValueError(
            f"dot_product_attention: given {query.shape[2]} query heads and {key.shape[2]} key "
            "heads, expected a multiple. Repeat or drop heads."
        )


def _as_scores_operand(name: str, x: Any, scores: tuple[int, ...]) -> Any:
    if x is None:
        return None
    x = jnp.asarray(x)
    x = x[(None,) * (4 - x.ndim)] if x.ndim < 4 else x
    if x.ndim != 4 or any(n not in (1, full) for n, full in zip(x.shape, scores, strict=True)):
        raise ValueError(
            f"dot_product_attention: given a {name} of shape {x.shape}, expected one that "
            f"broadcasts to the scores [batch, heads, queries, keys] = {scores}. Add dimensions "
            f"with {name}[:, None]."
        )
    return x


def _as_lengths(name: str, x: Any, batch: int) -> Any:
    if x is None:
        return None
    x = jnp.asarray(x)
    if x.shape != (batch,) or not issubdtype(x.dtype, np.int32):
        raise ValueError(
            f"dot_product_attention: given {name} of {typeof(x).str_short()}, expected "
            f"int32[{batch}]: one length for each element of the batch. Convert with "
            "jnp.asarray(lengths, 'int32')."
        )
    return x
