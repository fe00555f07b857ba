"""Lowering of changes of sharding: constraints.

The constraint of `reshard` is the one that follows every operation in explicit mode.
"""

from typing import Any, Final

from tans_core import Primitive
from tans_core.sharding import NamedSharding
from tans_lax.mesh import reshard_p, sharding_constraint_p
from tans_xla.resharding import resharded
from tans_xla.sdy_attributes import constrain

type IrValue = Any


def _reshard(ctx: Any, x: IrValue, *, dst_sharding: NamedSharding) -> IrValue:
    mesh = ctx.builder.mesh
    return x if mesh is None else resharded(mesh, x, ctx.avals_in[0], dst_sharding.spec)


def _sharding_constraint(ctx: Any, x: IrValue, *, sharding: NamedSharding) -> IrValue:
    del ctx
    return constrain(x, sharding) if sharding.mesh.size > 1 else x


LOWERING: Final[dict[Primitive, Any]] = {
    reshard_p: _reshard,
    sharding_constraint_p: _sharding_constraint,
}
