"""Matrix products of block-scaled operands."""

from collections.abc import Sequence
from typing import Any

import numpy as np

import tans_lax as lax
from tans_core import Array, typeof
from tans_core.types import ShapedArray
from tans_lax.composites import composite
from tans_lax.contractions import dot_general

type ArrayLike = Any  # array of the documented shape, tracer or NumPy array
type Axes = Sequence[int]


def scaled_dot(
    lhs: ArrayLike,
    rhs: ArrayLike,
    *,
    lhs_scale: ArrayLike | None = None,
    rhs_scale: ArrayLike | None = None,
    dimension_numbers: tuple[tuple[Axes, Axes], tuple[Axes, Axes]] | None = None,
    preferred_element_type: Any = None,
) -> Array:
    """Multiply operands whose blocks share a scale, as narrow float formats store them.

    Args:
      lhs: any shape, usually of a narrow float dtype.
      rhs: any shape.
      lhs_scale: scales of `lhs`, of the same rank: each size divides that of `lhs`, and one scale
        belongs to a block of the quotients' shape. None means ones.
      rhs_scale: the same for `rhs`.
      dimension_numbers: as for `dot_general`; None contracts the last dimension of `lhs` with the
        one before the last (or the only) of `rhs`, over leading batch dimensions.
      preferred_element_type: dtype of the result; None means bfloat16.

    Returns:
      The product, with the dimensions of `dot_general`. GPUs with matrix units for scaled formats
      do it in one kernel.

    Raises:
      TypeError: a scale has another rank, or its sizes don't divide those of the operand.

    Example:
      >>> import numpy as np
      >>> x, y = np.ones((2, 32), np.float32), np.ones((32, 2), np.float32)
      >>> scaled_dot(x, y, lhs_scale=np.full((2, 1), 2, np.float32)).tolist()
      [[64.0, 64.0], [64.0, 64.0]]
    """
    element_type = np.dtype(preferred_element_type or "bfloat16")
    numbers = dimension_numbers or _matrix_product(typeof(lhs), typeof(rhs))
    numbers = tuple(tuple(tuple(axes) for axes in pair) for pair in numbers)
    ones = [_one(x) for x in (lhs, rhs)]
    scales = [
        one if scale is None else _checked(name, x, scale)
        for name, x, scale, one in zip(
            ("lhs", "rhs"), (lhs, rhs), (lhs_scale, rhs_scale), ones, strict=True
        )
    ]
    return _scaled_dot(
        lhs, rhs, *scales, dimension_numbers=numbers, preferred_element_type=element_type
    )


def _matrix_product(lhs: ShapedArray, rhs: ShapedArray) -> Any:
    batch = tuple(range(min(lhs.ndim, rhs.ndim) - 2))
    return (((lhs.ndim - 1,), (max(rhs.ndim - 2, 0),)), (batch, batch))


def _one(x: ArrayLike) -> Array:
    return lax.full((1,) * typeof(x).ndim, 1, np.dtype("bfloat16"))


def _checked(name: str, x: ArrayLike, scale: ArrayLike) -> ArrayLike:
    shape, sizes = typeof(x).shape, typeof(scale).shape
    if len(shape) != len(sizes) or any(
        n == 0 or size % n for size, n in zip(shape, sizes, strict=True)
    ):
        raise TypeError(
            f"scaled_dot: given {name} of shape {shape} with scales of shape {sizes}, expected "
            "the same rank and sizes that divide those of the operand. One scale belongs to a "
            "block of the quotients' shape."
        )
    return scale


def _decomposition(
    lhs: Array,
    rhs: Array,
    lhs_scale: Array,
    rhs_scale: Array,
    *,
    dimension_numbers: Any,
    preferred_element_type: Any,
) -> Array:
    operands = [
        lax.mul(
            lax.convert_element_type(x, np.dtype("bfloat16")),
            lax.convert_element_type(_repeated(scale, typeof(x).shape), np.dtype("bfloat16")),
        )
        for x, scale in ((lhs, lhs_scale), (rhs, rhs_scale))
    ]
    return dot_general(*operands, dimension_numbers, preferred_element_type=preferred_element_type)


def _repeated(scale: Array, shape: tuple[int, ...]) -> Array:
    """Repeat each scale over its block."""
    sizes = typeof(scale).shape
    split = [part for n, size in zip(sizes, shape, strict=True) for part in (n, size // n)]
    spread = lax.broadcast_in_dim(scale, split, tuple(range(0, 2 * len(sizes), 2)))
    return lax.reshape(spread, shape)


_scaled_dot = composite(_decomposition, "xla.scaled_dot")
