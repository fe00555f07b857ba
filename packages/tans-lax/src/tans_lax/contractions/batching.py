"""Batching of `dot_general`.

Two mapped operands give one more batch dimension; one mapped operand gives one more free dimension,
so that a stack of vectors times a matrix becomes a matrix product.
"""

from collections.abc import Callable
from typing import Any, Final

from tans_core import AxisData, Primitive, typeof
from tans_lax.contractions import dot_general_p
from tans_lax.contractions.types import Axes, DimensionNumbers, free_axes
from tans_lax.mesh.specs import insert_entry

type Value = Any


def _shifted(axes: Axes, dim: int | None) -> Axes:
    return axes if dim is None else tuple(axis + (axis >= dim) for axis in axes)


def _dot_general_batch(
    axis: AxisData,
    args: tuple[Value, Value],
    dims: tuple[int | None, int | None],
    *,
    dimension_numbers: DimensionNumbers,
    out_sharding: Any,
    **params: Any,
) -> tuple[Value, int]:
    (lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch) = dimension_numbers
    lhs_dim, rhs_dim = dims
    contracting = (_shifted(lhs_contracting, lhs_dim), _shifted(rhs_contracting, rhs_dim))
    batch = (_shifted(lhs_batch, lhs_dim), _shifted(rhs_batch, rhs_dim))
    lhs, rhs = args
    lhs_free = free_axes(typeof(lhs).ndim, contracting[0], batch[0])
    rhs_free = free_axes(typeof(rhs).ndim, contracting[1], batch[1])
    if lhs_dim is not None and rhs_dim is not None:
        batch = ((lhs_dim, *batch[0]), (rhs_dim, *batch[1]))
        out_dim = 0
    elif lhs_dim is not None:
        out_dim = len(batch[0]) + lhs_free.index(lhs_dim)
    else:
        assert rhs_dim is not None
        out_dim = len(batch[0]) + len(lhs_free) + rhs_free.index(rhs_dim)
    out = dot_general_p.bind(
        lhs,
        rhs,
        dimension_numbers=(contracting, batch),
        out_sharding=insert_entry(out_sharding, out_dim, axis.explicit_mesh_axis),
        **params,
    )
    return out, out_dim


BATCHING: Final[dict[Primitive, Callable[..., Any]]] = {
    dot_general_p: _dot_general_batch,
}
