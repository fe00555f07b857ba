"""Convolutions over any number of spatial dimensions, with dilations and groups."""

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

import tans_lax as lax
from tans_core import Array, Primitive, typeof
from tans_core.dtypes import requested
from tans_lax.contractions.precision import PrecisionLike, canonicalize_precision
from tans_lax.convolution.dimensions import (
    ConvDimensionNumbers,
    ConvGeneralDilatedDimensionNumbers,
    conv_dimension_numbers,
    conv_general_permutations,
    conv_general_shape_tuple,
    conv_shape_tuple,
    conv_transpose_shape_tuple,
    in_order,
    transposed_padding,
)
from tans_lax.windows.padding import canonical_padding, dilated_size, padtype_to_pads
from tans_xla.sizes import as_ints

type ArrayLike = Any  # array of the documented shape, tracer or NumPy array
type DTypeLike = Any
type Sizes = Sequence[int]
type PaddingLike = str | Sequence[tuple[int, int]]

__all__ = [
    "ConvDimensionNumbers",
    "ConvGeneralDilatedDimensionNumbers",
    "conv",
    "conv_dimension_numbers",
    "conv_general_dilated",
    "conv_general_dilated_p",
    "conv_general_dilated_patches",
    "conv_general_permutations",
    "conv_general_shape_tuple",
    "conv_shape_tuple",
    "conv_transpose",
    "conv_transpose_shape_tuple",
    "conv_with_general_padding",
]

conv_general_dilated_p: Final = Primitive("conv_general_dilated", family=__name__)


def conv_general_dilated(
    lhs: ArrayLike,
    rhs: ArrayLike,
    window_strides: Sizes,
    padding: PaddingLike,
    lhs_dilation: Sizes | None = None,
    rhs_dilation: Sizes | None = None,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers = None,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: Any = None,
) -> Array:
    """Correlate an input with a kernel at every place: the convolution of neural networks.

    Args:
      lhs: the input, ``[batch, feature, *spatial]`` unless `dimension_numbers` says otherwise.
      rhs: the kernel, ``[out, in, *spatial]``, of the same dtype.
      window_strides: step in each spatial dimension.
      padding: "VALID", "SAME", "SAME_LOWER", or (below, above) for each spatial dimension;
        negative values crop.
      lhs_dilation: distance of the input's neighbours (a transposed convolution); ones by default.
      rhs_dilation: distance of the kernel's neighbours (an atrous convolution); ones by default.
      dimension_numbers: letters such as ``("NHWC", "HWIO", "NHWC")``, or None.
      feature_group_count: number of groups of features that are convolved apart.
      batch_group_count: number of groups of the batch that meet different out features.
      precision: as for `dot_general`.
      preferred_element_type: dtype of the result; None means the operands' dtype.
      out_sharding: sharding of the result in explicit mode.

    Returns:
      Array ``[batch / batch_group_count, out, *spatial]`` in the order of `dimension_numbers`.

    Raises:
      TypeError: dtypes or ranks differ, or dimension letters are malformed.
      ValueError: sizes, strides or group counts don't fit.
      RuntimeError: an unknown name of a padding.

    Example:
      >>> import numpy as np
      >>> x, w = np.ones((1, 1, 3, 3), np.float32), np.ones((1, 1, 2, 2), np.float32)
      >>> conv_general_dilated(x, w, (1, 1), "VALID").tolist()
      [[[[4.0, 4.0], [4.0, 4.0]]]]
    """
    lhs_shape, rhs_shape = typeof(lhs).shape, typeof(rhs).shape
    numbers = conv_dimension_numbers(lhs_shape, rhs_shape, dimension_numbers)
    ones = (1,) * (len(lhs_shape) - 2)
    strides = as_ints(window_strides)
    lhs_dilation = ones if lhs_dilation is None else as_ints(lhs_dilation)
    rhs_dilation = ones if rhs_dilation is None else as_ints(rhs_dilation)
    if isinstance(padding, str):
        padding = _named_padding(
            padding, lhs_shape, rhs_shape, strides, lhs_dilation, rhs_dilation, numbers
        )
    if preferred_element_type is not None:
        preferred_element_type = requested(preferred_element_type, "conv_general_dilated")
    return conv_general_dilated_p.bind(
        lhs,
        rhs,
        window_strides=strides,
        padding=_explicit_padding(padding),
        lhs_dilation=lhs_dilation,
        rhs_dilation=rhs_dilation,
        dimension_numbers=numbers,
        feature_group_count=int(feature_group_count),
        batch_group_count=int(batch_group_count),
        precision=canonicalize_precision(precision),
        preferred_element_type=preferred_element_type,
        out_sharding=out_sharding,
    )


