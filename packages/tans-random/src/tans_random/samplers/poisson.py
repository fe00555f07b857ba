"""Sampler of the Poisson distribution."""

from typing import Any

import numpy as np

import tans_lax as lax
from tans_core import typeof
from tans_core.dtype_queries import iinfo
from tans_random.implementations import Implementation
from tans_random.key_words import take_apart
from tans_random.samplers.approximate_poisson import approximate_poisson
from tans_random.samplers.arguments import (
    STATIC,
    Array,
    ArrayLike,
    DTypeLike,
    Key,
    Shape,
    ShapeLike,
    Sharding,
    check_choice,
    common_shape,
    drawn_once,
    int_dtype,
    next_words,
    place,
    spread,
)
from tans_random.samplers.uniform import unit_uniform
from tans_xla import composite

type Value = Any

# From here on the rejection method is valid, and faster than multiplying uniform numbers.
_LARGE = 10


def any_of(x: Value) -> Value:
    """Return whether any element is True."""
    return lax.reduce_or(x, tuple(range(typeof(x).ndim)))


def _by_products(words: Any, lam: Value, dtype: Any, impl: Implementation) -> Value:
    """Count how many uniform numbers have a product above exp(-lam) (Knuth)."""
    shape, kind = typeof(lam).shape, typeof(lam).dtype.type
    bound = lax.neg(lam)

    def go_on(state: tuple[Value, ...]) -> Value:
        i, _, _, log_product = state
        more = any_of(lax.gt(log_product, bound))
        return lax.bitwise_and(more, lax.lt(i, i.dtype.type(iinfo(dtype).max)))

    def step(state: tuple[Value, ...]) -> tuple[Value, ...]:
        i, count, words, log_product = state
        words, sub = next_words(words, impl, 2)
        count = lax.select(lax.gt(log_product, bound), lax.add(count, dtype.type(1)), count)
        u = drawn_once(unit_uniform(sub, impl, shape, np.dtype(kind)))
        return lax.add(i, i.dtype.type(1)), count, words, lax.add(log_product, lax.log(u))

    start = (_counter(dtype), lax.full(shape, 0, dtype), words, lax.full_like(lam, 0))
    return lax.sub(lax.while_loop(go_on, step, start)[1], dtype.type(1))


def _counter(dtype: Any) -> Value:
    return lax.full((), 0, dtype if dtype.itemsize >= 4 else np.dtype(np.int32))


def _by_rejection(words: Any, lam: Value, dtype: Any, impl: Implementation) -> Value:
    """Sample by transformed rejection with squeeze.

    References:
      Hörmann, "The transformed rejection method for generating Poisson random variables", 1993.
    """
    shape, kind = typeof(lam).shape, typeof(lam).dtype.type
    log_lam = lax.log(lam)
    b = lax.add(kind(0.931), lax.mul(kind(2.53), lax.sqrt(lam)))
    a = lax.add(kind(-0.059), lax.mul(kind(0.02483), b))
    inverse_alpha = lax.add(kind(1.1239), lax.div(kind(1.1328), lax.sub(b, kind(3.4))))
    v_r = lax.sub(kind(0.9277), lax.div(kind(3.6224), lax.sub(b, kind(2))))

    def go_on(state: tuple[Value, ...]) -> Value:
        i, _, is_done, _ = state
        more = any_of(lax.bitwise_not(is_done))
        return lax.bitwise_and(more, lax.lt(i, i.dtype.type(iinfo(dtype).max)))

    def step(state: tuple[Value, ...]) -> tuple[Value, ...]:
        i, out, is_done, words = state
        words, u_words, v_words = next_words(words, impl, 3)
        u = drawn_once(unit_uniform(u_words, impl, shape, np.dtype(kind)))
        v = drawn_once(unit_uniform(v_words, impl, shape, np.dtype(kind)))
        u = lax.sub(u, kind(0.5))
        u_s = lax.sub(kind(0.5), lax.abs(u))
        slope = lax.add(lax.div(lax.mul(kind(2), a), u_s), b)
        k = lax.floor(lax.add(lax.add(lax.mul(slope, u), lam), kind(0.43)))

        hat = lax.add(lax.div(a, lax.mul(u_s, u_s)), b)
        left = lax.log(lax.div(lax.mul(v, inverse_alpha), hat))
        right = lax.add(lax.neg(lam), lax.mul(k, log_lam))
        right = lax.sub(right, lax.lgamma(lax.add(k, kind(1))))

        at_once = lax.bitwise_and(lax.ge(u_s, kind(0.07)), lax.le(v, v_r))
        in_tail = lax.bitwise_and(lax.lt(u_s, kind(0.013)), lax.gt(v, u_s))
        is_out = lax.bitwise_or(lax.lt(k, kind(0)), in_tail)
        later = lax.bitwise_and(lax.le(left, right), lax.bitwise_not(is_out))
        accept = lax.bitwise_or(at_once, later)
        # A later acceptance may overwrite an earlier one: both are samples.
        out = lax.select(accept, k, out)
        return lax.add(i, i.dtype.type(1)), out, lax.bitwise_or(is_done, accept), words

    start = (_counter(dtype), lax.full_like(lam, -1), lax.full(shape, False, np.bool_), words)
    return lax.convert_element_type(lax.while_loop(go_on, step, start)[1], dtype)


