"""From keys, typed or raw, to their words and back: what every function of keys starts with."""

from typing import Any, NamedTuple

import numpy as np

from tans_core import ArrayImpl, config, typeof
from tans_core.dtypes import is_extended
from tans_random.implementations import Implementation, find_implementation
from tans_random.key_array import KeyArray, dtype_of
from tans_random.wrapping import consume, unwrap, wrap

type KeyLike = Any  # typed key array, or raw words


class Words(NamedTuple):
    """A key taken apart: its words, its generator, and whether it was typed."""

    words: Any
    impl: Implementation
    typed: bool

    def rebuild(self, words: Any) -> KeyLike:
        """Return keys of the same kind with other words."""
        return typed_keys(words, self.impl) if self.typed else words


def typed_keys(words: Any, impl: Implementation) -> KeyLike:
    """Return typed keys with the given words, concrete or traced."""
    if type(words) is ArrayImpl:
        return KeyArray(dtype_of(impl), words)
    return wrap(words, dtype_of(impl))


def default_implementation() -> Implementation:
    """Return the generator that `jax_default_prng_impl` names."""
    return find_implementation(config.default_prng_impl.value)


def take_apart(key: KeyLike, name: str, batched: bool = False, uses: bool = True) -> Words:
    """Return the words of a key.

    Args:
      key: typed or raw key.
      name: the function, for messages.
      batched: whether an array of keys is accepted.
      uses: whether a typed key is used up, for the check of key reuse.

    Raises:
      TypeError: not a key.
      ValueError: an array of keys where one is expected.
      KeyReuseError: the key was used before, and the flag debug_key_reuse is on.
    """
    if type(key) is KeyArray:
        if key.aval.shape and not batched:
            raise _not_single(name, key.aval)
        if uses and config.debug_key_reuse.value:
            return Words(consume(key, name), key.aval.dtype.impl, True)
        return Words(key._words, key.aval.dtype.impl, True)
    if not hasattr(key, "dtype") or not hasattr(key, "shape"):
        raise _not_a_key(name, key)
    aval = typeof(key)
    if is_extended(aval.dtype):
        if aval.shape and not batched:
            raise _not_single(name, aval)
        checked = uses and config.debug_key_reuse.value
        words = consume(key, name) if checked else unwrap(key)
        return Words(words, aval.dtype.impl, True)
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