def _explicit_padding(padding: Any) -> Any:
    try:
        return canonical_padding(padding)
    except TypeError as error:
        raise ValueError(
            f"conv_general_dilated: given padding={padding!r}, expected a name or a pair of "
            f"integers (below, above) for each spatial dimension ({error})."
        ) from None


def _named_padding(
    name: str,
    lhs_shape: Sizes,
    rhs_shape: Sizes,
    strides: Sizes,
    lhs_dilation: Sizes,
    rhs_dilation: Sizes,
    numbers: ConvDimensionNumbers,
) -> Sequence[tuple[int, int]]:
    if any(d != 1 for d in lhs_dilation):
        raise ValueError(
            f"conv_general_dilated: given padding {name!r} with lhs_dilation {lhs_dilation}, "
            "expected explicit padding for a dilated input. Give (below, above) for each "
            "dimension, or use conv_transpose."
        )
    spatial = [lhs_shape[d] for d in numbers.lhs_spec[2:]]
    kernel = [rhs_shape[d] for d in numbers.rhs_spec[2:]]
    if not len(spatial) == len(strides) == len(rhs_dilation):
        raise ValueError(
            f"conv_general_dilated: given window_strides {tuple(strides)} and rhs_dilation "
            f"{tuple(rhs_dilation)}, expected {len(spatial)} entries: one for each spatial "
            "dimension."
        )
    window = list(map(dilated_size, kernel, rhs_dilation))
    return padtype_to_pads(spatial, window, strides, name)


