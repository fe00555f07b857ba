"""Samplers of random order, and of elements of an array."""

import math
from typing import Any

import numpy as np

import tans_lax as lax
import tans_numpy as jnp
from tans_core import dtypes, typeof
from tans_core.dtype_queries import issubdtype
from tans_random.implementations import Implementation
from tans_random.key_words import take_apart
from tans_random.samplers.arguments import (
    Array,
    ArrayLike,
    Key,
    Shape,
    ShapeLike,
    Sharding,
    place,
    split_words,
    static_shape,
)
from tans_random.samplers.categorical import gumbel_mode, gumbel_numbers
from tans_random.samplers.integers import randint
from tans_random.samplers.uniform import draw_bits, unit_uniform
from tans_xla import composite
from tans_xla.sizes import as_size, is_symbolic


def shuffle(words: Any, impl: Implementation, x: Array, axis: int) -> Array:
    """Sort by random numbers, often enough that ties do not matter."""
    exponent = 3
    size = typeof(x).size
    if is_symbolic(size):
        raise NotImplementedError(
            f"random: given {typeof(x).str_short()} to shuffle, expected an array whose size is a "
            "number: how often it is sorted depends on it. Export the function for one size, or "
            "sort by random numbers: x[jnp.argsort(random.uniform(key, x.shape[:1]))]."
        )
    size = max(1, size)
    rounds = int(np.ceil(exponent * np.log(size) / np.log(np.iinfo(np.uint32).max)))
    shape = typeof(x).shape
    for _ in range(rounds):
        words, sub = split_words(words, impl, 2)
        _, x = lax.sort_key_val(draw_bits(sub, impl, 32, shape), x, axis)
    return x


@composite(static_argnames=("axis", "independent", "impl"))
def _permutation(
    words: Any, x: Any, *, axis: int, independent: bool, impl: Implementation
) -> Array:
    if independent or (typeof(x).ndim == 1 and not dtypes.is_extended(typeof(x).dtype)):
        return shuffle(words, impl, x, axis)
    order = shuffle(words, impl, lax.iota(dtypes.default_int(), typeof(x).shape[axis]), 0)
    return jnp.take(x, order, axis, unique_indices=True)


def _check_array(name: str, argument: str, x: Any) -> None:
    if isinstance(x, list | tuple | str):
        raise TypeError(
            f"{name}: given {argument} of type {type(x).__name__}, expected an array or an "
            "integer. Convert it with jnp.array."
        )


def _axis_of(name: str, axis: int, ndim: int) -> int:
    if not -ndim <= axis < ndim:
        raise ValueError(
            f"{name}: given axis={axis} for an array with {ndim} dimensions, expected {-ndim} to "
            f"{ndim - 1}. Count from the end with negative numbers."
        )
    return axis + ndim if axis < 0 else axis


def _as_array(name: str, argument: str, x: Any) -> Any:
    """Return an array, or the numbers 0 to x - 1 for an integer."""
    _check_array(name, argument, x)
    aval = typeof(x)
    if aval.ndim:
        return x
    if not issubdtype(aval.dtype, np.integer):
        raise TypeError(
            f"{name}: given {argument} of type {aval.str_short()}, expected an integer or an array "
            "with at least one dimension. Convert it with int."
        )
    return jnp.arange(int(x))


def permutation(
    key: Key, x: ArrayLike, axis: int = 0, independent: bool = False, *,
    out_sharding: Sharding = None,
) -> Array:  # fmt: skip
    """Return an array in random order, or the numbers 0 to x - 1 in random order.

    Args:
      key: single key.
      x: integer, or array with at least one dimension.
      axis: the dimension to permute.
      independent: permute each vector along `axis` on its own.
      out_sharding: sharding of the result in explicit mode.

    Raises:
      TypeError: `x` is a list, or a scalar that is not an integer.
      ValueError: `axis` is out of range, or an array of keys.

    Example:
      >>> random.permutation(random.key(0), 5).tolist()
      [0, 1, 4, 3, 2]
    """
    parts = take_apart(key, "permutation")
    x = _as_array("permutation", "x", x)
    at = _axis_of("permutation", axis, typeof(x).ndim)
    out = _permutation(parts.words, x, axis=at, independent=bool(independent), impl=parts.impl)
    return place(out, out_sharding)


