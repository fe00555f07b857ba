"""States along manual axes that follow from types."""

from typing import Any

from tans_core import typeof
from tans_core.explicit_mode import spec_of
from tans_core.manual_mode import (
    in_mesh_order,
    preduced_p,
    pvary_p,
    vary_unreduced_cast_p,
)

type Value = Any


def has_states(aval: Any) -> bool:
    """Whether a type says anything about manual axes."""
    if aval.manual_axes:
        return True
    return aval._sharding is not None and bool(aval._sharding.mesh.manual_axes)


def cast_to_type(x: Value, aval: Any) -> Value:
    """Give an invarying value the states of a type along manual axes."""
    target = aval.manual_axis_type
    own: Any = typeof(x)
    missing = (target.varying | target.unreduced) - own.manual_axes - spec_of(own).unreduced
    if missing:
        x = pvary_p.bind(x, axes=in_mesh_order(missing))
    if unreduced := target.unreduced - spec_of(own).unreduced:
        x = vary_unreduced_cast_p.bind(x, axes=in_mesh_order(unreduced))
    if reduced := target.reduced - spec_of(own).reduced:
        x = preduced_p.bind(x, axes=in_mesh_order(reduced))
    return x


def vary_like(x: Value, aval: Any) -> Value:
    """Make a value vary along the axes along which values of a type vary."""
    return vary_along(x, aval.manual_axes)


def vary_along(x: Value, axes: frozenset[Any]) -> Value:
    """Make a value vary along the given axes, if it does not."""
    missing = axes - typeof(x).manual_axes
    return pvary_p.bind(x, axes=in_mesh_order(missing)) if missing else x
