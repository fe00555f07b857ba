"""`checkpoint` (`remat`): trade computation for memory on the backward pass."""

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from tans_autodiff.arguments import flatten_arguments, type_of_leaf
from tans_autodiff.remat import name_p, remat_p
from tans_autodiff.residuals import spread_flags
from tans_core import tree
from tans_core.cache import register_cache
from tans_core.config import trace_context
from tans_core.debug_info import CallInfo, debug_info_of
from tans_core.errors import TracerBoolConversionError, message
from tans_core.jaxpr import ClosedJaxpr
from tans_core.refs import NO_GRAD_NO_REMAT, AccumEffect, WriteEffect
from tans_core.staging import hoist_consts, trace_to_jaxpr
from tans_core.trace import Tracer
from tans_core.tracebacks import api_boundary
from tans_core.values import typeof
from tans_xla.jit.signature import check_callable
from tans_xla.ref_checks import check_distinct, check_not_captured, check_not_returned, is_ref

type Function = Callable[..., Any]
type Policy = Callable[..., Any]
type Recorded = tuple[ClosedJaxpr, list[Any], Any]  # body, constants' values, output structure

_recorded: WeakKeyDictionary[Function, dict[Any, Recorded]] = WeakKeyDictionary()
register_cache("checkpointed functions", _recorded.clear)


def checkpoint(
    fun: Function,
    *,
    prevent_cse: Any = True,
    policy: Policy | None = None,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Sequence[str] = (),
) -> Function:
    """Return a function whose inner values are computed anew on the backward pass.

    Values and gradients don't change, only what is kept in between: the arguments, and what the
    policy saves.

    Args:
      fun: takes and returns pytrees of arrays of any shapes.
      prevent_cse: whether to keep the compiler from merging the two computations; False is safe,
        and faster, inside a scan. A tuple-tree of bools may match the arguments.
      policy: ``policy(primitive, *input_types, **params)`` says of an operation whether its
        results are saved; None saves nothing. `checkpoint_policies` has the standard ones.
      static_argnums: positions of arguments to use as they are, without tracing.
      static_argnames: names of arguments to use as they are, passed by keyword or by position.

    Returns:
      A function with the arguments and results of `fun`.

    Raises:
      TypeError: `fun` is not callable, or `prevent_cse` is neither a bool nor a tuple of bools.
      ValueError: a static position is out of range, a static name is no argument, or `prevent_cse`
        does not fit the arguments.

    Example:
      >>> import tans_lax as lax
      >>> from tans_autodiff import grad
      >>> round(float(grad(checkpoint(lambda x: lax.sin(lax.sin(x))))(1.0)), 5)
      0.36004
    """
    check_callable("checkpoint", fun)
    _check_prevent_cse(prevent_cse)
    statics = (static_argnums,) if isinstance(static_argnums, int) else tuple(static_argnums)
    names = (static_argnames,) if isinstance(static_argnames, str) else tuple(static_argnames)
    named = _positions_of(fun, names)

    @api_boundary
    @functools.wraps(fun)
    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        where = _static_positions(statics, len(args))
        where |= {i for i in named if i < len(args)}
        static = (
            *((i, args[i]) for i in sorted(where)),
            *((name, kwargs.pop(name)) for name in names if name in kwargs),
        )
        dynamic = tuple(x for i, x in enumerate(args) if i not in where)
        fenced = prevent_cse is True or any(spread_flags("prevent_cse", prevent_cse, dynamic))
        leaves, in_tree = flatten_arguments((dynamic, kwargs))
        closed, consts, out_tree = _record(fun, static, leaves, in_tree)
        if any(map(is_ref, leaves)):
            at = [i for i in range(len(args)) if i not in where]
            info = CallInfo("checkpoint", fun, in_tree, at)
            check_distinct(leaves, lambda: info.place, lambda i: info.arg_names[i])
            check_not_captured(consts, leaves, lambda: info.place, lambda i: info.arg_names[i])
        outs = remat_p.bind(
            *consts,
            *leaves,
            jaxpr=closed,
            prevent_cse=fenced,
            differentiated=False,
            policy=policy,
        )
        return out_tree.unflatten(outs)

    return checkpointed


def remat(
    fun: Function,
    *,
    prevent_cse: Any = True,
    policy: Policy | None = None,
    static_argnums: int | Sequence[int] = (),
) -> Function:
    """Return a function whose inner values are computed anew on the backward pass.

    Args:
      fun: as for `checkpoint`, whose shorter name this is.
      prevent_cse: as for `checkpoint`.
      policy: as for `checkpoint`.
      static_argnums: as for `checkpoint`.

    Returns:
      A function with the arguments and results of `fun`.

    Raises:
      TypeError: as for `checkpoint`.
      ValueError: as for `checkpoint`.

    Example:
      >>> import tans_lax as lax
      >>> float(remat(lax.sin)(0.0))
      0.0
    """
    return checkpoint(fun, prevent_cse=prevent_cse, policy=policy, static_argnums=static_argnums)


