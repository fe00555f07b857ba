"""Structured residuals of a VJP object: read from the forward pass, given back for the backward."""

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from tans_batching import vmap
from tans_core import rules, tree
from tans_core.cache import weakref_cache
from tans_core.context import merge, partition
from tans_core.dce import dce_jaxpr
from tans_core.errors import message
from tans_core.hi_types import is_hi_type
from tans_core.jaxpr import ClosedJaxpr, Eqn, Literal
from tans_core.types import AbstractValue, same_but_weak
from tans_core.values import is_value, typeof
from tans_lax.control_flow.programs import with_variables
from tans_lax.control_flow.scan import scan
from tans_xla.structured import Channel, Lifted, NotVisibleError, Slot

type Value = Any


class Structure(NamedTuple):
    """Where a backward program's structured inputs are in the user's tree.

    Attributes:
      tree: structure of `VJP.structured_residuals`.
      positions: per input its leaf in the tree.
      avals: types of the inputs.
    """

    tree: Any
    positions: tuple[int, ...]
    avals: tuple[AbstractValue, ...]


class _Context:
    """What rows are given."""

    def lift(self, body: ClosedJaxpr) -> Lifted | None:
        return _lift_body(body)

    def stacked(
        self, read: Callable[..., Any], mapped: Sequence[bool], length: int
    ) -> Callable[..., Any]:
        by_lane = vmap(read, in_axes=tuple(0 if m else None for m in mapped), axis_size=length)

        def read_all(*values: Any) -> Any:
            if not any(is_hi_type(typeof(x)) for x in values):
                return by_lane(*values)
            fixed, xs = partition(mapped, values)

            def step(_: None, row: Sequence[Any]) -> tuple[None, Any]:
                return None, read(*merge(mapped, fixed, row))

            # Values of user types are stacked by scan, which knows along what.
            return scan(step, None, xs, length)[1]

        return read_all


_context: Final = _Context()


def _channel(eqn: Eqn, closed: ClosedJaxpr) -> Channel | None:
    primitive = eqn.op.primitive
    rule = rules.structured.find(primitive) if primitive.call_like else None
    if rule is None:
        return None
    try:
        return rule(_context, eqn, closed.jaxpr)
    except NotVisibleError:
        return None


def lift(closed: ClosedJaxpr) -> Lifted | None:
    """Make what the equations of a linear program save inputs; None when they save nothing."""
    slots: list[Slot] = []
    entries: list[Any] = []
    inputs: list[Any] = []
    eqns: list[Eqn] = []
    for eqn in closed.eqns:
        channel = _channel(eqn, closed)
        if channel is None:
            eqns.append(eqn)
            continue
        start = len(slots)
        slots += channel.slots
        inputs += channel.inputs
        eqns.append(channel.eqn)
        entries.append(tree.map(lambda i, start=start: i + start, channel.entry))
    if not slots:
        return None
    body = with_variables(closed, invars=[*closed.jaxpr.invars, *inputs], eqns=eqns)
    return Lifted(body, slots, entries)


_lift_body: Final = weakref_cache(context=False)(lift)


class Opened(NamedTuple):
    """A linear program with its structured residuals as inputs.

    Attributes:
      linear: ``(*residuals, *structured, *tangents) -> outs``.
      residuals: values of the residuals that are still read.
      structure: where the structured inputs are in the user's tree, or None.
      entries: the user's tree, a list.
    """

    linear: ClosedJaxpr
    residuals: list[Value]
    structure: Structure | None
    entries: list[Any]


def opened(linear: ClosedJaxpr, residuals: list[Value], as_array: Callable[..., Any]) -> Opened:
    """Open a linear program ``(*residuals, *tangents) -> outs`` without constants."""
    lifted = lift(linear)
    if lifted is None:
        return Opened(linear, residuals, None, [])
    n, jaxpr = len(residuals), linear.jaxpr
    env = dict(zip(jaxpr.invars, residuals, strict=False))
    try:
        values = [as_array(_read(slot, env)) for slot in lifted.slots]
    except NotVisibleError:
        return Opened(linear, residuals, None, [])
    added = lifted.body.jaxpr.invars[len(jaxpr.invars) :]
    invars = [*jaxpr.invars[:n], *added, *jaxpr.invars[n:]]
    body = with_variables(lifted.body, invars=invars)
    keep = [False] * n + [True] * (len(invars) - n)
    body, used = dce_jaxpr(body, [True] * len(body.out_avals), instantiate=keep)
    numbers, structure = tree.flatten(lifted.entries)
    inputs = [i for i, slot in enumerate(lifted.slots) if slot.aval is not None]
    return Opened(
        body,
        [r for r, u in zip(residuals, used, strict=False) if u],
        Structure(structure, tuple(map(numbers.index, inputs)), tuple(v.aval for v in added)),
        structure.unflatten([values[i] for i in numbers]),
    )


def _read(slot: Slot, env: dict[Any, Value]) -> Value:
    atoms = slot.atoms
    if not all(type(a) is Literal or a in env for a in atoms):
        raise NotVisibleError
    return slot.read(*[a.val if type(a) is Literal else env[a] for a in atoms])


def given_back(name: str, structure: Structure | None, entries: list[Any]) -> list[Value]:
    """Return the values of a backward program's structured inputs.

    Raises:
      ValueError: the tree has another structure than it was made with, or a value another type.
    """
    if structure is None:
        return []
    leaves, found = tree.flatten(entries)
    where = f"VJP function of {name}"
    if found != structure.tree:
        raise ValueError(
            message(
                where,
                f"structured_residuals with the structure {found}",
                f"{structure.tree}, as they were made",
                "Exchange values only, as with tree.map.",
            )
        )
    values = [leaves[i] for i in structure.positions]
    for i, x, aval in zip(structure.positions, values, structure.avals, strict=True):
        if not is_value(x) or not _fits(typeof(x), aval):
            given = typeof(x).str_short(False) if is_value(x) else repr(x)
            raise ValueError(
                message(
                    where,
                    f"structured_residuals with leaf {i}, which is {given}",
                    aval.str_short(False),
                    "Exchange values for others of the same type.",
                )
            )
    return values


def _fits(given: Any, aval: Any) -> bool:
    if same_but_weak(given, aval):
        return True
    return hasattr(aval, "shape") and all(
        getattr(given, n, None) == getattr(aval, n) for n in ("shape", "dtype")
    )
