"""`no_collectives`: a context in which operations may not communicate along some axes."""

from types import TracebackType
from typing import Any, Final

from tans_core.config import forbidden_axes
from tans_core.errors import ForbiddenCollectiveError
from tans_core.explicit_mode import spec_of
from tans_core.jaxpr import TypedOp
from tans_core.partition_spec import PartitionSpec, partition_axes
from tans_core.staging import op_checks

type Axes = frozenset[Any]

# Collectives of manual mode, with the param that holds their axes.
_MANUAL: Final = {
    **dict.fromkeys(
        ("psum", "psum_invariant", "unreduced_psum", "pmax", "pmin"),
        "axes",
    ),
    **dict.fromkeys(
        (
            "all_gather",
            "all_gather_invariant",
            "all_gather_reduced",
            "all_to_all",
            "pbroadcast",
            "ppermute",
            "ragged_all_to_all",
            "reduce_scatter",
            "unreduced_reduce_scatter",
        ),
        "axis_name",
    ),
}


class no_collectives:  # noqa: N801  (a context manager in the form of a function)
    """Context manager: refuse operations that would communicate along the given mesh axes.

    Refused are operations whose operand is sharded along such an axis when no result is sharded or
    unreduced along it, those that sum an unreduced axis, reshards that move an axis to another
    dimension, and collectives over it in `shard_map`. What the compiler decides on Auto axes is not
    seen here; assert that with `expect_communication`.

    Args:
      axes: set of axis names. Contexts inside of each other add up.

    Raises:
      TypeError: not a set.
      ForbiddenCollectiveError: from the operation, when it is traced.

    Example:
      >>> import tans
      >>> from tans.sharding import no_collectives
      >>> with tans.set_mesh(tans.make_mesh((1,), ("x",))), no_collectives({"x"}):
      ...     x = tans.reshard(tans.numpy.ones((2, 3)), tans.P("x"))
      ...     y = tans.lax.reduce_sum(x, (0,), out_sharding=tans.P(None, unreduced={"x"}))
    """

    __slots__ = ("_axes", "_overrides")

    def __init__(self, axes: set[Any] | frozenset[Any]) -> None:
        if not isinstance(axes, set | frozenset):
            raise TypeError(
                f"no_collectives: given {axes!r} of type {type(axes).__name__}, expected a set or "
                "frozenset of axis names. Write no_collectives({'x'})."
            )
        self._axes = frozenset(axes)
        self._overrides: list[Any] = []

    def __enter__(self) -> None:
        override = forbidden_axes(forbidden_axes.value | self._axes)
        override.__enter__()
        self._overrides.append(override)
        op_checks.append(_check)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        op_checks.remove(_check)
        self._overrides.pop().__exit__(kind, error, traceback)


def _check(op: TypedOp) -> None:
    forbidden: Axes = forbidden_axes.value
    name = op.primitive.name
    if not forbidden or (op.primitive.call_like and name != "axes_call"):
        return  # bodies are checked when they are traced
    if name in _MANUAL:
        axes = op.params.get(_MANUAL[name], ())
        used = frozenset(axes if isinstance(axes, tuple) else (axes,))
        _refuse(op, used & forbidden, "communicates along it")
        return
    ins, outs = [spec_of(a) for a in op.in_avals], [spec_of(a) for a in op.out_avals]
    kept = _sharded(outs).union(*(s.unreduced for s in outs))
    _refuse(op, (_sharded(ins) - kept) & forbidden, "loses its shards")
    unreduced = frozenset[Any]().union(*(s.unreduced for s in ins))
    left = unreduced.difference(*(s.unreduced for s in outs)) if outs else unreduced
    _refuse(op, left & forbidden, "sums its addends")
    if name == "reshard":
        _refuse(op, _moved(ins[0], outs[0]) & forbidden, "moves it to another dimension")


def _sharded(specs: list[PartitionSpec]) -> Axes:
    return frozenset(a for s in specs for p in s.partitions for a in partition_axes(p))


def _moved(source: PartitionSpec, target: PartitionSpec) -> Axes:
    pairs = zip(source.partitions, target.partitions, strict=True)
    changed = [(set(partition_axes(a)), set(partition_axes(b))) for a, b in pairs]
    stays = {axis for a, b in changed for axis in a & b}
    return (_sharded([source]) & _sharded([target])) - stays


def _refuse(op: TypedOp, axes: Axes, what: str) -> None:
    if axes:
        types = ", ".join(a.str_short() for a in op.in_avals)
        outs = ", ".join(a.str_short() for a in op.out_avals)
        names = ", ".join(sorted(map(repr, axes)))
        raise ForbiddenCollectiveError(
            f"{op.primitive.name}: given operands of types {types} and a result of type {outs}, "
            f"which {what} (axis {names}); that is communication forbidden by `no_collectives`. "
            "Keep the axis in the result, sharded or unreduced, or leave the context first."
        )
