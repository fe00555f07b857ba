"""States along manual axes: `pcast` between them, and checks of what a collective is given."""

from typing import Any, Final, NoReturn

from tans_core import tree, typeof
from tans_core.config import abstract_mesh, check_vma
from tans_core.errors import message
from tans_core.explicit_mode import spec_of
from tans_core.manual_mode import in_mesh_order
from tans_core.primitive import Primitive
from tans_lax.collectives.names import AxisName, AxisNames, distinct_names
from tans_lax.collectives.primitives import (
    preduced_p,
    pvary_p,
    reduced_vary_cast_p,
    vary_unreduced_cast_p,
)

type Value = Any
type Names = tuple[AxisName, ...]

_MOVES: Final[dict[tuple[str, str], Primitive]] = {
    ("invarying", "varying"): pvary_p,
    ("invarying", "reduced"): preduced_p,
    ("varying", "unreduced"): vary_unreduced_cast_p,
    ("reduced", "varying"): reduced_vary_cast_p,
}
_TARGETS: Final = ("varying", "reduced", "unreduced")


def manual_names(names: Names) -> Names:
    """Return those of some names that are manual axes of the mesh in context."""
    mesh = abstract_mesh.value
    manual = () if mesh is None else mesh.manual_axes
    return tuple(name for name in names if name in manual)


def checked_names(names: Names) -> Names:
    """Return those of some names along which types say how values vary."""
    return manual_names(names) if check_vma.value else ()


def state_along(x: Value, axis: AxisName) -> str:
    """Return the state of a value along a manual axis."""
    aval: Any = typeof(x)
    if axis in getattr(aval, "manual_axes", ()):
        return "varying"
    spec = spec_of(aval)
    if axis in spec.unreduced:
        return "unreduced"
    return "reduced" if axis in spec.reduced else "invarying"


def common_state(where: str, x: Value, names: Names) -> str:
    """Return the one state of a value along several axes.

    Raises:
      ValueError: the states differ.
    """
    states = {state_along(x, name) for name in names}
    if len(states) == 1:
        return states.pop()
    found = ", ".join(f"{name!r}: {state_along(x, name)}" for name in names)
    raise ValueError(
        message(
            where,
            f"a value of type {typeof(x).str_short()} over axes in different states ({found})",
            "the same state along all of them",
            "Apply the operation once per axis, or pcast the value first.",
        )
    )


def as_varying(where: str, x: Value, names: Names) -> Value:
    """Make a value varying along axes along which it is invarying.

    Raises:
      ValueError: it is unreduced or reduced along one of them.
    """
    missing = []
    for name in names:
        state = state_along(x, name)
        if state == "invarying":
            missing.append(name)
        elif state != "varying":
            _refuse_state(where, x, name, state)
    return pvary_p.bind(x, axes=in_mesh_order(missing)) if missing else x


def _refuse_state(where: str, x: Value, name: AxisName, state: str) -> NoReturn:
    remedy = (
        "Cast it first: lax.pcast(x, axis, to='varying')."
        if state == "reduced"
        else "Reduce it first with lax.psum."
    )
    raise ValueError(
        message(
            where,
            f"a value of type {typeof(x).str_short()}, whose axes [{name!r}] are {state}",
            "a value that is varying or invarying there",
            remedy,
        )
    )


def pcast(x: Any, axis_name: AxisNames, *, to: str) -> Any:
    """Change the state of values along manual axes; no data moves.

    Args:
      x: tree of arrays of any shape.
      axis_name: a manual axis, or a tuple of them; the value has one state along all.
      to: "varying" (from invarying or reduced), "reduced" (from invarying) or "unreduced" (from
        varying).

    Returns:
      A tree of arrays of the same shapes.

    Raises:
      TypeError: `axis_name` is a set.
      ValueError: called outside of `shard_map`, an unknown target, or a move that does not exist.
    """
    if isinstance(axis_name, set | frozenset):
        raise TypeError(
            message(
                "pcast", f"axis_name={axis_name!r}", "a name or a tuple of names", "Use a tuple."
            )
        )
    if to not in _TARGETS:
        raise ValueError(
            message("pcast", f"to={to!r}", f"one of {_TARGETS}", "Use psum to reduce a value.")
        )
    names = distinct_names("pcast", axis_name)
    outside = [n for n in names if n not in manual_names(names)]
    if outside:
        raise ValueError(
            message(
                "pcast",
                f"the axis {outside[0]!r}, which is no manual axis here",
                "an axis of a shard_map around the call",
                "Call it inside shard_map; elsewhere use reshard.",
            )
        )
    if not check_vma.value and to == "varying":
        return x  # without the check, types do not say what varies
    return tree.map(lambda leaf: _cast_leaf(leaf, names, to), x)


def _cast_leaf(x: Value, names: Names, to: str) -> Value:
    if not names:
        return x
    state = common_state("pcast", x, names)
    if not check_vma.value and state == "invarying" and to == "unreduced":
        state = "varying"
    primitive = _MOVES.get((state, to))
    if primitive is None:
        legal = ", ".join(f"{a} to {b}" for a, b in _MOVES)
        raise ValueError(
            message(
                "pcast",
                f"Unsupported pcast from {state} to {to} for a value of type "
                f"{typeof(x).str_short()} along {names!r}",
                f"one of {legal}",
                "Cast in two steps, or use a collective such as psum.",
            )
        )
    return primitive.bind(x, axes=in_mesh_order(names))
