"""Counts of the equations of a jaxpr."""

from typing import Any

from tans_core import ClosedJaxpr, subjaxprs


def count_equations(jaxpr: Any) -> dict[str, int]:
    """Return how many equations a jaxpr and the jaxprs inside have, by primitive, most first.

    A body counts once, however often it runs. Equations that only hold a body, such as a nested
    jit, count too.
    """
    counts: dict[str, int] = {}
    todo = [jaxpr]
    while todo:
        for eqn in todo.pop().eqns:
            counts[eqn.primitive.name] = counts.get(eqn.primitive.name, 0) + 1
            if eqn.primitive.call_like:
                inner = subjaxprs(eqn.params)
                todo += [body.jaxpr if isinstance(body, ClosedJaxpr) else body for body in inner]
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
