"""`closure_convert`: the values that a function captures become arguments."""

from collections.abc import Callable
from typing import Any

from tans_core import dtypes, tree
from tans_core.errors import message
from tans_core.jaxpr import eval_jaxpr
from tans_core.staging import trace_to_jaxpr
from tans_core.trace import Tracer
from tans_core.values import typeof

type Function = Callable[..., Any]
type Pytree = Any


def closure_convert(fun: Function, *example_args: Pytree) -> tuple[Function, list[Any]]:
    """Make the differentiated values that a function captures explicit arguments.

    Args:
      fun: takes and returns pytrees of arrays.
      example_args: arguments of the types that the result is called with.

    Returns:
      ``(converted, consts)``: ``converted(*args, *consts)`` equals ``fun(*args)``; `consts` are the
      captured tracers with inexact dtypes.

    Example:
      >>> import tans_lax as lax
      >>> converted, consts = closure_convert(lambda x: lax.mul(x, 2.0), 1.0)
      >>> float(converted(3.0, *consts)), consts
      (6.0, [])
    """
    leaves, in_tree = tree.flatten(example_args)
    out_tree: Any = None

    def flat(*args: Any) -> list[Any]:
        nonlocal out_tree
        outs, out_tree = tree.flatten(fun(*in_tree.unflatten(args)))
        return outs

    closed = trace_to_jaxpr(flat, [typeof(x) for x in leaves])
    lifted = [isinstance(c, Tracer) and dtypes.is_inexact(c.dtype) for c in closed.consts]
    consts = [c for c, moved in zip(closed.consts, lifted, strict=True) if moved]

    def converted(*args_and_consts: Any) -> Any:
        count = len(args_and_consts) - len(consts)
        given = iter(args_and_consts[count:])
        args, tree_given = tree.flatten(args_and_consts[:count])
        if tree_given != in_tree:
            raise TypeError(
                message(
                    "closure-converted function",
                    f"arguments with structure {tree_given}",
                    f"{in_tree}",
                    "Call it with arguments like the examples, then the constants.",
                )
            )
        values = [
            next(given) if moved else c for c, moved in zip(closed.consts, lifted, strict=True)
        ]
        return out_tree.unflatten(eval_jaxpr(closed.jaxpr, values, *args))

    return converted, consts
