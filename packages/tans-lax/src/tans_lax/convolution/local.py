"""Convolution with a kernel of its own at every place."""

from collections.abc import Sequence
from typing import Any

from tans_core import Array, typeof
from tans_lax.contractions import dot_general
from tans_lax.convolution import conv_general_dilated_patches
from tans_lax.convolution.dimensions import conv_dimension_numbers
from tans_lax.shape import transpose

type ArrayLike = Any  # array of the documented shape, tracer or NumPy array


def conv_general_dilated_local(
    lhs: ArrayLike,
    rhs: ArrayLike,
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    filter_shape: Sequence[int],
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    precision: Any = None,
) -> Array:
    """Correlate an input with kernels that are not shared between places.

    Args:
      lhs: the input, ``[batch, feature, *spatial]`` unless `dimension_numbers` says otherwise.
      rhs: the kernels, ``[out, feature * prod(filter_shape), *out_spatial]`` unless
        `dimension_numbers` says otherwise; the features are the slowest part of the second size.
      window_strides: as for `conv_general_dilated`.
      padding: as for `conv_general_dilated`.
      filter_shape: spatial shape of a kernel.
      lhs_dilation: as for `conv_general_dilated`.
      rhs_dilation: as for `conv_general_dilated`.
      dimension_numbers: as for `conv_general_dilated`.
      precision: as for `dot_general`.

    Returns:
      ``[batch, out, *out_spatial]`` in the order of `dimension_numbers`.

    Raises:
      TypeError: the kernels don't fit the patches.

    Example:
      >>> import numpy as np
      >>> x, w = np.ones((1, 1, 3), np.float32), np.ones((1, 2, 2), np.float32)
      >>> conv_general_dilated_local(x, w, (1,), "VALID", (2,)).tolist()
      [[[2.0, 2.0]]]
    """
    numbers = conv_dimension_numbers(typeof(lhs).shape, typeof(rhs).shape, dimension_numbers)
    patches = conv_general_dilated_patches(
        lhs,
        filter_shape,
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        numbers,
        precision,
    )
    (_, in_axis, *in_space) = numbers.rhs_spec
    (_, out_axis, *out_space) = numbers.out_spec
    contracting = ((in_axis,), (out_axis,))
    batch = (tuple(in_space), tuple(out_space))
    out = dot_general(rhs, patches, (contracting, batch), precision)  # [*space, out, batch]
    rank = len(in_space)
    places = [0] * (rank + 2)
    for source, target in enumerate((*out_space, out_axis, numbers.out_spec[0])):
        places[target] = source
    return transpose(out, places)
