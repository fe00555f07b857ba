"""Batching of reductions: the mapped dimension is one more that is kept."""

from collections.abc import Callable
from typing import Any, Final

from tans_core import AxisData, Primitive
from tans_lax.mesh.specs import insert_entry
from tans_lax.reductions import (
    argmax_p,
    argmin_p,
    reduce_and_p,
    reduce_max_p,
    reduce_min_p,
    reduce_or_p,
    reduce_p,
    reduce_prod_p,
    reduce_sum_p,
    reduce_xor_p,
)
from tans_lax.reductions.folding import fold_with_inits, on_arrays
from tans_lax.rows import batch_to_front

type Value = Any
type Axes = tuple[int, ...]
type Dims = tuple[int | None, ...]


def axes_around(dim: int, axes: tuple[int, ...]) -> tuple[tuple[int, ...], int]:
    """Return the axes counted with a mapped dimension present, and where that one ends up.

    Args:
      dim: position of the mapped dimension.
      axes: reduced axes, counted without it.

    Example:
      >>> axes_around(1, (0, 1))
      ((0, 2), 0)
    """
    shifted = tuple(axis + (axis >= dim) for axis in axes)
    return shifted, dim - sum(axis < dim for axis in shifted)


def _reduction_batching(primitive: Primitive) -> Callable[..., Any]:
    def rule(
        axis: AxisData,
        args: tuple[Value],
        dims: tuple[int],
        *,
        axes: tuple[int, ...],
        **params: Any,
    ) -> tuple[Value, int]:
        shifted, out_dim = axes_around(dims[0], axes)
        if params.get("out_sharding") is not None:
            params["out_sharding"] = insert_entry(
                params["out_sharding"], out_dim, axis.explicit_mesh_axis
            )
        return primitive.bind(args[0], axes=shifted, **params), out_dim

    return rule


def _reduce_batch(
    axis: AxisData, args: tuple[Value, ...], dims: Dims, *, dimensions: tuple[int, ...], jaxpr: Any
) -> tuple[list[Value], list[int]]:
    count = len(args) // 2
    operands = [batch_to_front(axis, x, d) for x, d in zip(args[:count], dims[:count], strict=True)]
    shifted = tuple(d + 1 for d in dimensions)
    if all(d is None for d in dims[count:]):
        outs = reduce_p.bind(*operands, *args[count:], dimensions=shifted, jaxpr=jaxpr)
    else:
        inits = [
            batch_to_front(axis, x, d) for x, d in zip(args[count:], dims[count:], strict=True)
        ]
        outs = fold_with_inits(on_arrays(jaxpr), operands, inits, shifted)
    return outs, [0] * count


BATCHING: Final[dict[Primitive, Callable[..., Any]]] = {
    reduce_sum_p: _reduction_batching(reduce_sum_p),
    reduce_prod_p: _reduction_batching(reduce_prod_p),
    reduce_max_p: _reduction_batching(reduce_max_p),
    reduce_min_p: _reduction_batching(reduce_min_p),
    reduce_and_p: _reduction_batching(reduce_and_p),
    reduce_or_p: _reduction_batching(reduce_or_p),
    reduce_xor_p: _reduction_batching(reduce_xor_p),
    argmax_p: _reduction_batching(argmax_p),
    argmin_p: _reduction_batching(argmin_p),
    reduce_p: _reduce_batch,
}
