"""Operations that arrange elements anew: broadcast_in_dim, reshape, transpose, squeeze, rev."""

from collections.abc import Sequence
from math import prod
from typing import Any, Final

from tans_core import Array, ArrayImpl, Primitive, is_evaluating, typeof
from tans_lax.elementwise.identity import copy_p
from tans_xla.sizes import as_ints, as_sizes

type Value = Any  # an array, a Python scalar or a tracer
type Shape = tuple[int, ...]

broadcast_in_dim_p: Final = Primitive("broadcast_in_dim", family=__name__)
reshape_p: Final = Primitive("reshape", family=__name__)
transpose_p: Final = Primitive("transpose", family=__name__)
squeeze_p: Final = Primitive("squeeze", family=__name__)
rev_p: Final = Primitive("rev", family=__name__)


def broadcast_in_dim(
    operand: Value,
    shape: Sequence[int],
    broadcast_dimensions: Sequence[int],
    *,
    out_sharding: Any = None,
) -> Value:
    """Repeat `operand` along new dimensions, and along its dimensions of size 1.

    Args:
      operand: any shape, any dtype.
      shape: shape of the result.
      broadcast_dimensions: for each dimension of `operand`, its place in `shape`.
      out_sharding: sharding of the result; None leaves it to the rule.

    Returns:
      Array of shape `shape` and `operand`'s dtype.

    Raises:
      TypeError: the sizes or dimensions don't fit.

    Example:
      >>> lax.broadcast_in_dim(np.arange(2), (2, 3), (0,)).tolist()
      [[0, 0, 0], [1, 1, 1]]
    """
    shape = as_sizes(shape)
    dims = as_ints(broadcast_dimensions)
    if list(dims) != sorted(dims) and typeof(operand).ndim == len(dims):
        order = sorted(range(len(dims)), key=dims.__getitem__)
        operand, dims = transpose(operand, order), tuple(sorted(dims))
    whole = out_sharding is None and dims == tuple(range(len(shape)))
    if whole and typeof(operand).shape == shape:
        return unchanged(operand)
    return broadcast_in_dim_p.bind(
        operand, shape=shape, broadcast_dimensions=dims, sharding=out_sharding
    )


def broadcast(operand: Value, sizes: Sequence[int], *, out_sharding: Any = None) -> Value:
    """Repeat `operand` along new leading dimensions.

    Args:
      operand: any shape, any dtype.
      sizes: sizes of the new dimensions.
      out_sharding: sharding of the result; None leaves it to the rule.

    Returns:
      Array of shape ``(*sizes, *operand.shape)``.

    Raises:
      TypeError: a size is negative.

    Example:
      >>> lax.broadcast(1, (2,)).tolist()
      [1, 1]
    """
    own = typeof(operand).shape
    sizes = as_sizes(sizes)
    dims = range(len(sizes), len(sizes) + len(own))
    return broadcast_in_dim(operand, (*sizes, *own), dims, out_sharding=out_sharding)


def broadcast_to_rank(x: Value, rank: int) -> Value:
    """Add leading dimensions of size 1 up to a rank.

    Args:
      x: any shape, any dtype.
      rank: least rank of the result; an operand of a higher rank is returned as it is.

    Example:
      >>> lax.broadcast_to_rank(1, 2).shape
      (1, 1)
    """
    ndim = typeof(x).ndim
    return expand_dims(x, range(rank - ndim)) if rank > ndim else unchanged(x)


def broadcast_like(arr: Value, like_arr: Value) -> Value:
    """Repeat `arr` to the shape of another array by NumPy's rule.

    Args:
      arr: any shape, any dtype.
      like_arr: array whose shape, matched from the right, is taken.

    Raises:
      TypeError: the shapes don't fit.

    Example:
      >>> lax.broadcast_like(1, np.zeros(2)).tolist()
      [1, 1]
    """
    shape = typeof(like_arr).shape
    ndim = typeof(arr).ndim
    return broadcast_in_dim(arr, shape, range(len(shape) - ndim, len(shape)))


def broadcast_shapes(*shapes: Sequence[int]) -> Shape:
    """Return the shape that NumPy's broadcasting gives.

    Args:
      shapes: shapes to combine, matched from the right.

    Raises:
      ValueError: two sizes differ and neither is 1.

    Example:
      >>> lax.broadcast_shapes((2, 1), (3,))
      (2, 3)
    """
    rank = max((len(shape) for shape in shapes), default=0)
    padded = [(1,) * (rank - len(shape)) + as_sizes(shape) for shape in shapes]
    out = []
    for sizes in zip(*padded, strict=True):
        different = {size for size in sizes if size != 1}
        if len(different) > 1:
            raise ValueError(
                f"lax.broadcast_shapes: given shapes {', '.join(str(tuple(s)) for s in shapes)}; "
                "expected sizes that are equal or 1, from the right. Reshape one of them."
            )
        out.append(different.pop() if different else 1)
    return tuple(out)


