"""Making keys, splitting them and looking at their words.

A key is either typed (an array of dtype ``key<fry>``) or raw (its words, uint32 [2]). Functions take
both and give back what they got.
"""

import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

import tans_lax as lax
from tans_core import Array, ArrayImpl, config, typeof
from tans_core.dtypes import is_extended
from tans_random.implementations import Implementation, find_implementation
from tans_random.key_dtype import KeyArray, key_dtype
from tans_random.wrapping import unwrap, wrap
from tans_xla import composite

type Key = Any  # typed key array, or raw words


class Words(NamedTuple):
    """A key taken apart: its words, its generator, and whether it was typed."""

    words: Any
    impl: Implementation
    typed: bool

    def rebuild(self, words: Any) -> Key:
        """Return keys of the same kind with other words."""
        return _typed(words, self.impl) if self.typed else words


def _typed(words: Any, impl: Implementation) -> Key:
    if type(words) is ArrayImpl:
        return KeyArray(key_dtype(impl), words)
    return wrap(words, key_dtype(impl))


def default_implementation() -> Implementation:
    """Return the generator that `jax_default_prng_impl` names."""
    return find_implementation(config.default_prng_impl.value)


def take_apart(key: Key, name: str, batched: bool = False) -> Words:
    """Return the words of a key.

    Args:
      key: typed or raw key.
      name: the function, for messages.
      batched: whether an array of keys is accepted.

    Raises:
      TypeError: not a key.
      ValueError: an array of keys where one is expected.
    """
    if type(key) is KeyArray:
        if key.aval.shape and not batched:
            raise _not_single(name, key.aval)
        return Words(key._words, key.aval.dtype.impl, True)
    if not hasattr(key, "dtype") or not hasattr(key, "shape"):
        raise _not_a_key(name, key)
    aval = typeof(key)
    if is_extended(aval.dtype):
        if aval.shape and not batched:
            raise _not_single(name, aval)
        return Words(unwrap(key), aval.dtype.impl, True)
    impl = default_implementation()
    n = len(impl.key_shape)
    if aval.dtype != np.uint32 or aval.shape[aval.ndim - n :] != impl.key_shape:
        raise _not_a_key(name, key)
    if aval.ndim > n and not batched:
        raise _not_single(name, aval)
    return Words(key, impl, False)


def _not_a_key(name: str, key: Any) -> TypeError:
    shown = typeof(key).str_short() if hasattr(key, "dtype") else repr(key)
    return TypeError(f"{name}: given {shown}, expected a key. Make one with random.key(seed).")


def _not_single(name: str, aval: Any) -> ValueError:
    return ValueError(
        f"{name}: given an array of keys of type {aval.str_short()}, expected a single key. "
        "Map the function over the keys with vmap, or index to take one."
    )


def _seed_words(seed: Any, name: str) -> Any:
    """Return the high and low 32 bits of a seed, uint32 [2]."""
    offset = config.random_seed_offset.value
    if isinstance(seed, int | np.integer) and not isinstance(seed, bool):
        value = int(seed) + int(offset)
        if not config.enable_x64.value:
            value &= 0xFFFFFFFF
        return np.array([(value >> 32) & 0xFFFFFFFF, value & 0xFFFFFFFF], np.uint32)
    if isinstance(seed, np.ndarray) and not seed.shape and seed.dtype.kind in "iu":
        return _seed_words(int(seed), name)
    if not isinstance(seed, Array) or typeof(seed).ndim or typeof(seed).dtype.kind not in "iu":
        shown = typeof(seed).str_short() if hasattr(seed, "dtype") else repr(seed)
        raise TypeError(
            f"{name}: given the seed {shown}, expected an integer. For several keys split one key, "
            "or map over seeds with vmap."
        )
    return _traced_seed(seed, offset)


def _traced_seed(seed: Any, offset: int) -> Any:
    if offset:
        seed = lax.add(seed, typeof(seed).dtype.type(offset))
    dtype = typeof(seed).dtype
    low = lax.convert_element_type(seed, np.dtype(np.uint32))
    if dtype.itemsize == 8:
        high = lax.convert_element_type(
            lax.shift_right_logical(seed, dtype.type(32)), np.dtype(np.uint32)
        )
    else:
        high = lax.full((), 0, np.dtype(np.uint32))
    return lax.concatenate([lax.expand_dims(w, (0,)) for w in (high, low)], 0)


