"""Batching of operations that arrange elements anew."""

from typing import Any, Final

from tans_core import Primitive
from tans_lax.mesh.specs import insert_entry
from tans_lax.rows import Rule, move_axis
from tans_lax.shape import broadcast_in_dim_p, reshape_p, rev_p, squeeze_p, transpose_p

type Value = Any  # an array, a Python scalar or a tracer
type Dims = tuple[int, ...]
type Result = tuple[Value, int]


def _broadcast_in_dim_batch(
    axis: Any,
    args: tuple[Value],
    dims: tuple[int],
    *,
    shape: Dims,
    broadcast_dimensions: Dims,
    sharding: Any,
) -> Result:
    """Keep the mapped dimension after the place of its left neighbour: no transposition."""
    (d,) = dims
    at = broadcast_dimensions[d - 1] + 1 if d else 0
    places = [i if i < at else i + 1 for i in broadcast_dimensions]
    places.insert(d, at)
    out = broadcast_in_dim_p.bind(
        args[0],
        shape=(*shape[:at], axis.size, *shape[at:]),
        broadcast_dimensions=tuple(places),
        sharding=insert_entry(sharding, at, axis.explicit_mesh_axis),
    )
    return out, at


def _reshape_batch(
    axis: Any,
    args: tuple[Value],
    dims: tuple[int],
    *,
    new_sizes: Dims,
    dimensions: Dims | None,
    sharding: Any,
) -> Result:
    x = move_axis(args[0], dims[0], 0)
    if dimensions is not None:
        dimensions = (0, *(i + 1 for i in dimensions))
    sizes = (axis.size, *new_sizes)
    sharding = insert_entry(sharding, 0, axis.explicit_mesh_axis)
    return reshape_p.bind(x, new_sizes=sizes, dimensions=dimensions, sharding=sharding), 0


def _transpose_batch(
    axis: Any, args: tuple[Value], dims: tuple[int], *, permutation: Dims
) -> Result:
    (d,) = dims
    moved = tuple(i if i < d else i + 1 for i in permutation)
    return transpose_p.bind(args[0], permutation=(d, *moved)), 0


def _squeeze_batch(axis: Any, args: tuple[Value], dims: tuple[int], *, dimensions: Dims) -> Result:
    d, moved = _shifted(dims[0], dimensions)
    return squeeze_p.bind(args[0], dimensions=moved), d - sum(i < d for i in moved)


def _rev_batch(axis: Any, args: tuple[Value], dims: tuple[int], *, dimensions: Dims) -> Result:
    d, moved = _shifted(dims[0], dimensions)
    return rev_p.bind(args[0], dimensions=moved), d


def _shifted(d: int, dimensions: Dims) -> tuple[int, Dims]:
    """Count dimensions with the mapped one among them."""
    return d, tuple(i if i < d else i + 1 for i in dimensions)


BATCHING: Final[dict[Primitive, Rule]] = {
    broadcast_in_dim_p: _broadcast_in_dim_batch,
    reshape_p: _reshape_batch,
    transpose_p: _transpose_batch,
    squeeze_p: _squeeze_batch,
    rev_p: _rev_batch,
}
