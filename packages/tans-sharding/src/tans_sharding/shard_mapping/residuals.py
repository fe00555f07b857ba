"""Values that pass from one mapped function to another: residuals of split programs.

Each is lined up along its leading dimension over the axes along which it varies; a scalar that
varies gets a leading dimension of length 1 for it.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from tans_core.jaxpr import ClosedJaxpr, eval_closed
from tans_core.partition_spec import PartitionSpec
from tans_core.staging import trace_to_jaxpr
from tans_lax.control_flow.memo import BodyMemo
from tans_lax.shape import expand_dims, squeeze
from tans_sharding.shard_mapping.boundary import manual_context, residual_spec

type Value = Any
type Axes = frozenset[Any]

_MEMO: Final[BodyMemo[Any]] = BodyMemo()


class Mapping(NamedTuple):
    """How a function is mapped: what its derived functions share.

    Attributes:
      outer: the mesh outside, abstract.
      mesh: the abstract mesh inside.
      axes: the mapped axes.
      check: whether types say along which axes values vary.
    """

    outer: Any
    mesh: Any
    axes: Axes
    check: bool

    def inside(self) -> Any:
        """Context manager: the inside of the mapped function."""
        return manual_context(self.mesh, self.axes, self.check)

    def specs(self, avals: Sequence[Any]) -> list[PartitionSpec]:
        """Return the specs of residuals of the given types."""
        return [residual_spec(self.outer, self.axes, a, self.check) for a in avals]


class HandedOver(NamedTuple):
    """Two programs, the first of which hands residuals to the second.

    Attributes:
      first: ``(*ins) -> (*outs, *residuals)``.
      second: ``(*residuals, *ins) -> (*outs)``.
      specs: one per residual that is computed in the first.
    """

    first: ClosedJaxpr
    second: ClosedJaxpr
    specs: tuple[PartitionSpec, ...]


def hand_over(
    mapping: Mapping,
    first: ClosedJaxpr,
    second: ClosedJaxpr,
    num_outs: int,
    forwards: Sequence[int | None],
) -> HandedOver:
    """Give varying scalars among the residuals a dimension on their way.

    Args:
      mapping: how both are mapped.
      first: ``(*ins) -> (*outs, *residuals)``, without the forwarded residuals.
      second: ``(*residuals, *ins) -> (*outs)``, with all of them.
      num_outs: number of the first's own outputs.
      forwards: per residual of the second, the input of the first that it equals, or None.
    """
    avals = first.out_avals[num_outs:]
    specs = mapping.specs(avals)
    grown = [
        isinstance(s, PartitionSpec) and bool(s.partitions) and not a.ndim
        for s, a in zip(specs, avals, strict=True)
    ]
    if not any(grown):
        return HandedOver(first, second, tuple(specs))
    found = iter(grown)
    in_second = [next(found) if f is None else False for f in forwards]
    key = (second, mapping.check, num_outs, tuple(forwards))

    def make() -> Any:
        return _grow(first, num_outs, grown), _shrink(second, in_second)

    with mapping.inside():
        new_first, new_second = _MEMO.get(first, key, make)
    return HandedOver(new_first, new_second, tuple(specs))


def _grow(body: ClosedJaxpr, num_outs: int, grown: Sequence[bool]) -> ClosedJaxpr:
    def run(*args: Value) -> list[Value]:
        outs = eval_closed(body, *args)
        tail = zip(outs[num_outs:], grown, strict=True)
        return [*outs[:num_outs], *(expand_dims(x, (0,)) if g else x for x, g in tail)]

    return trace_to_jaxpr(run, body.in_avals, body.jaxpr.debug_info)


def _shrink(body: ClosedJaxpr, grown: Sequence[bool]) -> ClosedJaxpr:
    n = len(grown)

    def run(*args: Value) -> list[Value]:
        head = [squeeze(x, (0,)) if g else x for x, g in zip(args[:n], grown, strict=True)]
        return eval_closed(body, *head, *args[n:])

    avals = [
        a.update(shape=(1,)) if g else a for a, g in zip(body.in_avals[:n], grown, strict=True)
    ]
    return trace_to_jaxpr(run, [*avals, *body.in_avals[n:]], body.jaxpr.debug_info)