@composite(static_argnames=("impl",))
def _seed_key(words: Any, *, impl: Implementation) -> Any:
    return impl.seed(lax.convert_element_type(words, np.dtype(np.uint32)))


def key(seed: int | Any, *, impl: Any = None) -> Key:
    """Make a typed key from a seed.

    Args:
      seed: integer; with x64 off its low 32 bits count.
      impl: name of the generator; `jax_default_prng_impl` if None.

    Raises:
      TypeError: the seed is not a single integer.
      ValueError: unknown generator.

    Example:
      >>> key(0).dtype
      key<fry>
    """
    found = default_implementation() if impl is None else find_implementation(impl)
    return _typed(_seed_key(_seed_words(seed, "key"), impl=found), found)


def PRNGKey(seed: int | Any, *, impl: Any = None) -> Any:  # noqa: N802  (JAX's name)
    """Make a raw key, its words, from a seed; see `key`."""
    found = default_implementation() if impl is None else find_implementation(impl)
    return _seed_key(_seed_words(seed, "PRNGKey"), impl=found)


def key_data(keys: Key) -> Any:
    """Return the words of keys, uint32 [..., *key_shape]; raw keys are returned."""
    return take_apart(keys, "key_data", batched=True).words


def key_impl(keys: Key) -> Any:
    """Return the name of the keys' generator."""
    return take_apart(keys, "key_impl", batched=True).impl.name


def wrap_key_data(key_bits_array: Any, *, impl: Any = None) -> Key:
    """Return typed keys with the given words.

    Args:
      key_bits_array: uint32 [..., *key_shape].
      impl: name of the generator; `jax_default_prng_impl` if None.

    Raises:
      TypeError: wrong dtype or shape.
    """
    found = default_implementation() if impl is None else find_implementation(impl)
    aval, n = typeof(key_bits_array), len(found.key_shape)
    if aval.dtype != np.uint32 or aval.shape[max(aval.ndim - n, 0) :] != found.key_shape:
        raise TypeError(
            f"wrap_key_data: given words of type {aval.str_short()}, expected uint32 with the last "
            f"dimensions {found.key_shape} for {found.name}."
        )
    if isinstance(key_bits_array, np.ndarray):
        key_bits_array = lax.convert_element_type(key_bits_array, np.dtype(np.uint32))
    return _typed(key_bits_array, found)


def clone(key: Key) -> Key:
    """Return the key; a mark for checkers of key reuse that using it again is meant."""
    take_apart(key, "clone", batched=True)
    return key


def _as_shape(num: Any) -> tuple[int, ...]:
    items = num if isinstance(num, Sequence) else (num,)
    return tuple(operator.index(n) for n in items)


@composite(static_argnames=("shape", "impl"))
def _split(words: Any, *, shape: tuple[int, ...], impl: Implementation) -> Any:
    return impl.split(words, shape)


def split(key: Key, num: int | tuple[int, ...] = 2) -> Key:
    """Return new keys made from one; the old one must not be used again.

    Args:
      key: single key.
      num: how many, or the shape of the result.

    Raises:
      ValueError: an array of keys.
    """
    parts = take_apart(key, "split")
    return parts.rebuild(_split(parts.words, shape=_as_shape(num), impl=parts.impl))


@composite(static_argnames=("impl",))
def _fold_in(words: Any, data: Any, *, impl: Implementation) -> Any:
    return impl.fold_in(words, lax.convert_element_type(data, np.dtype(np.uint32)))


def fold_in(key: Key, data: Any) -> Key:
    """Return the key made from a key and a number.

    Args:
      key: single key.
      data: integer, taken as uint32; may be traced.

    Raises:
      TypeError: `data` is not an integer.
      OverflowError: a Python integer outside uint32.
      ValueError: an array of keys.
    """
    parts = take_apart(key, "fold_in")
    if isinstance(data, int):
        if not 0 <= data < 1 << 32:
            raise OverflowError(
                f"fold_in: given the number {data}, expected 0 to 2**32 - 1. Take it modulo 2**32."
            )
        data = np.uint32(data)
    elif typeof(data).ndim or typeof(data).dtype.kind not in "iu":
        raise TypeError(
            f"fold_in: given data of type {typeof(data).str_short()}, expected a single integer. "
            "Map over several with vmap."
        )
    return parts.rebuild(_fold_in(parts.words, data, impl=parts.impl))
