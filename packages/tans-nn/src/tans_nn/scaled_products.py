"""Products of matrices whose elements share scales in blocks."""

from typing import Any

import numpy as np

import tans_lax as lax
import tans_numpy as jnp
from tans_core import typeof
from tans_numpy.creation import requested_dtype
from tans_xla import composite

type Array = Any


def scaled_matmul(
    lhs: Array, rhs: Array, lhs_scales: Array, rhs_scales: Array,
    preferred_element_type: Any = np.float32,
) -> Array:  # fmt: skip
    """Multiply block-scaled matrices: each scale belongs to a block of elements of a row.

    Args:
      lhs: [b, m, k].
      rhs: [b, n, k].
      lhs_scales: [b, m, k / block].
      rhs_scales: [b, n, k / block].
      preferred_element_type: dtype of the result.

    Returns:
      Array [b, m, n], the products of rows, summed in float32 at least.

    Raises:
      ValueError: shapes that do not fit.

    Example:
      >>> x, scales = jnp.ones((1, 2, 64)), jnp.full((1, 2, 2), 0.5)
      >>> scaled_matmul(x, x, scales, scales).tolist()
      [[[16.0, 16.0], [16.0, 16.0]]]
    """
    shapes = [typeof(x).shape for x in (lhs, rhs, lhs_scales, rhs_scales)]
    fits = all(len(s) == 3 for s in shapes)
    if fits:
        (b, m, k), (b_rhs, n, k_rhs), left, right = shapes
        blocks = left[2]
        fits = (b, k) == (b_rhs, k_rhs) and left == (b, m, blocks) and right == (b, n, blocks)
        fits = fits and blocks > 0 and k % blocks == 0
    if not fits:
        raise ValueError(
            f"scaled_matmul: given operands of shapes {shapes[0]} and {shapes[1]} with scales of "
            f"shapes {shapes[2]} and {shapes[3]}; expected [b, m, k], [b, n, k], [b, m, k / block] "
            "and [b, n, k / block]. Add a batch dimension with x[None]."
        )
    dtype = requested_dtype(preferred_element_type, "scaled_matmul")
    return _scaled_matmul(lhs, rhs, lhs_scales, rhs_scales, dtype=dtype)


@composite(static_argnames=("dtype",))
def _scaled_matmul(lhs: Any, rhs: Any, lhs_scales: Any, rhs_scales: Any, *, dtype: Any) -> Array:
    wide = np.promote_types(dtype, np.float32)
    left, right = _unscaled(lhs, lhs_scales, wide), _unscaled(rhs, rhs_scales, wide)
    out = lax.dot_general(left, right, (((2,), (2,)), ((0,), (0,))), preferred_element_type=wide)
    return lax.convert_element_type(out, dtype)


def _unscaled(x: Any, scales: Any, dtype: Any) -> Array:
    block = typeof(x).shape[2] // typeof(scales).shape[2]
    scales = jnp.repeat(lax.convert_element_type(scales, dtype), block, axis=2)
    return lax.mul(lax.convert_element_type(x, dtype), scales)