def conv(
    lhs: ArrayLike,
    rhs: ArrayLike,
    window_strides: Sizes,
    padding: str,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """Convolve ``[batch, feature, *spatial]`` with ``[out, in, *spatial]``.

    Arguments, result and errors are those of `conv_general_dilated`.

    Example:
      >>> import numpy as np
      >>> conv(np.ones((1, 2, 5)), np.ones((3, 2, 2)), (1,), "SAME").shape
      (1, 3, 5)
    """
    return conv_general_dilated(
        lhs,
        rhs,
        window_strides,
        padding,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def conv_with_general_padding(
    lhs: ArrayLike,
    rhs: ArrayLike,
    window_strides: Sizes,
    padding: PaddingLike,
    lhs_dilation: Sizes | None,
    rhs_dilation: Sizes | None,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """Convolve as `conv`, with explicit padding and dilations.

    Arguments, result and errors are those of `conv_general_dilated`.

    Example:
      >>> import numpy as np
      >>> x, w = np.ones((1, 1, 5)), np.ones((1, 1, 2))
      >>> conv_with_general_padding(x, w, (1,), ((1, 0),), None, (2,)).shape
      (1, 1, 4)
    """
    return conv_general_dilated(
        lhs,
        rhs,
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


_TRANSPOSE_LETTERS: Final = {2: "", 3: "H", 4: "HW", 5: "HWD"}


def conv_transpose(
    lhs: ArrayLike,
    rhs: ArrayLike,
    strides: Sizes,
    padding: PaddingLike,
    rhs_dilation: Sizes | None = None,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers = None,
    transpose_kernel: bool = False,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    use_consistent_padding: bool = False,
) -> Array:
    """Convolve at fractional strides: the transpose of a strided convolution.

    Args:
      lhs: the input, ``[batch, *spatial, feature]`` unless `dimension_numbers` says otherwise.
      rhs: the kernel, ``[*spatial, in, out]``.
      strides: by how much each spatial dimension grows.
      padding: "SAME", "VALID", or (below, above) for each spatial dimension of the spread input.
      rhs_dilation: distance of the kernel's neighbours; ones by default.
      dimension_numbers: letters such as ``("NHWC", "HWIO", "NHWC")``, or None.
      transpose_kernel: flip the kernel and exchange its features, so that the result is the
        gradient of a convolution with the same kernel.
      precision: as for `dot_general`.
      preferred_element_type: dtype of the result; None means the operands' dtype.
      use_consistent_padding: read explicit padding as that of the convolution that is transposed.

    Returns:
      Array with the out features of the kernel.

    Raises:
      ValueError: an unknown padding, or more than three spatial dimensions without letters.

    Example:
      >>> import numpy as np
      >>> conv_transpose(np.ones((1, 4, 2)), np.ones((3, 2, 5)), (2,), "SAME").shape
      (1, 8, 5)
    """
    ndim = typeof(lhs).ndim
    if dimension_numbers is None:
        if ndim not in _TRANSPOSE_LETTERS:
            raise ValueError(
                f"conv_transpose: given {ndim} dimensions without dimension_numbers, expected 2 to "
                "5. Give three strings such as ('NHWC', 'HWIO', 'NHWC')."
            )
        space = _TRANSPOSE_LETTERS[ndim]
        dimension_numbers = (f"N{space}C", f"{space}IO", f"N{space}C")
    rhs_shape = typeof(rhs).shape
    numbers = conv_dimension_numbers(typeof(lhs).shape, rhs_shape, dimension_numbers)
    rhs_dilation = (1,) * (ndim - 2) if rhs_dilation is None else as_ints(rhs_dilation)
    kernel = list(map(dilated_size, (rhs_shape[d] for d in numbers.rhs_spec[2:]), rhs_dilation))
    if isinstance(padding, str):
        padding = [transposed_padding(k, s, padding) for k, s in zip(kernel, strides, strict=True)]
    elif use_consistent_padding:
        padding = [
            (k - 1 - low, k - 1 - high) for k, (low, high) in zip(kernel, padding, strict=True)
        ]
    if transpose_kernel:
        rhs = lax.rev(rhs, numbers.rhs_spec[2:])
        out, in_, *spatial = numbers.rhs_spec
        numbers = numbers._replace(rhs_spec=(in_, out, *spatial))
    return conv_general_dilated(
        lhs,
        rhs,
        (1,) * (ndim - 2),
        padding,
        strides,
        rhs_dilation,
        numbers,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def conv_general_dilated_patches(
    lhs: ArrayLike,
    filter_shape: Sizes,
    window_strides: Sizes,
    padding: PaddingLike,
    lhs_dilation: Sizes | None = None,
    rhs_dilation: Sizes | None = None,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers = None,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """Gather the patches that a convolution would read.

    Args:
      lhs: the input.
      filter_shape: spatial shape of a patch.
      window_strides: as for `conv_general_dilated`.
      padding: as for `conv_general_dilated`.
      lhs_dilation: as for `conv_general_dilated`.
      rhs_dilation: distance of a patch's neighbours.
      dimension_numbers: as for `conv_general_dilated`; the kernel's letters place the patch.
      precision: as for `dot_general`; below "highest" accelerators may round the elements.
      preferred_element_type: dtype of the result; None means the input's dtype.

    Returns:
      Array whose feature dimension holds ``features * prod(filter_shape)`` elements, the features
      slowest.

    Example:
      >>> import numpy as np
      >>> x = np.arange(4.0, dtype=np.float32).reshape(1, 1, 4)
      >>> conv_general_dilated_patches(x, (2,), (1,), "VALID").tolist()
      [[[0.0, 1.0, 2.0], [1.0, 2.0, 3.0]]]
    """
    aval = typeof(lhs)
    filter_shape = as_ints(filter_shape)
    numbers = conv_dimension_numbers(aval.shape, (1, 1, *filter_shape), dimension_numbers)
    features = aval.shape[numbers.lhs_spec[1]]
    # Output feature (f, p) reads position p of feature f: one unit kernel for each position.
    size = math.prod(filter_shape)
    row, column = (lax.broadcasted_iota(np.int32, (size, size), d) for d in (0, 1))
    unit = lax.convert_element_type(lax.eq(row, column), aval.dtype)
    kernel = lax.broadcast_in_dim(unit, (features, size, size), (1, 2))
    kernel = lax.reshape(kernel, (features * size, 1, *filter_shape))
    kernel = lax.transpose(kernel, in_order(range(aval.ndim), numbers.rhs_spec))
    return conv_general_dilated(
        lhs,
        kernel,
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        numbers,
        feature_group_count=features,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )
