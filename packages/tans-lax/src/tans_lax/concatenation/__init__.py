"""Operations that join, part and pad arrays: concatenate, split, pad, stack, unstack, tile."""

from collections.abc import Sequence
from typing import Any, Final

from tans_core import Primitive, typeof
from tans_lax.axes import canonical_axis
from tans_lax.elementwise.operands import PYTHON_SCALARS, adapt
from tans_lax.shape import unchanged
from tans_xla.sizes import as_int, as_size_groups, as_sizes

type Value = Any  # an array, a Python scalar or a tracer

concatenate_p: Final = Primitive("concatenate", family=__name__)
split_p: Final = Primitive("split", family=__name__, multiple_results=True)
pad_p: Final = Primitive("pad", family=__name__)
stack_p: Final = Primitive("stack", family=__name__)
unstack_p: Final = Primitive("unstack", family=__name__, multiple_results=True)
tile_p: Final = Primitive("tile", family=__name__)


def concatenate(operands: Sequence[Value], dimension: int) -> Value:
    """Join arrays along a dimension.

    Args:
      operands: arrays of one dtype, with equal sizes except along `dimension`.
      dimension: the dimension along which they follow each other.

    Raises:
      TypeError: the dtypes or shapes differ, or the dimension does not exist.
      ValueError: there is no operand.

    Example:
      >>> lax.concatenate([np.arange(2), np.arange(1)], 0).tolist()
      [0, 1, 0]
    """
    operands = tuple(operands)
    if not operands:
        raise ValueError(
            "lax.concatenate: given no operand; expected at least one array. Use lax.full for an "
            "empty result."
        )
    if len(operands) == 1 and 0 <= dimension < typeof(operands[0]).ndim:
        return unchanged(operands[0])
    return concatenate_p.bind(*operands, dimension=as_int(dimension))


def split(operand: Value, sizes: Sequence[int], axis: int = 0) -> list[Value]:
    """Part an array along a dimension.

    Args:
      operand: any shape, any dtype.
      sizes: sizes of the parts; they add up to the size of the dimension.
      axis: the dimension to part; negative ones count from the end.

    Returns:
      List of arrays, one per size.

    Raises:
      ValueError: the sizes don't add up, or the dimension does not exist.

    Example:
      >>> [x.tolist() for x in lax.split(np.arange(3), (1, 2))]
      [[0], [1, 2]]
    """
    axis = canonical_axis("split", axis, typeof(operand))
    return split_p.bind(operand, sizes=as_sizes(sizes), axis=axis)


def pad(
    operand: Value, padding_value: Value, padding_config: Sequence[tuple[int, int, int]]
) -> Value:
    """Add elements at the ends of dimensions and between elements, or cut off ends.

    Args:
      operand: any shape, any dtype.
      padding_value: the value of added elements; rank 0, same dtype as `operand`.
      padding_config: for each dimension the number of elements to add in front, behind and
        between two neighbours; negative numbers in front and behind cut off.

    Raises:
      TypeError: the dtypes differ, or `padding_value` has dimensions.
      ValueError: the configuration doesn't fit.

    Example:
      >>> lax.pad(np.arange(2), 9, ((1, 0, 1),)).tolist()
      [9, 0, 9, 1]
    """
    if type(padding_value) in PYTHON_SCALARS:
        operand, padding_value = adapt(operand, padding_value)
    config = as_size_groups(padding_config, 3)
    return pad_p.bind(operand, padding_value, padding_config=config)


def stack(operands: Sequence[Value], axis: int = 0) -> Value:
    """Join arrays along a new dimension.

    Args:
      operands: arrays of one shape and dtype.
      axis: place of the new dimension in the result; negative ones count from the end.

    Raises:
      TypeError: the dtypes differ.
      ValueError: the shapes differ, there is no operand, or no such place.

    Example:
      >>> lax.stack([1, 2]).tolist()
      [1, 2]
    """
    operands = tuple(operands)
    if not operands:
        raise ValueError(
            "lax.stack: given no operand; expected at least one array. Use lax.full for an empty "
            "result."
        )
    aval = typeof(operands[0])
    place = canonical_axis("stack", axis, aval.update(shape=(1, *aval.shape)))
    return stack_p.bind(*operands, axis=place)


def unstack(x: Value, axis: int = 0) -> tuple[Value, ...]:
    """Part an array into its slices along a dimension.

    Args:
      x: any shape of at least one dimension, any dtype.
      axis: the dimension to part; negative ones count from the end.

    Returns:
      Tuple of arrays without that dimension.

    Raises:
      ValueError: the dimension does not exist.

    Example:
      >>> [int(x) for x in lax.unstack(np.arange(2))]
      [0, 1]
    """
    aval = typeof(x)
    axis = canonical_axis("unstack", axis, aval)
    return tuple(unstack_p.bind(x, axis=axis)) if aval.shape[axis] else ()


def tile(operand: Value, reps: Sequence[int]) -> Value:
    """Repeat a whole array along its dimensions.

    Args:
      operand: any shape, any dtype.
      reps: number of repetitions for each dimension.

    Raises:
      TypeError: not one number per dimension, or a negative one.

    Example:
      >>> lax.tile(np.arange(2), (2,)).tolist()
      [0, 1, 0, 1]
    """
    return tile_p.bind(operand, reps=as_sizes(reps))
