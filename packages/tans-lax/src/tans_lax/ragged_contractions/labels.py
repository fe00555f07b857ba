"""Ragged products by labels of dimensions, as in einsum: what the rules are written with.

The product is ``out = sum(lhs * rhs * member)`` over all labels that the result lacks, where
``member[group, row]`` says whether a row belongs to a group. So the derivatives by `lhs` and `rhs`
are such products too, with the roles exchanged.
"""

from typing import Any, Final, NamedTuple

import tans_lax as lax
from tans_core import typeof
from tans_lax.contractions import dot_general
from tans_lax.ragged_contractions import RaggedDotDimensionNumbers, ragged_dot_general
from tans_lax.shape import transpose

type Value = Any
type Labels = tuple[int, ...]

GROUP: Final = -1


class Roles(NamedTuple):
    """Labels of a ragged product: `ragged` is that of the ragged dimension, GROUP of groups."""

    lhs: Labels
    rhs: Labels
    out: Labels
    batch: Labels
    ragged: int


def roles_of(numbers: RaggedDotDimensionNumbers, lhs_ndim: int, rhs_ndim: int) -> Roles:
    """Label the dimensions of a product."""
    (lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch) = numbers.dot_dimension_numbers
    lhs = tuple(range(lhs_ndim))
    rhs = [lhs_ndim + i for i in range(rhs_ndim)]
    pairs = zip((*lhs_contracting, *lhs_batch), (*rhs_contracting, *rhs_batch), strict=True)
    for left, right in pairs:
        rhs[right] = left
    for axis in numbers.rhs_group_dimensions:
        rhs[axis] = GROUP
    (ragged,) = numbers.lhs_ragged_dimensions
    out = [*lhs_batch, *(i for i in lhs if i not in (*lhs_batch, *lhs_contracting))]
    out += [label for label in rhs if label >= lhs_ndim]
    if ragged in lhs_contracting:
        out.insert(0, GROUP)
    return Roles(lhs, tuple(rhs), tuple(out), tuple(lhs_batch), ragged)


def product(
    x: Value, x_labels: Labels, y: Value, y_labels: Labels, sizes: Value, out: Labels,
    roles: Roles, **params: Any,
) -> Value:  # fmt: skip
    """Multiply by a ragged product; `x` has the ragged dimension."""
    shared = [label for label in x_labels if label in y_labels]
    batch = [label for label in roles.batch if label in shared and label in out]
    batch += [b for b in shared if b in out and b not in batch and b != roles.ragged]
    contracting = [label for label in shared if label not in batch]

    def axes(labels: Labels, wanted: list[int]) -> Labels:
        return tuple(labels.index(label) for label in wanted)

    numbers = RaggedDotDimensionNumbers(
        (
            (axes(x_labels, contracting), axes(y_labels, contracting)),
            (axes(x_labels, batch), axes(y_labels, batch)),
        ),
        axes(x_labels, [roles.ragged]),
        axes(y_labels, [GROUP]) if GROUP in y_labels else (),
    )
    made = [*batch, *(i for i in x_labels if i not in shared)]
    made += [i for i in y_labels if i not in shared and i != GROUP]
    if roles.ragged in contracting:
        made.insert(0, GROUP)
    result = ragged_dot_general(x, y, sizes, numbers, **params)
    return transpose(result, [made.index(label) for label in out])


def membership(sizes: Value, rows: int) -> Value:
    """Return ``[*batch, g, rows]``: whether a row belongs to a group."""
    aval = typeof(sizes)
    axis = aval.ndim - 1
    ends = lax.cumsum(sizes, axis)
    shape = (*aval.shape, rows)
    row = lax.broadcasted_iota(aval.dtype, shape, axis + 1)
    dims = tuple(range(axis + 1))
    ends, starts = (lax.broadcast_in_dim(x, shape, dims) for x in (ends, lax.sub(ends, sizes)))
    return lax.bitwise_and(lax.ge(row, starts), lax.lt(row, ends))


def masked_product(
    lhs: Value, rhs: Value, sizes: Value, *,
    ragged_dot_dimension_numbers: RaggedDotDimensionNumbers, **params: Any,
) -> Value:  # fmt: skip
    """Multiply by one plain product: each group has a copy of `lhs` with the other rows zero."""
    numbers = ragged_dot_dimension_numbers
    roles = roles_of(numbers, typeof(lhs).ndim, typeof(rhs).ndim)
    options = {k: params[k] for k in ("precision", "preferred_element_type")}
    if roles.ragged in roles.batch:
        return dot_general(lhs, rhs, numbers.dot_dimension_numbers, **options)
    count = typeof(sizes).shape[-1]
    shape = (count, *typeof(lhs).shape)
    member = membership(sizes, typeof(lhs).shape[roles.ragged])
    labels = (*roles.batch[: typeof(member).ndim - 2], GROUP, roles.ragged)
    order = sorted(range(len(labels)), key=lambda i: labels[i])
    member = transpose(member, order)
    member = lax.broadcast_in_dim(member, shape, [labels[i] + 1 for i in order])
    copies = lax.broadcast_in_dim(lhs, shape, tuple(range(1, len(shape))))
    copies = lax.select(member, copies, lax.full_like(copies, 0))
    (left, right), (left_batch, right_batch) = numbers.dot_dimension_numbers
    left, left_batch = ([axis + 1 for axis in axes] for axes in (left, left_batch))
    if numbers.rhs_group_dimensions:  # each row has one group: the others add zeros
        left, right = [0, *left], [*numbers.rhs_group_dimensions, *right]
    result = dot_general(copies, rhs, ((left, right), (left_batch, right_batch)), **options)
    if roles.ragged in numbers.dot_dimension_numbers[0][0]:
        batch = len(left_batch)  # [*batch, g, ...]: the groups come first
        rest = range(batch + 1, typeof(result).ndim)
        return transpose(result, (batch, *range(batch), *rest))
    return result
