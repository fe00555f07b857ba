"""Making keys, splitting them and looking at their words.

A key is either typed (an array of dtype ``key<fry>``) or raw (its words, uint32 [2]). Functions
take both and give back what they got.
"""

from collections.abc import Sequence
from typing import Any, NewType

import numpy as np

import tans_lax as lax
from tans_core import Array, config, typeof
from tans_core.dtypes import is_extended
from tans_random.implementations import Implementation, find_implementation
from tans_random.key_array import KeyDtype, dtype_of
from tans_random.key_words import KeyLike, default_implementation, take_apart, typed_keys
from tans_random.wrapping import fresh
from tans_xla import composite
from tans_xla.sizes import as_size

type ArrayLike = Any  # array of the documented shape, tracer, NumPy array or Python scalar
type ImplLike = Any  # name or dtype of a generator, or the generator itself

Key = NewType("Key", Array)


def _seed_words(seed: Any, name: str) -> Any:
    """Return the high and low 32 bits of a seed, uint32 [2]."""
    offset = config.random_seed_offset.value
    if isinstance(seed, int | np.integer | np.bool_):
        value = int(seed) + int(offset)
        if not -(1 << 63) <= value < 1 << 64:
            raise OverflowError(
                f"{name}: given the seed {value}, expected one of at most 64 bits. Take it modulo "
                "2**64."
            )
        if not config.enable_x64.value:
            value &= 0xFFFFFFFF
        return np.array([(value >> 32) & 0xFFFFFFFF, value & 0xFFFFFFFF], np.uint32)
    if isinstance(seed, np.ndarray) and not seed.shape and seed.dtype.kind in "iub":
        return _seed_words(int(seed), name)
    if not isinstance(seed, Array) or typeof(seed).ndim or _is_no_integer(typeof(seed)):
        shown = typeof(seed).str_short() if hasattr(seed, "dtype") else repr(seed)
        raise TypeError(
            f"{name}: given the seed {shown}, expected an integer. For several keys split one key, "
            "or map over seeds with vmap."
        )
    return _traced_seed(seed, offset)


def _is_no_integer(aval: Any) -> bool:
    return is_extended(aval.dtype) or aval.dtype.kind not in "iub"


def _traced_seed(seed: Any, offset: int) -> Any:
    if offset:
        seed = lax.add(seed, typeof(seed).dtype.type(offset))
    dtype = typeof(seed).dtype
    if dtype.itemsize < 4:
        seed = lax.convert_element_type(seed, np.dtype(np.int32))
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


def _chosen(name: str, impl: ImplLike, dtype: Any) -> Implementation:
    """Return the generator given by name or by dtype; `jax_default_prng_impl` if neither is."""
    if dtype is None:
        return default_implementation() if impl is None else find_implementation(impl)
    if impl is not None:
        raise ValueError(
            f"{name}: given impl={impl!r} and dtype={dtype!r}, expected one of them. Drop impl."
        )
    if not isinstance(dtype, KeyDtype):
        raise TypeError(
            f"{name}: given dtype={dtype!r}, expected a dtype of keys. Make one with "
            "random.key_dtype."
        )
    return dtype.impl


def key(seed: int | ArrayLike, *, impl: ImplLike = None, dtype: Any = None) -> KeyLike:
    """Make a typed key from a seed.

    Args:
      seed: integer; with x64 off its low 32 bits count.
      impl: name of the generator; `jax_default_prng_impl` if None.
      dtype: dtype of keys, instead of `impl`.

    Raises:
      TypeError: the seed is not a single integer, or `dtype` not one of keys.
      ValueError: unknown generator, or `impl` and `dtype` are both given.
      OverflowError: a seed of more than 64 bits.

    Example:
      >>> random.key(0).dtype
      key<fry>
    """
    found = _chosen("key", impl, dtype)
    return typed_keys(_seed_key(_seed_words(seed, "key"), impl=found), found)


def PRNGKey(seed: int | ArrayLike, *, impl: ImplLike = None) -> Any:  # noqa: N802  (JAX's name)
    """Make a raw key, its words, from a seed; see `key`.

    Args:
      seed: integer; with x64 off its low 32 bits count.
      impl: name of the generator; `jax_default_prng_impl` if None.

    Returns:
      The words, uint32 [*key_shape].

    Raises:
      TypeError: the seed is not a single integer.
      ValueError: unknown generator.
      OverflowError: a seed of more than 64 bits.

    Example:
      >>> random.PRNGKey(7).tolist()
      [0, 7]
    """
    found = _chosen("PRNGKey", impl, None)
    return _seed_key(_seed_words(seed, "PRNGKey"), impl=found)


def key_dtype(impl_spec: ImplLike = None) -> KeyDtype:
    """Return the dtype of the keys of a generator.

    Args:
      impl_spec: name of the generator; `jax_default_prng_impl` if None.

    Raises:
      ValueError: unknown generator.

    Example:
      >>> random.key_dtype("rbg")
      key<rbg>
    """
    return dtype_of(_chosen("key_dtype", impl_spec, None))


def key_data(keys: KeyLike) -> Any:
    """Return the words of keys; raw keys are returned as they are.

    Args:
      keys: keys of any shape, typed or raw.

    Returns:
      Words, uint32 [..., *key_shape].

    Raises:
      TypeError: not keys.

    Example:
      >>> random.key_data(random.key(7)).tolist()
      [0, 7]
    """
    return take_apart(keys, "key_data", batched=True, uses=False).words


