"""Values of user types as vmap and scan need them: chosen lane by lane, repeated, rearranged.

Such a value is whole to every transformation, so each of these is an operation until the program is
lowered, when it works on each array that the value is made of. Where a mapped axis lies in those
arrays is found by asking the type for a mapped type of a size that no dimension has.

| primitive | operands | params |
|---|---|---|
| `choose_p` | index, one dimension per mapped axis; the choices | `axes`, `tangent_axes` |
| `rearrange_p` | value | `aval`, `moves`, `tangent_moves` |
| `filler_p` | | `aval` |

`axes` has for each part of a choice where the index's dimensions are in it. `moves` has for each
part of the result, and each of its dimensions, which dimension of the operand's part it is, or -1
where that is repeated. `tangent_axes` and `tangent_moves` are the same for the parts of tangents.
`filler_p` makes a value of a type that nobody reads.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from tans_core.primitive import Primitive
from tans_core.values import typeof
from tans_xla.lo import UserPrimitive

type Value = Any
type PerPart = tuple[tuple[int, ...], ...]
type Labels = list[list[int | str]]

choose_p: Final = Primitive("choose", family=__name__, call_like=True)
rearrange_p: Final = Primitive("rearrange", family=__name__, call_like=True)
filler_p: Final = UserPrimitive("filler", family=__name__, call_like=True)

_PROBE: Final = 999_983  # a prime that nobody has as a size


class Stacked(NamedTuple):
    """One axis along which values are lined up: its name, length and mapping spec."""

    name: str
    size: int
    spec: Any


def choose(index: Value, choices: Sequence[Value], spec: Any, size: int) -> Value:
    """Return for each lane one of the values of a user type, with all parts mapped by `spec`."""
    axes, tangent_axes = lane_axes(_type_of(choices[0]).dec_rank(size, spec), spec)
    return choose_p.bind(
        index, *choices, axes=_one_each(axes), tangent_axes=_one_each(tangent_axes)
    )


def same_in_all_lanes(aval: Any) -> dict[str, PerPart]:
    """Return the params of `choose_p` for an index of rank 0."""
    count, tangent_count = len(aval.lo_types()), len(aval.to_tangent().lo_types())
    return {"axes": ((),) * count, "tangent_axes": ((),) * tangent_count}


def respecified(x: Value, element: Any, size: int, spec: Any, wanted: Any) -> Value:
    """Return a value mapped along another spec; `spec` is None where it is not mapped.

    Args:
      x: the value.
      element: type of one lane's value.
      size: number of lanes.
      spec: how `x` is mapped.
      wanted: how the result is.
    """
    if spec == wanted:
        return x
    old = [] if spec is None else [Stacked("lane", size, spec)]
    return rearranged(x, element, old, [Stacked("lane", size, wanted)])


def rearranged(x: Value, element: Any, old: Sequence[Stacked], new: Sequence[Stacked]) -> Value:
    """Return values that are lined up along axes `old`, innermost first, lined up along `new`.

    An axis of `new` that is not in `old` repeats the value.
    """
    aval, target, tangent_target = _lined_up(element, new)
    _, source, tangent_source = _lined_up(element, old)
    moves, tangent_moves = _moves(source, target), _moves(tangent_source, tangent_target)
    return rearrange_p.bind(x, aval=aval, moves=moves, tangent_moves=tangent_moves)


def whole_spec(element: Any, specs: Sequence[Any]) -> Any:
    """Return a spec that maps all parts of a value: the common one of `specs`, or the leading axis.

    Args:
      element: type of one lane's value.
      specs: how values of several origins are mapped; None for one that is not.
    """
    spec = specs[0]
    if (
        spec is not None
        and all(s == spec for s in specs)
        and None not in lane_axes(element, spec)[0]
    ):
        return spec
    return element.leading_axis_spec()


def lane_axes(element: Any, spec: Any) -> tuple[list[int | None], list[int | None]]:
    """Return where the mapped axis is in the parts of a value, and in those of its tangent."""
    whole = element.inc_rank(_PROBE, spec)
    return _probed(whole), _probed(whole.to_tangent())


def _type_of(x: Value) -> Any:
    return typeof(x)


def _probed(aval: Any) -> list[int | None]:
    shapes = [lo.shape for lo in aval.lo_types()]
    return [s.index(_PROBE) if _PROBE in s else None for s in shapes]


def _one_each(axes: Sequence[int | None]) -> PerPart:
    return tuple(() if a is None else (a,) for a in axes)


def _lined_up(aval: Any, stacks: Sequence[Stacked]) -> tuple[Any, Labels, Labels]:
    """Return the type of values lined up, and what each dimension of its parts stands for."""
    labels = [_numbered(aval), _numbered(aval.to_tangent())]
    for name, size, spec in stacks:
        for of_parts, axes in zip(labels, lane_axes(aval, spec), strict=True):
            for dims, axis in zip(of_parts, axes, strict=True):
                if axis is not None:
                    dims.insert(axis, name)
        aval = aval.inc_rank(size, spec)
    return aval, *labels


def _numbered(aval: Any) -> Labels:
    return [list(range(len(lo.shape))) for lo in aval.lo_types()]


def _moves(source: Labels, target: Labels) -> PerPart:
    return tuple(
        tuple(dims.index(d) if d in dims else -1 for d in wanted)
        for dims, wanted in zip(source, target, strict=True)
    )
