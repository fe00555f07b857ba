"""Batching of triangular systems: many right-hand sides of one matrix are more columns."""

from collections.abc import Callable
from typing import Any, Final

from tans_core import AxisData, Primitive, typeof
from tans_lax.linalg.checks import stacked_batching
from tans_lax.linalg.triangular_systems import triangular_solve_p
from tans_lax.rows import move_axis
from tans_lax.shape import reshape

type Value = Any

_stacked: Final = stacked_batching(triangular_solve_p)


def _solve_batch(
    axis: AxisData,
    args: tuple[Value, Value],
    dims: tuple[int | None, int | None],
    *,
    left_side: bool,
    **params: Any,
) -> tuple[Value, int]:
    (a, b), (a_dim, b_dim) = args, dims
    if a_dim is not None or b_dim is None:
        return _stacked(axis, args, dims, left_side=left_side, **params)
    # The mapped dimension goes in front of the one that counts right-hand sides, and joins it.
    place = typeof(b).ndim - (2 if left_side else 3)
    b = move_axis(b, b_dim, place)
    shape = typeof(b).shape
    joined = (*shape[:place], shape[place] * shape[place + 1], *shape[place + 2 :])
    out = triangular_solve_p.bind(a, reshape(b, joined), left_side=left_side, **params)
    return reshape(out, shape), place


BATCHING: Final[dict[Primitive, Callable[..., Any]]] = {
    triangular_solve_p: _solve_batch,
}
