"""Sharding rule of triangular systems: batches, and right-hand sides."""

from typing import Any, Final

from tans_core.explicit_mode import ShardingContext
from tans_core.partition_spec import PartitionSpec
from tans_core.primitive import Primitive
from tans_lax.linalg.triangular_systems import triangular_solve_p
from tans_lax.propagation import Rule, Spec, batch_entries, entries_of


def _triangular_solve(ctx: ShardingContext, a: Any, b: Any, *, left_side: bool, **_: Any) -> Spec:
    free = b.ndim - 1 if left_side else b.ndim - 2
    entries = batch_entries(ctx, (a, b), (2, 2), free)
    out: list[Any] = [*entries, None, None]
    out[free] = entries_of(b)[free]
    return PartitionSpec(*out)


SHARDING: Final[dict[Primitive, Rule]] = {
    triangular_solve_p: _triangular_solve,
}
