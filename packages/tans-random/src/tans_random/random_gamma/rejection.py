"""Sampling from the gamma distribution by rejection.

References:
  Marsaglia, Tsang, "A simple method for generating gamma variables", 2000.
"""

import math
from typing import Any

import tans_lax as lax
from tans_batching import map as loop_map
from tans_batching import vmap
from tans_core import typeof
from tans_random.implementations import Implementation
from tans_random.samplers.arguments import drawn_once, split_words
from tans_random.samplers.inverse_transform import exponential_numbers
from tans_random.samplers.normal import real_normal
from tans_random.samplers.uniform import unit_uniform

type Value = Any


def sample_one(words: Value, a: Value, impl: Implementation, log_space: bool) -> Value:
    """Sample one number from one key.

    With d = a - 1/3 and c = 1 / (3 sqrt(d)), draw a normal x with v = (1 + c x)**3 > 0 and a
    uniform u until u < 1 - 0.0331 x**4, or log(u) < x**2 / 2 + d (1 - v + log(v)); d v is then a
    sample. It needs a >= 1; for smaller a, a sample for a + 1 times u**(1/a) is one for a.
    """
    kind = typeof(a).dtype.type
    one, zero = kind(1), kind(0)
    is_large = lax.ge(a, one)
    d = lax.sub(lax.select(is_large, a, lax.add(a, one)), kind(1 / 3))
    c = lax.div(kind(1 / 3), lax.sqrt(d))

    words, boost_words = split_words(words, impl, 2)
    # These first values are rejected, except for parameters that give nan at once.
    first = (words, lax.full_like(a, 0), lax.full_like(a, 1), lax.full_like(a, 2))
    _, _, v, _ = lax.while_loop(
        lambda state: _is_rejected(d, *state[1:]),
        lambda state: _propose(c, state[0], impl),
        first,
    )
    if log_space:
        boost = lax.div(lax.neg(exponential_numbers(boost_words, impl, (), kind(0).dtype)), a)
        out = lax.add(lax.log(d), lax.log(v))
        return lax.add(out, lax.select(is_large, lax.full_like(boost, zero), boost))
    u = lax.sub(one, unit_uniform(boost_words, impl, (), kind(0).dtype))
    boost = lax.select(is_large, lax.full_like(u, one), lax.pow(u, lax.div(one, a)))
    return lax.mul(lax.mul(d, v), boost)


def _is_rejected(d: Value, x_squared: Value, v: Value, u: Value) -> Value:
    kind = typeof(d).dtype.type
    squeeze = lax.sub(kind(1), lax.mul(kind(0.0331), lax.mul(x_squared, x_squared)))
    slack = lax.add(lax.sub(kind(1), v), lax.log(v))
    bound = lax.add(lax.mul(x_squared, kind(0.5)), lax.mul(d, slack))
    return lax.bitwise_and(lax.ge(u, squeeze), lax.ge(lax.log(u), bound))


def _propose(c: Value, words: Value, impl: Implementation) -> tuple[Value, ...]:
    dtype = typeof(c).dtype
    kind = dtype.type
    words, x_words, u_words = split_words(words, impl, 3)

    def redraw(state: tuple[Value, ...]) -> tuple[Value, ...]:
        rest, sub = split_words(state[0], impl, 2)
        x = drawn_once(real_normal(sub, impl, (), dtype))
        return rest, x, lax.add(kind(1), lax.mul(x, c))

    start = (x_words, lax.full_like(c, 0), lax.full_like(c, -1))
    _, x, v = lax.while_loop(lambda state: lax.le(state[2], kind(0)), redraw, start)
    u = drawn_once(unit_uniform(u_words, impl, (), dtype))
    return words, lax.mul(x, x), lax.mul(lax.mul(v, v), v), u


def sample_all(words: Value, a: Value, impl: Implementation, log_space: bool) -> Value:
    """Sample for each element of `a`, [*batch, ...], with keys `words`, [*batch, *key_shape]."""
    shape, size = typeof(a).shape, typeof(a).size
    rank = typeof(words).ndim - len(impl.key_shape)
    count = math.prod(shape[rank:])
    if rank:
        keys = lax.reshape(words, (size // max(count, 1), *impl.key_shape))
        keys = vmap(lambda w: impl.split(w, (count,)))(keys)
    else:
        keys = impl.split(words, (count,))
    keys = lax.reshape(keys, (size, *impl.key_shape))
    a = lax.reshape(a, (size,))
    if impl.is_counter:
        out = vmap(lambda w, x: sample_one(w, x, impl, log_space))(keys, a)
    else:  # many keys at once would not give the numbers of each
        out = loop_map(lambda each: sample_one(*each, impl, log_space), (keys, a))
    return lax.reshape(out, shape)
