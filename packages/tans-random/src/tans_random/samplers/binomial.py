"""Samplers of the binomial and multinomial distributions; their numbers are floats."""

import math
from typing import Any, Final

import numpy as np

import tans_lax as lax
import tans_numpy as jnp
from tans_core import dtypes, typeof
from tans_core.dtype_queries import finfo
from tans_numpy.creation import requested_dtype
from tans_random.implementations import Implementation
from tans_random.key_words import take_apart
from tans_random.samplers.arguments import (
    STATIC,
    Array,
    ArrayLike,
    DTypeLike,
    Key,
    Shape,
    ShapeLike,
    common_shape,
    draw,
    drawn_once,
    float_dtype_of,
    next_words,
    spread,
    static_shape,
)
from tans_random.samplers.poisson import any_of
from tans_random.samplers.uniform import unit_uniform
from tans_xla import composite

type Value = Any

# From this mean on the rejection method is valid, and faster than waiting for successes.
_LARGE: Final = 10
_HALF_LOG_TAU: Final = 0.5 * math.log(2 * math.pi)


def _stirling_error(k: int) -> float:
    """Return log(k!) minus Stirling's formula for it at k + 1."""
    formula = (k + 0.5) * math.log(k + 1) - (k + 1) + _HALF_LOG_TAU
    return math.log(math.factorial(k)) - formula


_STIRLING_ERRORS: Final = tuple(_stirling_error(k) for k in range(10))


def _stirling_tail(k: Value) -> Value:
    """Return log(k!) minus Stirling's formula: a table up to 9, a series beyond.

    As in JAX, whose numbers these are, the series is taken at 9 for all larger k. What counts are
    differences for large k close to each other, so this moves probabilities by less than 0.3%.
    """
    kind = typeof(k).dtype.type
    is_small = lax.le(k, kind(9))
    index = lax.clamp(kind(0), k, kind(9))
    table = jnp.take(
        jnp.asarray(_STIRLING_ERRORS, typeof(k).dtype),
        lax.convert_element_type(lax.floor(index), np.dtype(np.int32)),
        mode="clip",
    )
    n = lax.add(index, kind(1))
    n2 = lax.mul(n, n)
    series = lax.sub(kind(1 / 360), lax.div(kind(1 / 1260), n2))
    series = lax.div(lax.sub(kind(1 / 12), lax.div(series, n2)), n)
    return lax.select(is_small, table, series)


def _by_waiting(words: Any, n: Value, p: Value, impl: Implementation) -> Value:
    """Count successes in `n` trials by drawing the number of trials up to each success."""
    dtype = typeof(n).dtype
    kind = dtype.type
    log_miss = lax.log1p(lax.neg(p))

    def go_on(state: tuple[Value, ...]) -> Value:
        i, _, trials, _ = state
        return lax.bitwise_and(any_of(lax.le(trials, n)), _may_go_on(i, dtype))

    def step(state: tuple[Value, ...]) -> tuple[Value, ...]:
        i, count, trials, words = state
        sub, words = next_words(words, impl, 2)
        count = lax.select(lax.le(trials, n), lax.add(count, kind(1)), count)
        u = drawn_once(unit_uniform(sub, impl, typeof(n).shape, dtype))
        wait = lax.ceil(lax.div(lax.log(u), log_miss))
        return lax.add(i, np.int32(1)), count, lax.add(trials, wait), words

    zero = lax.full_like(n, 0)
    count = lax.while_loop(go_on, step, (lax.full((), 0, np.dtype(np.int32)), zero, zero, words))[1]
    return lax.sub(count, kind(1))


def _may_go_on(i: Value, dtype: Any) -> Value:
    return lax.lt(lax.convert_element_type(i, dtype), dtype.type(finfo(dtype).max))


def _log_ratio(k: Value, mode: Value, n: Value, odds: Value) -> Value:
    """Return the logarithm of the probability of `k` over that of the mode."""
    kind = typeof(n).dtype.type
    one, half = kind(1), kind(0.5)
    rest, mode_rest = lax.add(lax.sub(n, k), one), lax.add(lax.sub(n, mode), one)
    up, mode_up = lax.add(k, one), lax.add(mode, one)
    out = lax.mul(lax.add(mode, half), lax.log(lax.div(mode_up, lax.mul(odds, mode_rest))))
    out = lax.add(out, lax.mul(lax.add(n, one), lax.log(lax.div(mode_rest, rest))))
    out = lax.add(out, lax.mul(lax.add(k, half), lax.log(lax.div(lax.mul(odds, rest), up))))
    out = lax.add(out, _stirling_tail(mode))
    out = lax.add(out, _stirling_tail(lax.sub(n, mode)))
    out = lax.sub(out, _stirling_tail(k))
    return lax.sub(out, _stirling_tail(lax.sub(n, k)))


