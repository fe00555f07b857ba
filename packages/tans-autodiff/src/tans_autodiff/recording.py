"""Recording a user's function of trees as a program, with the tracers that it captures."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tans_core import tree
from tans_core.jaxpr import ClosedJaxpr, eval_closed
from tans_core.staging import lift_tracer_consts, trace_to_jaxpr
from tans_core.types import AbstractValue

type Value = Any
type Pytree = Any


class Recorded(NamedTuple):
    """A function as a program.

    Attributes:
      closed: ``(*captured, *leaves) -> leaves``.
      captured: values of the tracers that the function captured.
      out_tree: structure of its result.
    """

    closed: ClosedJaxpr
    captured: list[Value]
    out_tree: Any

    def call(self, *leaves: Value) -> Pytree:
        """Run the program on the captured values and these leaves."""
        return tree.unflatten(self.out_tree, eval_closed(self.closed, *self.captured, *leaves))


def record(fun: Callable[..., Pytree], in_tree: Any, avals: Sequence[AbstractValue]) -> Recorded:
    """Trace a function once.

    Args:
      fun: takes the arguments of a tuple-tree, returns a pytree.
      in_tree: structure of the tuple of arguments.
      avals: types of its leaves.
    """
    out_tree: Any = None

    def flat(*leaves: Value) -> list[Value]:
        nonlocal out_tree
        outs, out_tree = tree.flatten(fun(*in_tree.unflatten(leaves)))
        return outs

    closed, captured = lift_tracer_consts(trace_to_jaxpr(flat, avals))
    return Recorded(closed, captured, out_tree)