@composite(static_argnames=("shape", "impl"))
def _indices_by_weight(words: Any, p: Any, *, shape: Shape, impl: Implementation) -> Array:
    # The first index whose cumulative weight reaches a uniform number in (0, total].
    sums = lax.cumsum(p, 0)
    total = lax.index_in_dim(sums, typeof(sums).shape[0] - 1, 0, keepdims=False)
    u = unit_uniform(words, impl, shape, typeof(p).dtype)
    return jnp.searchsorted(sums, lax.mul(total, lax.sub(typeof(p).dtype.type(1), u)))


@composite(static_argnames=("count", "impl", "mode"))
def _distinct_by_weight(
    words: Any, p: Any, *, count: int, impl: Implementation, mode: str
) -> Array:
    scores = gumbel_numbers(words, impl, typeof(p).shape, typeof(p).dtype, mode)
    return lax.top_k(lax.add(scores, lax.log(p)), count)[1]


def choice(
    key: Key, a: int | ArrayLike, shape: ShapeLike = (), replace: bool = True,
    p: ArrayLike | None = None, axis: int = 0, mode: str | None = None,
) -> Array:  # fmt: skip
    """Pick elements of an array, or of the numbers 0 to a - 1.

    Args:
      key: single key.
      a: integer, or array with at least one dimension.
      shape: static shape of the picks.
      replace: whether an element may be picked again.
      p: weights of the elements, [n]; equal if None.
      axis: the dimension of `a` to pick along.
      mode: as for `gumbel`, for weights without replacement.

    Returns:
      Array of the shape of `a` with `axis` replaced by `shape`.

    Raises:
      TypeError: `a` or `p` is a list, or `a` a scalar that is not an integer.
      ValueError: nothing to pick from, more picks than elements without replacement, weights of
        another shape, `axis` out of range, or an array of keys.

    Example:
      >>> random.choice(random.key(0), 5, (3,)).tolist()
      [4, 0, 2]
    """
    parts = take_apart(key, "choice")
    dims = static_shape(shape, "choice")
    _check_array("choice", "a", a)
    is_count = is_symbolic(a) or not typeof(a).ndim
    if is_symbolic(a) or (is_count and isinstance(a, int | np.integer)):
        count, at = as_size(a), 0
    else:
        a = _as_array("choice", "a", a)
        is_count = False
        at = _axis_of("choice", axis, typeof(a).ndim)
        count = typeof(a).shape[at]
    picks = math.prod(dims)
    _check_choice(count, picks, replace)
    if p is not None:
        _check_array("choice", "p", p)
        if typeof(p).shape != (count,):
            raise ValueError(
                f"choice: given p of type {typeof(p).str_short()}, expected one weight for each of "
                f"the {count} elements. Normalise one axis of weights and pass that."
            )
        p = lax.convert_element_type(
            p, dtypes.default_float() if not _is_float(p) else typeof(p).dtype
        )
    own = () if is_count else typeof(a).shape
    if not picks:
        return jnp.zeros((*own[:at], *dims, *own[at + 1 :]), jnp.asarray(a).dtype)
    if p is None and not replace:
        mixed = permutation(key, a, at)
        out = lax.slice_in_dim(mixed, 0, picks, axis=at)
        return jnp.reshape(out, (*own[:at], *dims, *own[at + 1 :]))
    if p is None:
        index = randint(key, dims, 0, count)
    elif replace:
        index = _indices_by_weight(parts.words, p, shape=dims, impl=parts.impl)
    else:
        order = _distinct_by_weight(
            parts.words, p, count=picks, impl=parts.impl, mode=gumbel_mode(mode, "choice")
        )
        index = jnp.reshape(lax.convert_element_type(order, dtypes.default_int()), dims)
    return index if is_count else jnp.take(a, index, at)


def _is_float(x: Any) -> bool:
    return issubdtype(typeof(x).dtype, np.floating)


def _check_choice(count: int, picks: int, replace: bool) -> None:
    if count <= 0 and picks:
        raise ValueError(
            f"choice: given {count} elements to pick {picks} from, expected at least one. Check "
            "the array for emptiness first."
        )
    if not replace and picks > count:
        raise ValueError(
            f"choice: given replace=False and {picks} picks of {count} elements, expected at most "
            "as many picks as elements. Pass replace=True, or fewer picks."
        )
