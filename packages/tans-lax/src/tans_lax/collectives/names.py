"""Named axes: which are bound where, their sizes, and who uses them.

Mapping functions (`vmap`, `shard_map`) bind a name for the function they map: the pair (name,
size) is in the context `axis_env` while the function is traced.
"""

from collections.abc import Hashable, Sequence
from typing import Any, Final
from weakref import WeakKeyDictionary

from tans_core.config import axis_env
from tans_core.errors import message
from tans_core.jaxpr import ClosedJaxpr, Jaxpr, subjaxprs
from tans_core.primitive import Primitive
from tans_core.spelling import did_you_mean

type AxisName = Hashable  # usually a str
type AxisNames = AxisName | Sequence[AxisName]

FAMILY: Final = "tans_lax.collectives"


def as_names(axis_name: AxisNames) -> tuple[AxisName, ...]:
    """Return axis names as a tuple; a list or tuple holds several."""
    return tuple(axis_name) if isinstance(axis_name, tuple | list) else (axis_name,)


def distinct_names(where: str, axis_name: AxisNames) -> tuple[AxisName, ...]:
    """Return axis names as a tuple.

    Raises:
      ValueError: a name occurs twice.
    """
    names = as_names(axis_name)
    if len(set(names)) < len(names):
        raise ValueError(
            message(
                where, f"the axis names {names!r}", "each axis once", "Leave out the repetition."
            )
        )
    return names


def bound_size(where: str, name: AxisName) -> int:
    """Return the size of the innermost axis bound to a name.

    Raises:
      NameError: the name is not bound here.
    """
    bound = axis_env.value
    for known, size in reversed(bound):
        if known == name:
            return size
    names = [known for known, _ in bound]
    near = did_you_mean(str(name), [n for n in names if isinstance(n, str)])
    raise NameError(
        message(
            where,
            f"unbound axis name {name!r}",
            f"one of the names bound here, {names}{near}" if names else "a bound name",
            f"Call it inside vmap(..., axis_name={name!r}) or inside shard_map.",
        )
    )


def canonical_dimension(where: str, dimension: int, ndim: int) -> int:
    """Return a dimension counted from the front.

    Raises:
      ValueError: it is out of range.
    """
    if not -ndim <= dimension < ndim:
        raise ValueError(
            message(
                where,
                f"dimension {dimension}",
                f"at least {-ndim} and less than {ndim}",
                "Count dimensions without the mapped axis.",
            )
        )
    return dimension % ndim


def axis_size(axis_name: AxisNames) -> int:
    """Return the number of elements along a named axis, as a Python int.

    Args:
      axis_name: a name, or several, whose sizes are multiplied.

    Raises:
      NameError: a name is not bound here.
    """
    total = 1
    for name in as_names(axis_name):
        total *= bound_size("axis_size", name)
    return total


def _own_names(params: dict[str, Any]) -> tuple[AxisName, ...]:
    return as_names(params["axes"] if "axes" in params else params["axis_name"])


_used: Final[WeakKeyDictionary[Any, frozenset[AxisName]]] = WeakKeyDictionary()


def names_in(body: ClosedJaxpr | Jaxpr) -> frozenset[AxisName]:
    """Return the axis names that the collectives of a program use, nested programs included."""
    jaxpr = body.jaxpr if isinstance(body, ClosedJaxpr) else body
    found = _used.get(jaxpr)
    if found is None:
        names: set[AxisName] = set()
        for eqn in jaxpr.eqns:
            if eqn.primitive.family == FAMILY:
                names.update(_own_names(eqn.params))
            for inner in subjaxprs(eqn.params):
                names |= names_in(inner)
        found = _used.setdefault(jaxpr, frozenset(names))
    return found


def uses_axis(primitive: Primitive, params: dict[str, Any], name: AxisName) -> bool:
    """Whether an operation depends on a named axis even when its operands do not."""
    if primitive.family == FAMILY:
        return name in _own_names(params)
    if not primitive.call_like:
        return False
    return any(name in names_in(body) for body in subjaxprs(params))