def key_impl(keys: KeyLike) -> Any:
    """Return the name of the keys' generator.

    Args:
      keys: keys of any shape, typed or raw.

    Raises:
      TypeError: not keys.

    Example:
      >>> random.key_impl(random.key(0))
      'threefry2x32'
    """
    return take_apart(keys, "key_impl", batched=True, uses=False).impl.name


def wrap_key_data(
    key_bits_array: ArrayLike, *, impl: ImplLike = None, dtype: Any = None
) -> KeyLike:
    """Return typed keys with the given words.

    Args:
      key_bits_array: uint32 [..., *key_shape].
      impl: name of the generator; `jax_default_prng_impl` if None.
      dtype: dtype of keys, instead of `impl`.

    Raises:
      TypeError: words of another dtype or shape, or `dtype` not one of keys.
      ValueError: unknown generator, or `impl` and `dtype` are both given.

    Example:
      >>> random.wrap_key_data(jnp.zeros((3, 2), jnp.uint32)).shape
      (3,)
    """
    found = _chosen("wrap_key_data", impl, dtype)
    if not hasattr(key_bits_array, "dtype") or not hasattr(key_bits_array, "shape"):
        raise TypeError(
            f"wrap_key_data: given {key_bits_array!r}, expected an array. Convert it with "
            "jnp.array(words, jnp.uint32)."
        )
    aval, n = typeof(key_bits_array), len(found.key_shape)
    if is_extended(aval.dtype) or aval.dtype != np.uint32 or not _ends_with(aval, found.key_shape):
        raise TypeError(
            f"wrap_key_data: given words of type {aval.str_short()}, expected uint32 with the last "
            f"{n} dimensions {found.key_shape} for {found.name}. Give the name of another "
            "generator as impl."
        )
    if isinstance(key_bits_array, np.ndarray):
        key_bits_array = lax.convert_element_type(key_bits_array, np.dtype(np.uint32))
    return typed_keys(key_bits_array, found)


def _ends_with(aval: Any, key_shape: tuple[int, ...]) -> bool:
    return aval.shape[max(aval.ndim - len(key_shape), 0) :] == key_shape


def clone(key: KeyLike) -> KeyLike:
    """Return the key as an unused one, which the check of key reuse lets be used again.

    Args:
      key: keys of any shape, typed or raw.

    Raises:
      TypeError: not keys.

    Example:
      >>> bool(random.clone(random.key(0)) == random.key(0))
      True
    """
    parts = take_apart(key, "clone", batched=True, uses=False)
    return fresh(key) if parts.typed else key


def _as_shape(num: Any) -> tuple[int, ...]:
    items = num if isinstance(num, Sequence) else (num,)
    shape = tuple(map(as_size, items))
    if any(n < 0 for n in shape):
        raise ValueError(
            f"split: given the shape {shape}, expected sizes of at least 0. Check the expression "
            "that made the shape."
        )
    return shape


@composite(static_argnames=("shape", "impl"))
def _split(words: Any, *, shape: tuple[int, ...], impl: Implementation) -> Any:
    return impl.split(words, shape)


def split(key: KeyLike, num: int | tuple[int, ...] = 2) -> KeyLike:
    """Return new keys made from one; the old one must not be used again.

    Args:
      key: single key.
      num: how many, or the shape of the result.

    Returns:
      Keys of the shape; raw ones have their words as last dimensions.

    Raises:
      TypeError: not a key, or `num` is not static.
      ValueError: an array of keys, or a negative size.

    Example:
      >>> random.split(random.key(0), 3).shape
      (3,)
    """
    parts = take_apart(key, "split")
    return parts.rebuild(_split(parts.words, shape=_as_shape(num), impl=parts.impl))


@composite(static_argnames=("impl",))
def _fold_in(words: Any, data: Any, *, impl: Implementation) -> Any:
    return impl.fold_in(words, lax.convert_element_type(data, np.dtype(np.uint32)))


def fold_in(key: KeyLike, data: ArrayLike) -> KeyLike:
    """Return the key made from a key and a number.

    Args:
      key: single key.
      data: number, taken as uint32; may be traced.

    Raises:
      TypeError: not a key, or `data` is not a single number.
      OverflowError: a Python integer outside uint32.
      ValueError: an array of keys.

    Example:
      >>> bool(random.fold_in(random.key(0), 1) == random.split(random.key(0))[1])
      True
    """
    parts = take_apart(key, "fold_in", uses=False)
    if isinstance(data, int):
        if not 0 <= data < 1 << 32:
            raise OverflowError(
                f"fold_in: given the number {data}, expected 0 to 2**32 - 1. Take it modulo 2**32."
            )
        data = np.uint32(data)
    elif typeof(data).ndim or is_extended(typeof(data).dtype) or typeof(data).dtype.kind == "c":
        raise TypeError(
            f"fold_in: given data of type {typeof(data).str_short()}, expected a single number. "
            "Map over several with vmap."
        )
    elif isinstance(data, np.generic) and data.dtype.kind in "iu":
        # Wrapped here: with x64 off a 64-bit scalar would be narrowed with a warning.
        data = data.astype(np.uint32)
    return parts.rebuild(_fold_in(parts.words, data, impl=parts.impl))
