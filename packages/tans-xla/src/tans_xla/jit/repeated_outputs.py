"""Results that a nested jit would return twice: made once, and repeated outside."""

from typing import Final, NamedTuple
from weakref import WeakKeyDictionary

from tans_core.cache import register_cache
from tans_core.jaxpr import ClosedJaxpr, Jaxpr, Literal, Var


class Distinct(NamedTuple):
    """A program without repeated outputs.

    Attributes:
      body: the program.
      kept: per output of `body` its index in the given program.
      sources: per output of the given program its index in `body`.
    """

    body: ClosedJaxpr
    kept: tuple[int, ...]
    sources: tuple[int, ...]


# Kept per body, so that equal calls still lower to one function.
_distinct: Final[WeakKeyDictionary[ClosedJaxpr, Distinct]] = WeakKeyDictionary()
register_cache("jit bodies without repeated outputs", _distinct.clear)


def distinct_outputs(closed: ClosedJaxpr) -> Distinct:
    """Remove outputs that are the same variable as an earlier one."""
    found = _distinct.get(closed)
    if found is None:
        found = _distinct.setdefault(closed, _without_repetitions(closed))
    return found


def _without_repetitions(closed: ClosedJaxpr) -> Distinct:
    jaxpr = closed.jaxpr
    first: dict[Var, int] = {}
    kept: list[int] = []
    sources: list[int] = []
    for i, v in enumerate(jaxpr.outvars):
        if not isinstance(v, Literal) and v in first:
            sources.append(first[v])
            continue
        if not isinstance(v, Literal):
            first[v] = len(kept)
        sources.append(len(kept))
        kept.append(i)
    if len(kept) == len(sources):
        # A copy, because a value that refers to its own key would never be dropped.
        return Distinct(_same(closed), tuple(kept), tuple(sources))
    new = Jaxpr(
        jaxpr.constvars,
        jaxpr.invars,
        [jaxpr.outvars[i] for i in kept],
        jaxpr.eqns,
        jaxpr.effects,
        jaxpr.debug_info,
    )
    return Distinct(ClosedJaxpr(new, closed.consts), tuple(kept), tuple(sources))


def _same(closed: ClosedJaxpr) -> ClosedJaxpr:
    return ClosedJaxpr(closed.jaxpr, closed.consts)
