"""The constant that starts a backward pass inside of a manual computation."""

from typing import Any

import numpy as np

from tans_core import ShapedArray, typeof
from tans_core.manual_mode import in_mesh_order, vary_unreduced_cast_p
from tans_lax.collectives.moves import axis_index
from tans_lax.elementwise.comparison import eq
from tans_lax.elementwise.selection import select
from tans_lax.mesh.states import cast_to_type, has_states, vary_like
from tans_lax.shape import broadcast_in_dim

type Value = Any


def seed_with_states(x: Value, aval: Any) -> Value:
    """Give an invarying constant the states of a cotangent type along manual axes.

    Along an axis along which it is unreduced, one device holds the constant, and the others zero.
    """
    if not isinstance(aval, ShapedArray) or not has_states(aval):
        return x
    for axis in in_mesh_order(aval.manual_axis_type.unreduced):
        here = broadcast_in_dim(eq(axis_index(axis), np.int32(0)), typeof(x).shape, ())
        zero = np.zeros(typeof(x).shape, typeof(x).dtype)
        x = vary_unreduced_cast_p.bind(
            select(here, vary_like(x, typeof(here)), vary_like(zero, typeof(here))), axes=(axis,)
        )
    return cast_to_type(x, aval)
