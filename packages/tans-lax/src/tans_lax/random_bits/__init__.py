"""Random bits: the Threefry-2x32 block function and the compiler's own generators."""

import enum
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from tans_core import Array, Primitive
from tans_core.dtypes import canonicalize
from tans_lax.axes import size_tuple

type ArrayLike = Any  # array of the documented shape, tracer, NumPy array or Python scalar

threefry2x32_p: Final = Primitive("threefry2x32", family=__name__, multiple_results=True)
rng_bit_generator_p: Final = Primitive("rng_bit_generator", family=__name__, multiple_results=True)
rng_uniform_p: Final = Primitive("rng_uniform", family=__name__)


class RandomAlgorithm(enum.IntEnum):
    """Algorithms of `rng_bit_generator`; the default is the backend's choice."""

    RNG_DEFAULT = 0
    RNG_THREE_FRY = 1
    RNG_PHILOX = 2

    def __str__(self) -> str:
        return self.name


def threefry2x32(
    key0: ArrayLike, key1: ArrayLike, count0: ArrayLike, count1: ArrayLike
) -> tuple[Array, Array]:
    """Encrypt counters with the Threefry-2x32 block cipher of 20 rounds.

    Args:
      key0: first word of the key, uint32; a scalar or of the counters' shape.
      key1: second word of the key, likewise.
      count0: first words of the counters, uint32, any shape.
      count1: second words of the counters, likewise.

    Returns:
      The two words of each block, uint32.

    Raises:
      TypeError: a dtype is not uint32, or shapes differ.

    Example:
      >>> import numpy as np
      >>> [hex(int(w)) for w in threefry2x32(*np.zeros(4, np.uint32))]
      ['0x6b200159', '0x99ba4efe']

    References:
      Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011.
    """
    word0, word1 = threefry2x32_p.bind(key0, key1, count0, count1)
    return word0, word1


def rng_bit_generator(
    key: ArrayLike,
    shape: Sequence[int],
    dtype: Any = np.uint32,
    algorithm: RandomAlgorithm = RandomAlgorithm.RNG_DEFAULT,
    *,
    out_sharding: Any = None,
) -> tuple[Array, Array]:
    """Draw uniform bits from the compiler's generator; fast, but not equal on all backends.

    Args:
      key: state, uint32 of shape [4] or uint64 of shape [2].
      shape: shape of the result.
      dtype: unsigned integer dtype of the result.
      algorithm: which generator.
      out_sharding: sharding of the bits in explicit mode.

    Returns:
      The next state, like `key`, and the bits.

    Raises:
      TypeError: the key or the dtype is of another type.

    Example:
      >>> import numpy as np
      >>> rng_bit_generator(np.zeros(4, np.uint32), (3,))[1].shape
      (3,)
    """
    key, bits = rng_bit_generator_p.bind(
        key,
        shape=_drawn_shape("rng_bit_generator", shape),
        dtype=canonicalize(dtype),
        algorithm=RandomAlgorithm(algorithm),
        out_sharding=out_sharding,
    )
    return key, bits


def rng_uniform(a: ArrayLike, b: ArrayLike, shape: Sequence[int]) -> Array:
    """Draw from the half-open interval [a, b) with the compiler's stateful generator.

    The result is not reproducible; use tans.random for numbers that are.

    Args:
      a: scalar, the lower end.
      b: scalar of the same dtype, the upper end.
      shape: shape of the result.

    Returns:
      Array of the dtype of `a`.

    Raises:
      ValueError: `a` or `b` is not a scalar, or their dtypes differ.

    Example:
      >>> rng_uniform(0.0, 1.0, (2, 3)).shape
      (2, 3)
    """
    return rng_uniform_p.bind(a, b, shape=_drawn_shape("rng_uniform", shape))


def _drawn_shape(name: str, shape: Any) -> tuple[Any, ...]:
    sizes = size_tuple(name, shape)
    if any(type(n) is int and n < 0 for n in sizes):
        raise TypeError(
            f"{name}: given the shape {sizes}, expected sizes of at least 0. Check the expression "
            "that made the shape."
        )
    return sizes
