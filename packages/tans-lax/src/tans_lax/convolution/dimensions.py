"""Which dimension of a convolution's arrays is the batch, a feature or a place in space."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from tans_lax.windows.padding import count_windows, dilated_size, padtype_to_pads

type Sizes = Sequence[int]


class ConvDimensionNumbers(NamedTuple):
    """Positions of dimensions.

    Attributes:
      lhs_spec: batch, feature, then spatial dimensions of the input.
      rhs_spec: out feature, in feature, then spatial dimensions of the kernel.
      out_spec: batch, feature, then spatial dimensions of the result.
    """

    lhs_spec: tuple[int, ...]
    rhs_spec: tuple[int, ...]
    out_spec: tuple[int, ...]


type ConvGeneralDilatedDimensionNumbers = ConvDimensionNumbers | tuple[str, str, str] | None

_ROLES: Final = (("lhs", "N", "C"), ("rhs", "O", "I"), ("out", "N", "C"))


def conv_dimension_numbers(
    lhs_shape: Sizes,
    rhs_shape: Sizes,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers,
) -> ConvDimensionNumbers:
    """Return the positions of dimensions for letters such as ``("NHWC", "HWIO", "NHWC")``.

    Args:
      lhs_shape: shape of the input.
      rhs_shape: shape of the kernel.
      dimension_numbers: three strings for input, kernel and result: N is the batch, C a feature, O
        and I the kernel's out and in features, all other letters are spatial. None means batch,
        feature, spatial and out, in, spatial.

    Raises:
      TypeError: ranks differ or the letters are malformed.

    Example:
      >>> conv_dimension_numbers((1, 5, 5, 3), (3, 3, 3, 8), ("NHWC", "HWIO", "NHWC")).rhs_spec
      (3, 2, 0, 1)
    """
    if isinstance(dimension_numbers, ConvDimensionNumbers):
        return dimension_numbers
    ndim = len(lhs_shape)
    if ndim != len(rhs_shape):
        raise TypeError(
            f"convolution: given an input of shape {tuple(lhs_shape)} and a kernel of shape "
            f"{tuple(rhs_shape)}, expected the same number of dimensions. Add dimensions of size 1."
        )
    if dimension_numbers is None:
        straight = tuple(range(ndim))
        return ConvDimensionNumbers(straight, straight, straight)
    if not isinstance(dimension_numbers, list | tuple) or len(dimension_numbers) != 3:
        raise TypeError(
            f"convolution: given dimension_numbers {dimension_numbers!r}, expected None, a "
            "ConvDimensionNumbers or three strings such as ('NHWC', 'HWIO', 'NHWC')."
        )
    for letters, (side, first, second) in zip(dimension_numbers, _ROLES, strict=True):
        _check_letters(letters, side, first, second, ndim)
    return ConvDimensionNumbers(*conv_general_permutations(dimension_numbers))


def _check_letters(letters: Any, side: str, first: str, second: str, ndim: int) -> None:
    distinct = len(set(letters)) == len(letters)
    if not (distinct and len(letters) == ndim and first in letters and second in letters):
        raise TypeError(
            f"convolution: given {letters!r} for the {side} dimensions, expected {ndim} distinct "
            f"letters with {first} and {second} among them. "
            f"For {ndim} dimensions write for example {first + second + 'DHWXYZ'[: ndim - 2]!r}."
        )


def conv_general_permutations(dimension_numbers: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    """Return the positions of batch (out), feature (in) and spatial letters in three strings.

    Args:
      dimension_numbers: letters of input, kernel and result; spatial letters in the input's order.

    Raises:
      TypeError: the spatial letters of the three differ.

    Example:
      >>> conv_general_permutations(("NHWC", "HWIO", "NCHW"))
      ((0, 3, 1, 2), (3, 2, 0, 1), (0, 1, 2, 3))
    """
    order = [letter for letter in dimension_numbers[0] if letter not in "NC"]
    specs = []
    for letters, (_, first, second) in zip(dimension_numbers, _ROLES, strict=True):
        spatial = [letter for letter in letters if letter not in (first, second)]
        if sorted(spatial) != sorted(order):
            raise TypeError(
                f"convolution: given dimension_numbers {tuple(dimension_numbers)}, expected the "
                "same spatial letters in all three. Rename them alike."
            )
        specs.append(tuple(map(letters.index, (first, second, *order))))
    return tuple(specs)


def conv_shape_tuple(
    lhs_shape: Sizes,
    rhs_shape: Sizes,
    strides: Sizes,
    pads: str | Sequence[tuple[int, int]],
    batch_group_count: int = 1,
) -> tuple[int, ...]:
    """Return the shape of a convolution of arrays in (batch, feature, spatial) order.

    Args:
      lhs_shape: shape of the dilated input.
      rhs_shape: shape (out, in, spatial) of the dilated kernel.
      strides: step in each spatial dimension.
      pads: (below, above) for each spatial dimension, or the name of a padding.
      batch_group_count: number of groups of the batch.

    Example:
      >>> conv_shape_tuple((2, 3, 8, 9), (4, 3, 3, 2), (2, 1), ((0, 1), (0, 1)))
      (2, 4, 4, 9)
    """
    if isinstance(pads, str):
        pads = padtype_to_pads(lhs_shape[2:], rhs_shape[2:], strides, pads)
    padded = [n + low + high for n, (low, high) in zip(lhs_shape[2:], pads, strict=True)]
    spatial = map(count_windows, padded, rhs_shape[2:], strides)
    return (lhs_shape[0] // batch_group_count, rhs_shape[0], *spatial)


def conv_general_shape_tuple(
    lhs_shape: Sizes,
    rhs_shape: Sizes,
    window_strides: Sizes,
    padding: str | Sequence[tuple[int, int]],
    dimension_numbers: ConvGeneralDilatedDimensionNumbers,
) -> tuple[int, ...]:
    """Return the shape of a convolution with given dimension letters.

    Args:
      lhs_shape: shape of the input.
      rhs_shape: shape of the kernel.
      window_strides: step in each spatial dimension.
      padding: (below, above) for each spatial dimension, or the name of a padding.
      dimension_numbers: as for `conv_dimension_numbers`.

    Example:
      >>> conv_general_shape_tuple((2, 8, 9, 3), (3, 2, 3, 4), (2, 1), "SAME",
      ...                          ("NHWC", "HWIO", "NHWC"))
      (2, 4, 9, 4)
    """
    numbers = conv_dimension_numbers(lhs_shape, rhs_shape, dimension_numbers)
    lhs = [lhs_shape[d] for d in numbers.lhs_spec]
    rhs = [rhs_shape[d] for d in numbers.rhs_spec]
    return in_order(conv_shape_tuple(lhs, rhs, window_strides, padding), numbers.out_spec)


def conv_transpose_shape_tuple(
    lhs_shape: Sizes,
    rhs_shape: Sizes,
    window_strides: Sizes,
    padding: str | Sequence[tuple[int, int]],
    dimension_numbers: ConvGeneralDilatedDimensionNumbers,
) -> tuple[int, ...]:
    """Return the shape of `conv_transpose`; arguments as for `conv_general_shape_tuple`.

    Example:
      >>> conv_transpose_shape_tuple((2, 8, 9, 3), (3, 2, 3, 4), (2, 1), "SAME",
      ...                            ("NHWC", "HWIO", "NHWC"))
      (2, 16, 9, 4)
    """
    numbers = conv_dimension_numbers(lhs_shape, rhs_shape, dimension_numbers)
    lhs = [lhs_shape[d] for d in numbers.lhs_spec]
    rhs = [rhs_shape[d] for d in numbers.rhs_spec]
    if isinstance(padding, str):
        padding = [
            transposed_padding(k, s, padding) for k, s in zip(rhs[2:], window_strides, strict=True)
        ]
    spread = [*lhs[:2], *map(dilated_size, lhs[2:], window_strides)]
    ones = (1,) * len(window_strides)
    return in_order(conv_shape_tuple(spread, rhs, ones, padding), numbers.out_spec)


def in_order(sizes: Sizes, spec: Sizes) -> tuple[int, ...]:
    """Put sizes in (batch, feature, spatial) order where `spec` says they belong."""
    placed = [0] * len(spec)
    for size, position in zip(sizes, spec, strict=True):
        placed[position] = size
    return tuple(placed)


def transposed_padding(kernel: int, stride: int, padding: str) -> tuple[int, int]:
    """Return the padding of the spread input for a transposed convolution.

    With it the result has ``size * stride`` elements ("SAME"), or as many as the convolution that
    is transposed could have had at most ("VALID").

    Args:
      kernel: size of the dilated kernel.
      stride: the step of the convolution that is transposed.
      padding: "SAME" or "VALID".

    Raises:
      ValueError: another name.
    """
    total = kernel + stride - 2
    if padding == "SAME":
        below = kernel - 1 if stride > kernel - 1 else -(-total // 2)
    elif padding == "VALID":
        total += max(kernel - stride, 0)
        below = kernel - 1
    else:
        raise ValueError(
            f"conv_transpose: given padding {padding!r}, expected 'SAME', 'VALID' or a pair of "
            "ints (below, above) for each spatial dimension."
        )
    return below, total - below
