"""Batching rules of the user's own: `custom_vmap` and `sequential_vmap`."""

import functools
import inspect
from collections.abc import Callable
from typing import Any, Final

from tans_batching.map import map as sequential_map
from tans_core import tree
from tans_core.debug_info import CallInfo
from tans_core.errors import message
from tans_core.primitive import Primitive
from tans_core.staging import lift_tracer_consts, trace_to_jaxpr
from tans_core.trace import is_evaluating
from tans_core.tree_registry import registry
from tans_core.values import typeof

type Rule = Callable[..., tuple[Any, Any]]

custom_vmap_call_p: Final = Primitive(
    "custom_vmap_call", family=__name__, multiple_results=True, call_like=True
)


class custom_vmap:  # noqa: N801  (a decorator)
    """Give a function a batching rule of its own.

    Args:
      fun: takes and returns arrays or trees of them.

    Example:
      >>> import numpy as np
      >>> import tans_lax as lax
      >>> from tans_batching import vmap
      >>> @custom_vmap
      ... def double(x):
      ...     return lax.add(x, x)
      >>> @double.def_vmap
      ... def double_rule(axis_size, in_batched, xs):
      ...     return lax.mul(xs, 2.0), in_batched[0]
      >>> vmap(double)(np.arange(3.0))
      Array([0., 2., 4.], dtype=float32)
    """

    def __init__(self, fun: Callable[..., Any]) -> None:
        functools.update_wrapper(self, fun)
        self.fun = fun
        self.vmap_rule: Rule | None = None

    def def_vmap(self, vmap_rule: Rule) -> Rule:
        """Set the batching rule; returns it, so that this is a decorator.

        Args:
          vmap_rule: called as ``vmap_rule(axis_size, in_batched, *args)``: the number of elements,
            a list with a tree of bools per argument that says which arrays are mapped, and the
            arguments, whose mapped arrays have the mapped axis first. Returns the outputs, and a
            tree of bools that says which of them are mapped, along their first axis. Values that
            depend on mapped ones must be arguments: the rule can't see them otherwise.
        """
        self.vmap_rule = vmap_rule
        return vmap_rule

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function; keyword arguments are matched to positions.

        Raises:
          AttributeError: no batching rule was set.
        """
        if self.vmap_rule is None:
            raise AttributeError(
                message(
                    "custom_vmap",
                    f"the function {_name(self.fun)} without a batching rule",
                    "one set by def_vmap",
                    f"Decorate the rule: @{_name(self.fun)}.def_vmap.",
                )
            )
        args = _positional(self.fun, args, kwargs)
        if is_evaluating():
            return self.fun(*args)
        return _bind_call(self.fun, self.vmap_rule, args)


def _name(fun: Callable[..., Any]) -> str:
    return getattr(fun, "__name__", repr(fun))


def _positional(
    fun: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, ...]:
    if not kwargs:
        return args
    bound = inspect.signature(fun).bind(*args, **kwargs)
    bound.apply_defaults()
    if bound.kwargs:
        raise TypeError(
            message(
                "custom_vmap",
                f"keyword-only arguments {sorted(bound.kwargs)} of {_name(fun)}",
                "arguments that can be passed by position",
                "Drop the * from the signature.",
            )
        )
    return bound.args


def _bind_call(fun: Callable[..., Any], rule: Rule, args: tuple[Any, ...]) -> Any:
    flat, in_tree = registry.flatten(args)
    out_tree = None

    def flat_fun(*xs: Any) -> list[Any]:
        nonlocal out_tree
        outs, out_tree = registry.flatten(fun(*in_tree.unflatten(xs)))
        return outs

    info = CallInfo("custom_vmap", fun, registry.flatten((args, {}))[1])
    call, captured = lift_tracer_consts(trace_to_jaxpr(flat_fun, [typeof(x) for x in flat], info))
    outs = custom_vmap_call_p.bind(
        *captured,
        *flat,
        call=call,
        rule=rule,
        in_tree=in_tree,
        out_tree=out_tree,
        num_consts=len(captured),
    )
    return out_tree.unflatten(outs)  # type: ignore[union-attr]


def sequential_vmap(f: Callable[..., Any]) -> custom_vmap:
    """Give a function the batching rule that runs it for one element after another.

    Args:
      f: takes and returns arrays or trees of them.

    Example:
      >>> import numpy as np
      >>> import tans_lax as lax
      >>> from tans_batching import vmap
      >>> vmap(sequential_vmap(lambda x: lax.neg(x)))(np.arange(3.0))
      Array([-0., -1., -2.], dtype=float32)
    """
    mapped = custom_vmap(f)

    def rule(axis_size: int, in_batched: list[Any], *args: Any) -> tuple[Any, Any]:
        del axis_size
        flat, treedef = registry.flatten(args)
        flags = tree.leaves(in_batched)
        batched = [x for x, b in zip(flat, flags, strict=True) if b]

        def call_one(own: list[Any]) -> Any:
            given = iter(own)
            merged = [next(given) if b else x for x, b in zip(flat, flags, strict=True)]
            return mapped(*treedef.unflatten(merged))

        out = sequential_map(call_one, batched)
        return out, tree.map(lambda _: True, out)

    mapped.def_vmap(rule)
    return mapped
