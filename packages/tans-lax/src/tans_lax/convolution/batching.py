"""Batching of convolutions: the mapped axis joins the batch, the features or the groups."""

from collections.abc import Callable
from typing import Any, Final

from tans_core import AxisData, Primitive
from tans_lax.convolution import conv_general_dilated_p
from tans_lax.convolution.axes import fold_axis, split_axis
from tans_lax.convolution.dimensions import ConvDimensionNumbers
from tans_lax.rows import move_axis

type Value = Any
type Params = dict[str, Any]


def _conv_batch(
    axis: AxisData,
    args: tuple[Value, Value],
    dims: tuple[int | None, int | None],
    **params: Any,
) -> tuple[Value, int]:
    (lhs, rhs), (lhs_dim, rhs_dim) = args, dims
    if lhs_dim is not None and rhs_dim is not None:
        return _both_mapped(axis.size, lhs, lhs_dim, rhs, rhs_dim, params)
    if lhs_dim is not None:
        return _lhs_mapped(axis.size, lhs, lhs_dim, rhs, params)
    assert rhs_dim is not None
    return _rhs_mapped(axis.size, lhs, rhs, rhs_dim, params)


def _both_mapped(
    size: int, lhs: Value, lhs_dim: int, rhs: Value, rhs_dim: int, params: Params
) -> tuple[Value, int]:
    """Convolve each element as groups of its own."""
    numbers: ConvDimensionNumbers = params["dimension_numbers"]
    grouped = "batch_group_count" if params["batch_group_count"] > 1 else "feature_group_count"
    into = numbers.lhs_spec[0 if grouped == "batch_group_count" else 1]
    lhs = fold_axis(lhs, lhs_dim, into)
    rhs = fold_axis(rhs, rhs_dim, numbers.rhs_spec[0])
    out = conv_general_dilated_p.bind(lhs, rhs, **params | {grouped: params[grouped] * size})
    feature = numbers.out_spec[1]
    return split_axis(out, feature, size), feature


def _lhs_mapped(size: int, lhs: Value, dim: int, rhs: Value, params: Params) -> tuple[Value, int]:
    """Make the mapped axis part of the batch, inside each of its groups."""
    numbers: ConvDimensionNumbers = params["dimension_numbers"]
    groups, batch = params["batch_group_count"], numbers.lhs_spec[0]
    if groups > 1:
        lhs = move_axis(lhs, dim, 0)
        lhs = split_axis(lhs, batch + 1, groups)
        # Now (mapped, ..., groups, batch of a group, ...): the groups stay slowest.
        lhs = fold_axis(fold_axis(lhs, 0, batch + 1), batch, batch)
    else:
        lhs = fold_axis(lhs, dim, batch)
    out = conv_general_dilated_p.bind(lhs, rhs, **params)
    return split_axis(out, numbers.out_spec[0], size), numbers.out_spec[0]


def _rhs_mapped(size: int, lhs: Value, rhs: Value, dim: int, params: Params) -> tuple[Value, int]:
    """Make the mapped axis part of the out features, inside each of their groups."""
    numbers: ConvDimensionNumbers = params["dimension_numbers"]
    groups = max(params["feature_group_count"], params["batch_group_count"])
    feature, out_feature = numbers.rhs_spec[0], numbers.out_spec[1]
    if groups == 1:
        rhs = fold_axis(rhs, dim, feature)
        out = conv_general_dilated_p.bind(lhs, rhs, **params)
        return split_axis(out, out_feature, size), out_feature
    rhs = split_axis(move_axis(rhs, dim, 0), feature + 1, groups)
    rhs = fold_axis(fold_axis(rhs, 0, feature + 1), feature, feature)
    out = conv_general_dilated_p.bind(lhs, rhs, **params)
    # The out features are (groups, mapped, features of a group); the mapped axis leaves.
    out = split_axis(split_axis(out, out_feature, groups), out_feature + 1, size)
    out = move_axis(out, out_feature + 1, 0)
    return fold_axis(out, out_feature + 1, out_feature + 1), 0


BATCHING: Final[dict[Primitive, Callable[..., Any]]] = {
    conv_general_dilated_p: _conv_batch,
}