def _by_rejection(words: Any, n: Value, p: Value, impl: Implementation) -> Value:
    """Sample by transformed rejection with squeeze, for p at most 1/2 and n p at least 10.

    References:
      Hörmann, "The generation of binomial random variates", 1993.
    """
    dtype = typeof(n).dtype
    kind = dtype.type
    one, half = kind(1), kind(0.5)
    spread_ = lax.sqrt(lax.mul(lax.mul(n, p), lax.sub(one, p)))
    b = lax.add(kind(1.15), lax.mul(kind(2.53), spread_))
    a = lax.add(kind(-0.0873), lax.mul(kind(0.0248), b))
    a = lax.add(a, lax.mul(kind(0.01), p))
    c = lax.add(lax.mul(n, p), half)
    v_r = lax.sub(kind(0.92), lax.div(kind(4.2), b))
    odds = lax.div(p, lax.sub(one, p))
    alpha = lax.mul(lax.add(kind(2.83), lax.div(kind(5.1), b)), spread_)
    mode = lax.floor(lax.mul(lax.add(n, one), p))

    def go_on(state: tuple[Value, ...]) -> Value:
        i, _, is_done, _ = state
        return lax.bitwise_and(any_of(lax.bitwise_not(is_done)), _may_go_on(i, dtype))

    def step(state: tuple[Value, ...]) -> tuple[Value, ...]:
        i, out, is_done, words = state
        words, u_words, v_words = next_words(words, impl, 3)
        u = drawn_once(unit_uniform(u_words, impl, typeof(n).shape, dtype))
        v = drawn_once(unit_uniform(v_words, impl, typeof(n).shape, dtype))
        u = lax.sub(u, half)
        u_s = lax.sub(half, lax.abs(u))
        at_once = lax.bitwise_and(lax.ge(u_s, kind(0.07)), lax.le(v, v_r))
        slope = lax.add(lax.div(lax.mul(kind(2), a), u_s), b)
        k = lax.floor(lax.add(lax.mul(slope, u), c))
        is_out = lax.bitwise_or(lax.lt(k, kind(0)), lax.gt(k, n))
        hat = lax.add(lax.div(a, lax.mul(u_s, u_s)), b)
        left = lax.log(lax.div(lax.mul(v, alpha), hat))
        later = lax.bitwise_and(lax.bitwise_not(is_out), lax.le(left, _log_ratio(k, mode, n, odds)))
        accept = lax.bitwise_or(at_once, later)
        out = lax.select(accept, k, out)
        return lax.add(i, np.int32(1)), out, lax.bitwise_or(is_done, accept), words

    start = (
        lax.full((), 0, np.dtype(np.int32)),
        lax.full_like(n, -1),
        lax.full(typeof(n).shape, False, np.bool_),
        words,
    )
    return lax.while_loop(go_on, step, start)[1]


def binomial_numbers(words: Any, n: Value, p: Value, impl: Implementation) -> Value:
    """Return binomial numbers for each element of `n` and `p`; nan for invalid parameters."""
    kind = typeof(n).dtype.type
    zero, one = kind(0), kind(1)
    is_rare = lax.lt(p, kind(0.5))
    q = lax.select(is_rare, p, lax.sub(one, p))
    bad_n = lax.bitwise_or(lax.ne(n, n), lax.lt(n, zero))
    bad_p = lax.bitwise_or(lax.ne(q, q), lax.lt(q, zero))
    is_infinite = lax.eq(lax.abs(n), kind(np.inf))

    q = lax.select(bad_p, lax.full_like(q, 0.01), q)
    waits = lax.bitwise_or(bad_n, lax.le(lax.mul(n, q), kind(_LARGE)))
    whole = lax.floor(n)
    # The method that does not serve an element gets parameters that end it soon.
    count = _by_waiting(words, lax.select(waits, whole, lax.full_like(n, 0)), q, impl)
    large = _by_rejection(
        words,
        lax.select(waits, lax.full_like(n, 1e4), whole),
        lax.select(waits, lax.full_like(q, 0.5), q),
        impl,
    )
    out = lax.select(waits, count, large)
    is_bad = lax.bitwise_or(bad_n, bad_p)
    out = lax.select(is_bad, lax.full_like(out, np.nan), out)
    infinite = lax.bitwise_and(is_infinite, lax.bitwise_not(is_bad))
    out = lax.select(infinite, lax.full_like(out, np.inf), out)
    keep = lax.bitwise_or(lax.bitwise_or(is_rare, is_bad), is_infinite)
    return lax.select(keep, out, lax.sub(whole, out))


