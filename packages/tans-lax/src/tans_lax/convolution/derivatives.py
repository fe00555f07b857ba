"""Derivatives of convolutions, which are linear in the input and in the kernel.

In one spatial dimension, with stride s, dilations l and r and padding `low` below,

    out[n, o, p] = sum_ck lhs[n, c, (p s + k r - low) / l] rhs[o, c, k],

where only whole positions count. The cotangent of the input gathers, for each of its places, the
places p of `ct` that read it: a convolution of `ct` spread by s with the flipped kernel, at stride
l. The cotangent of the kernel is a convolution of the input with `ct` spread by s, at stride r,
in which batch and features exchange their roles.
"""

from collections.abc import Callable
from typing import Any, Final

import tans_lax as lax
from tans_core import Primitive, ShapedArray, is_linear_input, typeof
from tans_lax.convolution import conv_general_dilated_p
from tans_lax.convolution.axes import fold_axis, split_axis
from tans_lax.convolution.dimensions import ConvDimensionNumbers
from tans_lax.rows import jvp_of, not_linear
from tans_lax.windows.padding import dilated_size

type Value = Any
type Params = dict[str, Any]


def _lhs_tangent(t: Value, lhs: Value, rhs: Value, **params: Any) -> Value:
    del lhs
    return conv_general_dilated_p.bind(t, rhs, **params)


def _rhs_tangent(t: Value, lhs: Value, rhs: Value, **params: Any) -> Value:
    del rhs
    return conv_general_dilated_p.bind(lhs, t, **params)


def _conv_transpose(
    ct: Value, lhs: Value, rhs: Value, **params: Any
) -> tuple[Value | None, Value | None]:
    if is_linear_input(lhs) and is_linear_input(rhs):
        not_linear(ct, lhs, rhs)
    params |= {"out_sharding": None}
    if is_linear_input(lhs):
        return _lhs_cotangent(ct, lhs.aval, rhs, params), None
    return None, _rhs_cotangent(ct, lhs, rhs.aval, params)


def _like(x: Value, dtype: Any) -> Value:
    return x if typeof(x).dtype == dtype else lax.convert_element_type(x, dtype)


def _lhs_cotangent(ct: Value, lhs: ShapedArray, rhs: Value, params: Params) -> Value:
    numbers: ConvDimensionNumbers = params["dimension_numbers"]
    batch_groups = params["batch_group_count"]
    groups = max(params["feature_group_count"], batch_groups)
    out, in_, *spatial = numbers.rhs_spec
    kernel = lax.rev(_exchange_groups(rhs, out, in_, groups), tuple(spatial))
    ct_bar = conv_general_dilated_p.bind(
        ct,
        _like(kernel, typeof(ct).dtype),
        **params
        | {
            "window_strides": params["lhs_dilation"],
            "lhs_dilation": params["window_strides"],
            "padding": _lhs_padding(ct, lhs, typeof(rhs), params),
            "dimension_numbers": ConvDimensionNumbers(
                numbers.out_spec, (in_, out, *spatial), numbers.lhs_spec
            ),
            "feature_group_count": groups,
            "batch_group_count": 1,
        },
    )
    if batch_groups > 1:
        batch, feature, *_ = numbers.lhs_spec
        split = split_axis(ct_bar, feature, batch_groups)
        ct_bar = fold_axis(split, feature, batch)
    return _like(ct_bar, lhs.dtype)


def _exchange_groups(rhs: Value, out: int, in_: int, groups: int) -> Value:
    """Move the groups, slowest of the kernel's out features, to its in features."""
    return rhs if groups == 1 else fold_axis(split_axis(rhs, out, groups), out, in_)


def _lhs_padding(
    ct: Value, lhs: ShapedArray, rhs: ShapedArray, params: Params
) -> tuple[tuple[int, int], ...]:
    numbers = params["dimension_numbers"]
    padding = []
    for i, (low, _) in enumerate(params["padding"]):
        size = lhs.shape[numbers.lhs_spec[2 + i]]
        kernel = dilated_size(rhs.shape[numbers.rhs_spec[2 + i]], params["rhs_dilation"][i])
        spread = dilated_size(
            typeof(ct).shape[numbers.out_spec[2 + i]], params["window_strides"][i]
        )
        below = kernel - 1 - low
        needed = dilated_size(size, params["lhs_dilation"][i]) + kernel - 1
        padding.append((below, needed - below - spread))
    return tuple(padding)


def _rhs_cotangent(ct: Value, lhs: Value, rhs: ShapedArray, params: Params) -> Value:
    numbers: ConvDimensionNumbers = params["dimension_numbers"]
    exchanged = ConvDimensionNumbers(*(_exchange_first_two(spec) for spec in _specs(numbers)))
    ct_bar = conv_general_dilated_p.bind(
        _like(lhs, typeof(ct).dtype),
        ct,
        **params
        | {
            "window_strides": params["rhs_dilation"],
            "rhs_dilation": params["window_strides"],
            "padding": _rhs_padding(ct, typeof(lhs), rhs, params),
            "dimension_numbers": exchanged,
            "feature_group_count": params["batch_group_count"],
            "batch_group_count": params["feature_group_count"],
        },
    )
    return _like(ct_bar, rhs.dtype)


def _specs(numbers: ConvDimensionNumbers) -> tuple[tuple[int, ...], ...]:
    return numbers.lhs_spec, numbers.out_spec, numbers.rhs_spec


def _exchange_first_two(spec: tuple[int, ...]) -> tuple[int, ...]:
    return (spec[1], spec[0], *spec[2:])


def _rhs_padding(
    ct: Value, lhs: ShapedArray, rhs: ShapedArray, params: Params
) -> tuple[tuple[int, int], ...]:
    numbers = params["dimension_numbers"]
    padding = []
    for i, (low, _) in enumerate(params["padding"]):
        spread = dilated_size(lhs.shape[numbers.lhs_spec[2 + i]], params["lhs_dilation"][i])
        kernel = dilated_size(rhs.shape[numbers.rhs_spec[2 + i]], params["rhs_dilation"][i])
        window = dilated_size(
            typeof(ct).shape[numbers.out_spec[2 + i]], params["window_strides"][i]
        )
        padding.append((low, kernel + window - 1 - low - spread))
    return tuple(padding)


JVP: Final[dict[Primitive, Callable[..., Any]]] = {
    conv_general_dilated_p: jvp_of(conv_general_dilated_p, _lhs_tangent, _rhs_tangent),
}

TRANSPOSE: Final[dict[Primitive, Callable[..., Any]]] = {
    conv_general_dilated_p: _conv_transpose,
}