def checkpoint_name(x: Any, name: str) -> Any:
    """Give values a name that checkpoint policies see.

    Args:
      x: pytree of arrays of any shapes.
      name: the name.

    Returns:
      `x`, with every leaf named.

    Example:
      >>> float(checkpoint_name(2.0, "activations"))
      2.0
    """
    return tree.map(lambda leaf: name_p.bind(leaf, name=name), x)


def checkpoint_name_fwd(x: Any, name: str) -> Any:
    """Give values a name on the forward pass; `checkpoint_name` under its other name.

    Args:
      x: pytree of arrays of any shapes.
      name: the name.

    Returns:
      `x`, with every leaf named.
    """
    return checkpoint_name(x, name)


def _check_prevent_cse(prevent_cse: Any) -> None:
    ok = isinstance(prevent_cse, bool | tuple)
    if not ok or not all(isinstance(leaf, bool) for leaf in tree.leaves(prevent_cse)):
        raise TypeError(
            message(
                "checkpoint",
                f"prevent_cse={prevent_cse!r} of type {type(prevent_cse).__name__}",
                "a bool, or a tuple-tree of bools like the arguments",
                "Pass prevent_cse=False inside a scan, and leave it out elsewhere.",
            )
        )


def _static_positions(statics: tuple[int, ...], count: int) -> frozenset[int]:
    if any(not -count <= i < count for i in statics):
        raise ValueError(
            message(
                "checkpoint",
                f"static_argnums={statics} and {count} positional arguments",
                f"positions of at least {-count} and less than {count}",
                "Pass static arguments by position.",
            )
        )
    return frozenset(i % count for i in statics)


def _check_writes(fun: Function, closed: ClosedJaxpr) -> None:
    """Raise when the function writes to a ref from outside, which can't be done a second time."""
    for effect in closed.effects:
        if isinstance(effect, WriteEffect | AccumEffect):
            aval: Any = closed.in_avals[effect.input_index]
            if aval.kind != NO_GRAD_NO_REMAT:
                raise ValueError(
                    message(
                        f"checkpoint of {getattr(fun, '__name__', fun)}",
                        f"a function that writes to a {aval.str_short(False)} from outside, which "
                        "the backward pass would do again",
                        "writes to refs that the function makes itself, or to refs of the kind "
                        "'no_grad_no_remat', which are written on the forward pass only",
                        "Make the ref with new_ref(x, kind='no_grad_no_remat'), or write to it "
                        "after the checkpointed call.",
                    )
                )


def _positions_of(fun: Function, names: Sequence[str]) -> list[int]:
    """Return the positions of arguments that are known by name.

    Raises:
      ValueError: the function has no such argument.
    """
    if not names:
        return []
    try:
        parameters = list(inspect.signature(fun).parameters.values())
    except (TypeError, ValueError):  # a function without a signature
        return []
    known = [p.name for p in parameters if p.kind is not p.VAR_KEYWORD]
    unknown = [name for name in names if name not in known]
    if unknown and len(known) == len(parameters):
        raise ValueError(
            message(
                "checkpoint",
                f"static_argnames={tuple(names)} for {getattr(fun, '__name__', fun)}",
                f"names of its arguments, {', '.join(known)}",
                "Correct the spelling, or give a position in static_argnums.",
            )
        )
    by_position = [p.name for p in parameters if p.kind is not p.KEYWORD_ONLY]
    return [i for i, name in enumerate(by_position) if name in names]


def _record(fun: Function, static: tuple[Any, ...], leaves: list[Any], in_tree: Any) -> Recorded:
    avals = tuple(type_of_leaf("checkpoint", x) for x in leaves)
    table = None
    key = (static, in_tree, avals, trace_context())
    try:
        table = _recorded.setdefault(fun, {})
        found = table.get(key)
    except TypeError:  # the function can't be referenced weakly, or a static can't be hashed
        found = table = None
    if found is not None:
        return found
    out_tree: Any = None

    def flat(*values: Any) -> list[Any]:
        nonlocal out_tree
        dynamic, kwargs = in_tree.unflatten(values)
        args = list(dynamic)
        for where, x in static:
            if isinstance(where, str):
                kwargs[where] = x
            else:
                args.insert(where, x)
        out = fun(*args, **kwargs)
        outs, out_tree = tree.flatten(out)
        for x in outs:
            typeof(x)
        if any(map(is_ref, outs)):
            paths = [path for path, _ in tree.leaves_with_path(out)]
            info = CallInfo("checkpoint", fun, in_tree)
            check_not_returned(outs, lambda i: "".join(map(str, paths[i])), info)
        return outs

    try:
        closed = trace_to_jaxpr(flat, avals, debug_info_of("checkpoint", fun))
    except TracerBoolConversionError as error:
        error.add_note(
            "checkpoint: the branch is inside a checkpointed function. If it depends on an "
            "argument that is not an array, give that argument in static_argnums or "
            "static_argnames."
        )
        raise
    closed, consts = hoist_consts(closed)
    _check_writes(fun, closed)
    result = closed, consts, out_tree
    if table is None or any(isinstance(c, Tracer) for c in consts):
        return result  # what captures tracers must not outlive their trace
    return table.setdefault(key, result)