@composite(static_argnames=STATIC)
def _binomial(
    words: Any, n: Any, p: Any, *, shape: Shape, dtype: Any, impl: Implementation
) -> Array:
    own = float_dtype_of(n, p)
    out = binomial_numbers(words, spread(n, own, shape), spread(p, own, shape), impl)
    return lax.convert_element_type(out, dtype)


def binomial(
    key: Key, n: ArrayLike, p: ArrayLike, shape: ShapeLike = None, dtype: DTypeLike = None
) -> Array:
    """Sample the number of successes in `n` trials, as floats.

    Args:
      key: single key.
      n: number of trials, which broadcasts to `shape`.
      p: probability of success of each trial, which broadcasts to `shape`.
      shape: static shape; that of the parameters if None.
      dtype: floating-point dtype; the default one if None.

    Returns:
      Array of `shape`; nan where `n` is negative or `p` is not a probability.

    Raises:
      ValueError: `dtype` is not floating, parameters do not broadcast, or an array of keys.

    Example:
      >>> random.binomial(random.key(0), 10, 0.5, (4,)).tolist()
      [6.0, 7.0, 5.0, 6.0]
    """
    return draw(_binomial, "binomial", key, n, p, shape=shape, dtype=dtype)


@composite(static_argnames=(*STATIC, "unroll"))
def _multinomial(
    words: Any, n: Any, p: Any, *, shape: Shape, dtype: Any, impl: Implementation, unroll: Any
) -> Array:
    own = float_dtype_of(n, p)
    p = lax.convert_element_type(p, own)
    last = typeof(p).ndim - 1
    # Of the trials that are left, each category gets a binomial number, given those before it.
    left = lax.cumsum(p, last, reverse=True)
    share = lax.div(p, lax.select(lax.eq(left, own.type(0)), lax.full_like(left, 1), left))
    count = typeof(p).shape[last]
    share = jnp.moveaxis(jnp.broadcast_to(share, (*shape, count)), -1, 0)

    def step(rest: Value, inputs: tuple[Value, Value]) -> tuple[Value, Value]:
        ratio, key_words = inputs
        ratio = lax.clamp(own.type(0), ratio, own.type(1))
        drawn = binomial_numbers(key_words, rest, ratio, impl)
        return lax.sub(rest, drawn), drawn

    start = spread(n, own, shape)
    _, out = lax.scan(step, start, (share, impl.split(words, (count,))), unroll=unroll)
    return lax.convert_element_type(jnp.moveaxis(out, 0, -1), dtype)


def multinomial(
    key: Key, n: ArrayLike, p: ArrayLike, *, shape: ShapeLike = None, dtype: DTypeLike = None,
    unroll: int | bool = 1,
) -> Array:  # fmt: skip
    """Sample how often each category comes up in `n` trials.

    Args:
      key: single key.
      n: number of trials, which broadcasts to the batch shape of the result.
      p: probabilities of the categories, [..., categories].
      shape: static batch shape, which the leading dimensions of `p` broadcast to; those if None.
      dtype: dtype of the result; the default float if None.
      unroll: how many categories one step of the loop handles.

    Returns:
      Array [*batch, categories].

    Raises:
      ValueError: parameters do not broadcast, or an array of keys.

    Example:
      >>> float(random.multinomial(random.key(0), 10, jnp.array([0.5, 0.5])).sum())
      10.0
    """
    parts = take_apart(key, "multinomial")
    target = dtypes.default_float() if dtype is None else requested_dtype(dtype, "multinomial")
    own = typeof(p).shape
    if not own:
        raise ValueError(
            "multinomial: given a scalar p, expected at least one dimension. Write a vector of "
            "probabilities."
        )
    if shape is None:
        dims = own[:-1]
    else:
        dims = static_shape(shape, "multinomial")
        if jnp.broadcast_shapes(dims, own[:-1]) != dims:
            raise ValueError(
                f"multinomial: given the shape {dims} and p with shape {own}, expected leading "
                "dimensions of p that broadcast to the shape. The last dimension is not part of it."
            )
    dims = common_shape(dims, "multinomial", n)
    return _multinomial(parts.words, n, p, shape=dims, dtype=target, impl=parts.impl, unroll=unroll)
