"""Refuses aliases: a program must know a ref by one name, or it could not be made pure."""

from collections.abc import Callable, Sequence
from typing import Any

from tans_core.debug_info import DebugInfo, user_line
from tans_core.refs import RefCell, is_ref_type
from tans_core.staging import JaxprTrace, JaxprTracer
from tans_core.state import state
from tans_core.trace import Tracer

type Value = Any


def is_ref(x: Value) -> bool:
    """Whether a value is a ref, concrete or traced."""
    return isinstance(x, RefCell) or (isinstance(x, Tracer) and is_ref_type(x.aval))


def identity(x: Value) -> Any:
    """Return what tells refs apart."""
    return id(x.atom) if type(x) is JaxprTracer else id(x)


def check_distinct(
    values: Sequence[Value], place: Callable[[], str], name: Callable[[int], str]
) -> None:
    """Refuse a ref that is given twice.

    Args:
      values: flat arguments.
      place: gives the function and what it is traced for.
      name: printed name of an argument by number.

    Raises:
      ValueError: names both places.
    """
    seen: dict[Any, int] = {}
    for i, x in enumerate(values):
        if not is_ref(x):
            continue
        first = seen.setdefault(identity(x), i)
        if first != i:
            raise ValueError(
                f"{place()}: given one mutable ref of type {x.aval.str_short(False)} "
                f"twice, as {name(first)} and {name(i)}; expected each ref at most once. Pass it "
                "once, and use it for both inside."
            )


def check_not_captured(
    consts: Sequence[Value],
    values: Sequence[Value],
    place: Callable[[], str],
    name: Callable[[int], str],
) -> None:
    """Refuse a ref that is an argument and is read from outside by the function as well.

    Raises:
      ValueError: names the argument.
    """
    captured = {identity(x) for x in consts if is_ref(x)}
    if not captured:
        return
    for i, x in enumerate(values):
        if is_ref(x) and identity(x) in captured:
            raise ValueError(
                f"{place()}: given the mutable ref of type {x.aval.str_short(False)} "
                f"as the argument {name(i)}, but the function also closed over it; expected one of "
                f"the two. Use the argument {name(i)} inside, or don't pass it."
            )


def check_not_returned(
    outs: Sequence[Value], path: Callable[[int], str], info: DebugInfo | None, where: str = ""
) -> None:
    """Refuse to return refs from the function that is being traced.

    Args:
      outs: flat results.
      path: printed path of a result by number, such as ``['hi']``; empty for the only one.
      info: names of the function and its arguments.
      where: the function and what it is traced for, when there is no `info`.

    Raises:
      ValueError: says where the ref came from.
    """
    for i, x in enumerate(outs):
        if not is_ref(x):
            continue
        at = path(i)
        place = info.place if info is not None else where
        raise ValueError(
            f"{place}: returned a mutable ref of type {x.aval.str_short(False)}"
            f"{f' at result{at}' if at else ''}; expected arrays.{_came_from(x, info)} Return "
            "its value, ref[...] or freeze(ref)."
        )


def _came_from(x: Value, info: DebugInfo | None) -> str:
    trace = state.trace
    if type(trace) is not JaxprTrace:
        return ""
    if type(x) is not JaxprTracer or x._trace is not trace:
        return " The function closed over the ref."
    for i, v in enumerate(trace.invars):
        if v is x.atom:
            names = info.arg_names if info is not None else ()
            return f" The ref is the argument {names[i] if i < len(names) else i}."
    made = next((e for e in trace.eqns if any(v is x.atom for v in e.outvars)), None)
    line = user_line(made.traceback) if made is not None else ""
    return f" The ref was created on line {line}." if line else " The ref was created inside."


def repeated_refs(values: Sequence[Value]) -> tuple[int, ...] | None:
    """Number the values, a ref that is repeated by its first number; None if all differ."""
    cells = [x for x in values if isinstance(x, RefCell)]
    if len(cells) < 2 or len(set(map(id, cells))) == len(cells):
        return None
    numbers: dict[Any, int] = {}
    return tuple(
        numbers.setdefault(id(x) if isinstance(x, RefCell) else (i,), len(numbers))
        for i, x in enumerate(values)
    )