def reshape(
    operand: Value,
    new_sizes: Sequence[int],
    dimensions: Sequence[int] | None = None,
    *,
    out_sharding: Any = None,
) -> Value:
    """Give the elements, in row-major order, a new shape.

    Args:
      operand: any shape, any dtype.
      new_sizes: shape of the result, with as many elements; no size is inferred.
      dimensions: order in which `operand`'s dimensions are read; None is the given order.
      out_sharding: sharding of the result; None leaves it to the rule.

    Returns:
      Array of shape `new_sizes`.

    Raises:
      TypeError: the sizes don't fit.

    Example:
      >>> lax.reshape(np.arange(4), (2, 2)).tolist()
      [[0, 1], [2, 3]]
    """
    new_sizes = as_sizes(new_sizes)
    if dimensions is not None:
        dimensions = as_ints(dimensions)
        if dimensions == tuple(range(typeof(operand).ndim)):
            dimensions = None
    if dimensions is None and out_sharding is None and typeof(operand).shape == new_sizes:
        return unchanged(operand)
    return reshape_p.bind(
        operand, new_sizes=new_sizes, dimensions=dimensions, sharding=out_sharding
    )


def collapse(operand: Value, start_dimension: int, stop_dimension: int | None = None) -> Value:
    """Merge neighbouring dimensions into one.

    Args:
      operand: any shape, any dtype.
      start_dimension: first dimension to merge; negative counts from the end.
      stop_dimension: dimension after the last one; None is the rank.

    Raises:
      ValueError: the range is empty backwards.

    Example:
      >>> lax.collapse(np.zeros((2, 3, 4)), 0, 2).shape
      (6, 4)
    """
    shape = typeof(operand).shape
    start, stop, _ = slice(start_dimension, stop_dimension).indices(len(shape))
    if stop < start:
        raise ValueError(
            f"lax.collapse: given start_dimension={start_dimension} and "
            f"stop_dimension={stop_dimension}; expected the start first. Swap them."
        )
    merged = prod(shape[start:stop])
    return reshape(operand, (*shape[:start], merged, *shape[stop:]))


def transpose(operand: Value, permutation: Sequence[int]) -> Value:
    """Put the dimensions into another order.

    Args:
      operand: any shape, any dtype.
      permutation: for each dimension of the result, the dimension of `operand` it is.

    Raises:
      TypeError: not a permutation of the dimensions.

    Example:
      >>> lax.transpose(np.zeros((2, 3)), (1, 0)).shape
      (3, 2)
    """
    permutation = as_ints(permutation)
    if permutation == tuple(range(len(permutation))) and len(permutation) == typeof(operand).ndim:
        return unchanged(operand)
    return transpose_p.bind(operand, permutation=permutation)


def squeeze(array: Value, dimensions: Sequence[int]) -> Value:
    """Remove dimensions of size 1.

    Args:
      array: any shape, any dtype.
      dimensions: dimensions to remove; negative ones count from the end.

    Raises:
      ValueError: a dimension does not exist, or its size is not 1.

    Example:
      >>> lax.squeeze(np.zeros((1, 3)), (0,)).shape
      (3,)
    """
    dims = canonical_dims("squeeze", dimensions, typeof(array).ndim)
    return squeeze_p.bind(array, dimensions=dims) if dims else unchanged(array)


def expand_dims(array: Value, dimensions: Sequence[int]) -> Value:
    """Add dimensions of size 1.

    Args:
      array: any shape, any dtype.
      dimensions: places of the new dimensions in the result; negative ones count from the end.

    Raises:
      ValueError: a place does not exist or is given twice.

    Example:
      >>> lax.expand_dims(np.zeros(3), (0,)).shape
      (1, 3)
    """
    own = typeof(array).shape
    dimensions = as_ints(dimensions)
    dims = canonical_dims("expand_dims", dimensions, len(own) + len(dimensions))
    if not dims:
        return unchanged(array)
    kept = tuple(i for i in range(len(own) + len(dims)) if i not in dims)
    shape = [1] * (len(own) + len(dims))
    for place, size in zip(kept, own, strict=True):
        shape[place] = size
    return broadcast_in_dim_p.bind(
        array, shape=tuple(shape), broadcast_dimensions=kept, sharding=None
    )


def rev(operand: Value, dimensions: Sequence[int]) -> Value:
    """Reverse the order along some dimensions.

    Args:
      operand: any shape, any dtype.
      dimensions: dimensions to reverse.

    Raises:
      TypeError: a dimension does not exist or is given twice.

    Example:
      >>> lax.rev(np.arange(3), (0,)).tolist()
      [2, 1, 0]
    """
    return rev_p.bind(operand, dimensions=as_ints(dimensions))


def unchanged(x: Value) -> Value:
    """Return the result of an operation that does nothing: `x`, as an array when evaluating."""
    if type(x) is ArrayImpl or not is_evaluating() or isinstance(x, Array):
        return x
    return copy_p.bind(x)


def broadcast_to_shape(x: Value, shape: Shape) -> Value:
    """Repeat a value of rank 0, or of equal rank with sizes 1, to a shape."""
    own = typeof(x).shape
    if own == shape:
        return x
    dims = tuple(range(len(own)))
    return broadcast_in_dim_p.bind(x, shape=shape, broadcast_dimensions=dims, sharding=None)


def canonical_dims(name: str, dims: Sequence[int], ndim: int) -> tuple[int, ...]:
    """Return dimensions counted from the front, in increasing order.

    Raises:
      ValueError: a dimension does not exist or is given twice.
    """
    out = []
    for dim in as_ints(dims):
        if not -ndim <= dim < ndim:
            raise ValueError(
                f"lax.{name}: given dimension {dim}; expected one from {-ndim} to {ndim - 1}. "
                "Check it against the rank."
            )
        out.append(dim + ndim if dim < 0 else dim)
    if len(set(out)) < len(out):
        raise ValueError(
            f"lax.{name}: given dimensions {tuple(dims)}; expected no repetition. Name each once."
        )
    return tuple(sorted(out))
