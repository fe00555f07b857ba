"""Manual axes in types: how an operation's results vary, and the casts of operands that vary less.

Inside of `shard_map` a value varies along a manual axis, or is the same on it (invarying), or is
unreduced or reduced. `ShapedArray.manual_axes` holds the axes along which it varies; the other
states are in the spec of its sharding, as in explicit mode.
"""

from collections.abc import Sequence
from typing import Any, Final

from tans_core import rules
from tans_core.cache import register_cache
from tans_core.config import abstract_mesh, auto_pcast
from tans_core.primitive import Primitive
from tans_core.refs import is_ref_type

type Axes = frozenset[Any]
type Cast = tuple[Primitive, tuple[Any, ...]]

_FAMILY: Final = "tans_lax.collectives"
pvary_p: Final = Primitive("pvary", family=_FAMILY)
"""Params: axes. From invarying to varying."""
reduced_vary_cast_p: Final = Primitive("reduced_vary_cast", family=_FAMILY)
"""Params: axes. From reduced to varying."""
vary_unreduced_cast_p: Final = Primitive("vary_unreduced_cast", family=_FAMILY)
"""Params: axes. From varying to unreduced."""
preduced_p: Final = Primitive("preduced", family=_FAMILY)
"""Params: axes. From invarying to reduced."""

_NO_AXES: Final[Axes] = frozenset()


_UNKNOWN: Final = object()
_CASTS: Final[dict[Any, Any]] = {}
_CASTS_LIMIT: Final = 1 << 14
register_cache(_CASTS.clear)


def varying_types(
    primitive: Primitive, in_avals: Sequence[Any], outs: tuple[Any, ...], params: dict[str, Any]
) -> tuple[Any, ...]:
    """Return the result types with the axes along which the results vary.

    These are all those along which an operand does, unless the primitive has a `manual_axes` row:
    ``rule(*in_avals, **params)`` returns the axes.
    """
    rule = rules.manual_axes.find(primitive)
    if rule is None:
        axes = _NO_AXES
        for aval in in_avals:
            own = getattr(aval, "manual_axes", _NO_AXES)
            if own:
                axes = own | axes
    else:
        axes = rule(*in_avals, **params)
    if all(getattr(a, "manual_axes", axes) == axes for a in outs):
        return outs
    return tuple(a.update(manual_axes=axes) if hasattr(a, "manual_axes") else a for a in outs)


def unified(primitive: Primitive, args: Sequence[Any], avals: Sequence[Any]) -> list[Any] | None:
    """Cast operands that vary along fewer axes than others do; None when there are none.

    Raises:
      ValueError: such an operand is unreduced there, or the flag auto_pcast is off.
    """
    if primitive.call_like:
        return None
    key = (tuple(avals), abstract_mesh.value, auto_pcast.value)
    casts = _CASTS.get(key, _UNKNOWN)
    if casts is _UNKNOWN:
        casts = _casts(primitive, key[0])
        if len(_CASTS) >= _CASTS_LIMIT:
            _CASTS.clear()
        _CASTS[key] = casts
    if not casts:
        return None
    out = list(args)
    for i, steps in enumerate(casts):
        for cast, axes in steps:
            out[i] = cast.bind(out[i], axes=axes)
    return out


def makes_states(primitive: Primitive) -> bool:
    """Whether an operation's results may be unreduced or reduced although no operand is."""
    return abstract_mesh.value is not None and rules.manual_axes.find(primitive) is not None


def has_manual_axes() -> bool:
    """Whether the code runs inside of a manual computation."""
    mesh = abstract_mesh.value
    return mesh is not None and bool(mesh.manual_axes)


def _casts(primitive: Primitive, avals: tuple[Any, ...]) -> list[list[Cast]] | None:
    sets = [getattr(a, "manual_axes", None) for a in avals]
    known = [s for s in sets if s is not None]
    if all(s == known[0] for s in known):
        return None
    union = _NO_AXES.union(*known)
    casts: list[list[Cast]] = []
    for aval, own in zip(avals, sets, strict=True):
        missing = _NO_AXES if own is None else union - own
        casts.append(_cast_steps(primitive, avals, aval, missing) if missing else [])
    return casts if any(casts) else None


def _cast_steps(
    primitive: Primitive, avals: tuple[Any, ...], aval: Any, missing: Axes
) -> list[Cast]:
    if is_ref_type(aval):
        return []  # the type rule refuses what does not fit
    types = ", ".join(a.str_short() for a in avals)
    where = f"{primitive.name}: given operands of types {types}"
    if not auto_pcast.value:
        raise ValueError(
            f"{where}, of which {aval.str_short()} does not vary along {sorted(map(str, missing))} "
            "as others do; expected operands that vary along the same axes while the flag "
            "auto_pcast is off. Apply lax.pcast(x, axes, to='varying')."
        )
    spec = None if aval._sharding is None else aval._sharding.spec
    if spec is not None and spec.unreduced & missing:
        raise ValueError(
            f"{where}, of which {aval.str_short()} is unreduced along an axis along which others "
            "vary; expected no such operand. Reduce it with lax.psum first."
        )
    context: Any = abstract_mesh.value
    if spec is not None and context is not None and aval._sharding.mesh is not context:
        # An operand from outside of the manual computation: the operation says so.
        return []
    reduced = missing & spec.reduced if spec is not None else _NO_AXES
    steps = [(reduced_vary_cast_p, reduced), (pvary_p, missing - reduced)]
    return [(cast, in_mesh_order(axes)) for cast, axes in steps if axes]


def in_mesh_order(axes: Any) -> tuple[Any, ...]:
    """Return axes in the order of the mesh in context."""
    mesh: Any = abstract_mesh.value
    order: dict[Any, int] = {} if mesh is None else mesh.axis_positions

    def place(axis: Any) -> tuple[int, str]:
        return order.get(axis, 0), str(axis)

    return tuple(sorted(axes, key=place))
