"""Lowering of changes of sharding: constraints.

The constraint of `reshard` is the one that follows every operation in explicit mode.
"""

from typing import Any, Final

from tans_core import Primitive
from tans_core.sharding import NamedSharding
from tans_lax.mesh import reshard_p, sharding_constraint_p
from tans_xla.sdy_attributes import constrain

type IrValue = Any


def _reshard(ctx: Any, x: IrValue, **params: Any) -> IrValue:
    del ctx, params
    return x


def _sharding_constraint(ctx: Any, x: IrValue, *, sharding: NamedSharding) -> IrValue:
    del ctx
    return constrain(x, sharding) if sharding.mesh.size > 1 else x


LOWERING: Final[dict[Primitive, Any]] = {
    reshard_p: _reshard,
    sharding_constraint_p: _sharding_constraint,
}
