"""What samplers do with their arguments: keys, shapes, dtypes and parameters of distributions."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

import tans_lax as lax
import tans_numpy as jnp
from tans_core import dtypes, typeof
from tans_core.dtype_queries import issubdtype
from tans_core.errors import ConcretizationTypeError
from tans_numpy.creation import requested_dtype
from tans_numpy.operands import broadcast_shapes
from tans_random.implementations import Implementation
from tans_random.key_words import take_apart
from tans_xla import device_put
from tans_xla.sizes import as_size

type Key = Any  # typed key, or raw words
type Array = Any
type ArrayLike = Any  # array of the documented shape, tracer, NumPy array or Python scalar
type DTypeLike = Any
type Shape = tuple[int, ...]
type ShapeLike = int | Sequence[int] | None
type Sharding = Any  # sharding or partition spec of a result

# Static arguments of the compiled form of a sampler.
STATIC = ("shape", "dtype", "impl")
_SCALARS: Final = (np.generic, int, float)


def static_shape(shape: Any, name: str) -> Shape:
    """Return a shape as a tuple of ints.

    Raises:
      TypeError: a size is not a static integer.
      ValueError: a size is negative.
    """
    items = shape if type(shape) is tuple or isinstance(shape, Sequence) else (shape,)
    try:
        out = tuple(map(as_size, items))
    except (TypeError, ConcretizationTypeError):
        raise TypeError(
            f"{name}: given the shape {shape!r}, expected static integers. Shapes must be known "
            "while the function is traced: use x.shape, or static arguments."
        ) from None
    if [n for n in out if n < 0]:
        raise ValueError(
            f"{name}: given the shape {out}, expected sizes of at least 0. Check the expression "
            "that made the shape."
        )
    return out


def float_dtype(dtype: Any, name: str, allow_complex: bool = False) -> Any:
    """Return the dtype of a sampler of floats; the default one if None.

    Raises:
      ValueError: not a floating-point dtype.
    """
    target = dtypes.default_float() if dtype is None else requested_dtype(dtype, name)
    kinds = np.inexact if allow_complex else np.floating
    if not issubdtype(target, kinds):
        raise ValueError(
            f"{name}: given dtype {target}, expected a floating-point dtype. "
            "Use randint for integers."
        )
    return target


def int_dtype(dtype: Any, name: str) -> Any:
    """Return the dtype of a sampler of integers; the default one if None.

    Raises:
      ValueError: not an integer dtype.
    """
    target = dtypes.default_int() if dtype is None else requested_dtype(dtype, name)
    if not issubdtype(target, np.integer):
        raise ValueError(
            f"{name}: given dtype {target}, expected an integer dtype. Convert the result with "
            ".astype for another."
        )
    return target


def common_shape(shape: Any, name: str, *arrays: Any, error: type[Exception] = ValueError) -> Shape:
    """Return the shape of the result: that given, which parameters must broadcast to, or theirs.

    Args:
      shape: the shape that is asked for, or None.
      name: the public function, for messages.
      arrays: the parameters.
      error: what parameters raise whose sizes do not fit, while their number does.

    Raises:
      ValueError: the parameters do not broadcast to the shape.
      TypeError: a parameter is not an array.
    """
    shapes = [() if isinstance(a, _SCALARS) else typeof(a).shape for a in arrays]
    own = shapes[0] if len(set(shapes)) == 1 else broadcast_shapes(name, *shapes)
    if shape is None:
        return own
    out = static_shape(shape, name)
    try:
        fits = not own or out == own or broadcast_shapes(name, out, own) == out
    except ValueError as failure:
        if len(own) > len(out):
            raise
        raise error(*failure.args) from None
    if not fits:
        raise ValueError(
            f"{name}: given the shape {out} and parameters with shape {own}, expected parameters "
            "that broadcast to the shape. Put the shape of the parameters last."
        )
    return out


def check_choice(name: str, argument: str, value: Any, choices: tuple[str, ...]) -> None:
    """Check an argument that takes one of several strings.

    Raises:
      ValueError: another value.
    """
    if value not in choices:
        raise ValueError(
            f"{name}: given {argument}={value!r}, expected one of "
            f"{', '.join(map(repr, choices))}. Leave it out for the default."
        )


def draw(
    sampler: Any, name: str, key: Key, *params: Any, shape: Any, dtype: Any,
    out_sharding: Sharding = None, **static: Any,
) -> Array:  # fmt: skip
    """Call the compiled form of a sampler of floats.

    Args:
      sampler: ``(words, *params, shape, dtype, impl, **static)`` to array.
      name: the public function, for messages.
      key: single key.
      params: parameters of the distribution, which broadcast to `shape`.
      shape: shape of the result; that of the parameters if None.
      dtype: floating-point dtype, the default one if None.
      out_sharding: sharding of the result.
      static: other static arguments.
    """
    parts = take_apart(key, name)
    target = float_dtype(dtype, name)
    dims = common_shape(shape, name, *params) if params else static_shape(shape, name)
    out = sampler(parts.words, *params, shape=dims, dtype=target, impl=parts.impl, **static)
    return out if out_sharding is None else device_put(out, out_sharding)


def place(x: Array, out_sharding: Sharding) -> Array:
    """Return `x` with the sharding that was asked for."""
    return x if out_sharding is None else device_put(x, out_sharding)


def spread(x: Any, dtype: Any, shape: Shape) -> Array:
    """Return a parameter in the sampler's dtype and shape."""
    return jnp.broadcast_to(lax.convert_element_type(x, dtype), shape)


def float_dtype_of(*params: Any) -> Any:
    """Return the floating-point dtype that parameters promote to, Python scalars as arrays."""
    out = jnp.result_type(*(typeof(x).dtype for x in params))
    return out if issubdtype(out, np.floating) else dtypes.default_float()


def as_operand(x: Any, dtype: Any, shape: Shape) -> Any:
    """Return a parameter in the sampler's dtype, with rank 0 or the shape."""
    if type(x) in (int, float):
        return dtype.type(x)
    if not (isinstance(x, np.generic) and x.dtype == dtype):
        x = lax.convert_element_type(x, dtype)
    return x if typeof(x).ndim == 0 else jnp.broadcast_to(x, shape)


def split_words(words: Any, impl: Implementation, count: int) -> list[Any]:
    """Return the words of `count` new keys."""
    return lax.unstack(impl.split(words, (count,)))


def drawn_once(x: Array) -> Array:
    """Return random numbers that the compiler does not draw again for each of their uses.

    It would fuse the generator, some 120 operations, into every loop that reads the numbers. That
    made rejection loops slow to compile.
    """
    return lax.optimization_barrier(x)


def next_words(words: Any, impl: Implementation, count: int) -> list[Any]:
    """Return the words of `count` new keys, drawn once."""
    return lax.unstack(drawn_once(impl.split(words, (count,))))
