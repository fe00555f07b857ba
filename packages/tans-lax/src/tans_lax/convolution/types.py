"""Result type of convolutions."""

from collections.abc import Callable
from typing import Any, Final, NoReturn

import numpy as np

from tans_core import Primitive, ShapedArray
from tans_core.dtype_queries import issubdtype
from tans_lax.convolution import conv_general_dilated_p
from tans_lax.convolution.dimensions import ConvDimensionNumbers, conv_shape_tuple, in_order
from tans_lax.windows.padding import Padding, dilated_size

type Sizes = tuple[int, ...]


def _refuse(text: str, error: type[Exception] = ValueError) -> NoReturn:
    raise error(f"conv_general_dilated: given {text}")


def _conv_type(
    lhs: ShapedArray,
    rhs: ShapedArray,
    *,
    window_strides: Sizes,
    padding: Padding,
    lhs_dilation: Sizes,
    rhs_dilation: Sizes,
    dimension_numbers: ConvDimensionNumbers,
    feature_group_count: int,
    batch_group_count: int,
    preferred_element_type: Any,
    **_: Any,
) -> ShapedArray:
    _check_dtypes(lhs, rhs)
    lhs_shape = [lhs.shape[d] for d in dimension_numbers.lhs_spec]
    rhs_shape = [rhs.shape[d] for d in dimension_numbers.rhs_spec]
    _check_geometry(
        lhs.ndim - 2,
        {
            "window_strides": window_strides,
            "lhs_dilation": lhs_dilation,
            "rhs_dilation": rhs_dilation,
        },
        padding,
    )
    _check_groups(lhs_shape, rhs_shape, feature_group_count, batch_group_count)
    spread = [*lhs_shape[:2], *map(dilated_size, lhs_shape[2:], lhs_dilation)]
    kernel = [*rhs_shape[:2], *map(dilated_size, rhs_shape[2:], rhs_dilation)]
    shape = conv_shape_tuple(spread, kernel, window_strides, padding, batch_group_count)
    dtype = lhs.dtype if preferred_element_type is None else preferred_element_type
    weak = preferred_element_type is None and lhs.weak_type and rhs.weak_type
    return lhs.update(
        shape=in_order(shape, dimension_numbers.out_spec), dtype=dtype, weak_type=weak
    )


def _check_dtypes(lhs: ShapedArray, rhs: ShapedArray) -> None:
    if lhs.dtype != rhs.dtype:
        _refuse(
            f"an input of dtype {lhs.dtype} and a kernel of dtype {rhs.dtype}, expected the same "
            "dtype. Convert one of them with lax.convert_element_type.",
            TypeError,
        )
    if not (lhs.dtype == np.bool_ or issubdtype(lhs.dtype, np.number)):
        _refuse(f"operands of dtype {lhs.dtype}, expected numbers or bools.", TypeError)


def _check_geometry(ndim: int, sizes: dict[str, Sizes], padding: Padding) -> None:
    for name, value in sizes.items():
        if len(value) != ndim or any(entry <= 0 for entry in value):
            _refuse(
                f"{name} {value}, expected {ndim} positive ints: one for each spatial dimension."
            )
    if len(padding) != ndim:
        _refuse(
            f"padding {padding}, expected {ndim} pairs (below, above): one for each spatial "
            "dimension."
        )


def _check_groups(
    lhs_shape: list[int], rhs_shape: list[int], feature_groups: int, batch_groups: int
) -> None:
    for name, count in (
        ("feature_group_count", feature_groups),
        ("batch_group_count", batch_groups),
    ):
        if count < 1:
            _refuse(f"{name}={count}, expected a positive int; 1 means no groups.")
        if rhs_shape[0] % count:
            _refuse(
                f"{name}={count} and {rhs_shape[0]} out features, expected a multiple of the "
                "count. Each group makes equally many."
            )
    if feature_groups > 1 and batch_groups > 1:
        _refuse(
            f"feature_group_count={feature_groups} and batch_group_count={batch_groups}, expected "
            "at most one of them above 1."
        )
    if lhs_shape[1] % feature_groups:
        _refuse(
            f"feature_group_count={feature_groups} and {lhs_shape[1]} input features, expected a "
            "multiple of the count. Each group reads equally many."
        )
    if lhs_shape[1] // feature_groups != rhs_shape[1]:
        _refuse(
            f"{lhs_shape[1]} input features in {feature_groups} groups and a kernel with "
            f"{rhs_shape[1]} in features, expected {lhs_shape[1] // feature_groups} of them. "
            "Check the letters of dimension_numbers."
        )
    if lhs_shape[0] % batch_groups:
        _refuse(
            f"batch_group_count={batch_groups} and a batch of {lhs_shape[0]}, expected a multiple "
            "of the count."
        )


TYPES: Final[dict[Primitive, Callable[..., Any]]] = {
    conv_general_dilated_p: _conv_type,
}