@composite(static_argnames=(*STATIC, "method"))
def _poisson(
    words: Any, lam: Any, *, shape: Shape, dtype: Any, impl: Implementation, method: str
) -> Array:
    # Single precision for all dtypes: the numbers of JAX.
    lam = spread(lam, np.dtype(np.float32), shape)
    if method == "approximate":
        return lax.convert_element_type(approximate_poisson(words, lam, impl), dtype)
    kind = typeof(lam).dtype.type
    is_small = lax.bitwise_or(lax.ne(lam, lam), lax.lt(lam, kind(_LARGE)))
    # The method that does not serve an element gets a parameter that ends it soon.
    small = _by_products(words, lax.select(is_small, lam, lax.full_like(lam, 0)), dtype, impl)
    large = _by_rejection(words, lax.select(is_small, lax.full_like(lam, 1e5), lam), dtype, impl)
    out = lax.select(is_small, small, large)
    return lax.select(lax.eq(lam, kind(0)), lax.full_like(out, 0), out)


def poisson(
    key: Key, lam: ArrayLike, shape: ShapeLike = None, dtype: DTypeLike = None, *,
    method: str = "exact", out_sharding: Sharding = None,
) -> Array:  # fmt: skip
    """Sample from the Poisson distribution; -1 where `lam` is negative or nan.

    Args:
      key: single key, of the generator threefry2x32 for the exact method.
      lam: mean, which broadcasts to `shape`.
      shape: static shape; that of `lam` if None.
      dtype: integer dtype; the default one if None.
      method: "exact", or "approximate" for one pass without rejection.
      out_sharding: sharding of the result in explicit mode.

    Raises:
      ValueError: `dtype` is not integer, `lam` does not broadcast, an unknown method, or an array
        of keys.
      NotImplementedError: the exact method with a key of another generator.

    Example:
      >>> random.poisson(random.key(0), 3.0, (8,)).tolist()
      [0, 0, 4, 4, 1, 2, 2, 6]
    """
    check_choice("poisson", "method", method, ("exact", "approximate"))
    parts = take_apart(key, "poisson")
    if method == "exact" and parts.impl.name != "threefry2x32":
        raise NotImplementedError(
            f"poisson: given a key of the generator {parts.impl.name}, expected threefry2x32 for "
            "the exact method. Use method='approximate', or a key made with impl='threefry2x32'."
        )
    target = int_dtype(dtype, "poisson")
    dims = common_shape(shape, "poisson", lam)
    out = _poisson(parts.words, lam, shape=dims, dtype=target, impl=parts.impl, method=method)
    return place(out, out_sharding)
