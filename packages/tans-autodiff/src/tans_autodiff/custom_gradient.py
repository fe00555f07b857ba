"""`custom_gradient` and `closure_convert`: custom rules for functions with captured values."""

import functools
from collections.abc import Callable
from typing import Any

from tans_autodiff.custom_vjp import custom_vjp
from tans_core import dtypes, tree
from tans_core.errors import message
from tans_core.jaxpr import ClosedJaxpr, eval_jaxpr
from tans_core.staging import trace_to_jaxpr
from tans_core.trace import Tracer
from tans_core.tracebacks import api_boundary
from tans_core.values import typeof

type Function = Callable[..., Any]
type Pytree = Any


def custom_gradient(fun: Function | None = None) -> Function:
    """Return a function whose gradient `fun` supplies together with its value.

    Args:
      fun: returns ``(out, vjp_fn)``; ``vjp_fn(ct)`` returns the cotangent of the argument, or a
        tuple of them for several arguments. It may use values computed by `fun`. Without `fun`
        the result is a decorator.

    Returns:
      A function of the same arguments that returns `out`.

    Raises:
      TypeError: `fun` doesn't return a pair.

    Example:
      >>> import tans_lax as lax
      >>> from tans_autodiff import grad
      >>> @custom_gradient
      ... def square(x):
      ...     return lax.mul(x, x), lambda g: (lax.mul(g, x),)
      >>> float(grad(square)(3.0))
      3.0
    """
    if fun is None:
        return custom_gradient

    @api_boundary
    @functools.wraps(fun)
    def with_gradient(*args: Any, **kwargs: Any) -> Any:
        def primal(*values: Any) -> Any:
            return _pair(fun, fun(*values, **kwargs))[0]

        def forward(*values: Any) -> Any:
            out, vjp_fn = _pair(fun, fun(*values, **kwargs))
            leaves, out_tree = tree.flatten(out)
            backward, consts = _close(vjp_fn, out_tree, [typeof(x) for x in leaves], len(values))
            return out, Residuals(backward, consts)

        rule = custom_vjp(primal)
        rule.defvjp(forward, lambda residuals, ct: residuals.apply(ct))
        return rule(*args)

    return with_gradient


def _pair(fun: Function, result: Any) -> tuple[Any, Function]:
    if isinstance(result, tuple | list) and len(result) == 2 and callable(result[1]):
        return result[0], result[1]
    raise TypeError(
        message(
            f"custom_gradient function {getattr(fun, '__name__', fun)}",
            f"a result of type {type(result).__name__}",
            "a pair (output, vjp_fn)",
            "Return the output and a function from its cotangent to the arguments' cotangents.",
        )
    )


class Residuals:
    """A backward function: its program is static, the values it captured are the leaves."""

    __slots__ = ("backward", "consts")

    def __init__(self, backward: "_Backward", consts: list[Any]) -> None:
        self.backward = backward
        self.consts = consts

    def apply(self, ct: Pytree) -> tuple[Pytree, ...]:
        """Return the cotangents of the arguments."""
        leaves = tree.leaves(ct)
        results = eval_jaxpr(self.backward.closed.jaxpr, self.consts, *leaves)
        cts = self.backward.tree.unflatten(results)
        return cts if self.backward.is_tuple else (cts,)


class _Backward:
    __slots__ = ("closed", "is_tuple", "tree")

    def __init__(self, closed: ClosedJaxpr, treedef: Any, is_tuple: bool) -> None:
        self.closed = closed
        self.tree = treedef
        self.is_tuple = is_tuple


tree.registry.register_node(
    Residuals,
    lambda r: ((r.consts,), r.backward),
    lambda backward, children: Residuals(backward, *children),
)


def _close(
    vjp_fn: Function, out_tree: Any, out_avals: list[Any], count: int
) -> tuple[_Backward, list[Any]]:
    treedef: Any = None
    is_tuple = False

    def flat(*cts: Any) -> list[Any]:
        nonlocal treedef, is_tuple
        result = vjp_fn(out_tree.unflatten(cts))
        is_tuple = isinstance(result, tuple | list) and len(result) == count
        result = tuple(result) if is_tuple else result
        leaves, treedef = tree.flatten(result)
        return leaves

    closed = trace_to_jaxpr(flat, [aval.to_cotangent() for aval in out_avals])
    return _Backward(closed, treedef, is_tuple), closed.consts


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
