"""From a user's function to the body of a loop or branch: traced once per function and types."""

import threading
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any, Final, NamedTuple
from weakref import WeakKeyDictionary

from tans_core import tree
from tans_core.cache import register_cache
from tans_core.config import trace_context
from tans_core.debug_info import CallInfo, DebugInfo, debug_info_of
from tans_core.effects import check_control_flow_effects
from tans_core.errors import message
from tans_core.jaxpr import ClosedJaxpr
from tans_core.staging import hoist_consts, trace_to_jaxpr
from tans_core.trace import Tracer
from tans_core.tree_paths import keystr
from tans_core.types import AbstractValue
from tans_core.values import is_value
from tans_lax.control_flow.captures import Marks, captured, marks_of, same_captures
from tans_lax.control_flow.interning import interned
from tans_xla.ref_checks import check_distinct, check_not_captured, check_not_returned, is_ref

type Value = Any
type TreeDef = Any
type Call = Callable[..., Any]


class Body(NamedTuple):
    """A traced function.

    Attributes:
      jaxpr: ``(*consts, *ins) -> (*outs)``, without constants of its own.
      consts: values that the function captured.
      out_tree: structure of what the function returned.
    """

    jaxpr: ClosedJaxpr
    consts: list[Value]
    out_tree: TreeDef


_lock: Final = threading.Lock()
_MEMO: Final[WeakKeyDictionary[FunctionType, dict[Any, tuple[Marks, Body]]]] = WeakKeyDictionary()


def trace_body(
    fun: Call,
    in_tree: TreeDef,
    in_avals: Sequence[AbstractValue],
    where: str,
    call: Call | None = None,
) -> Body:
    """Trace a function of the user.

    Args:
      fun: the function.
      in_tree: structure of its tuple of arguments.
      in_avals: types of the arguments' leaves.
      where: the public function that asks, for messages.
      call: ``call(fun, *args)`` runs the function; must be a module-level function. None calls it.

    A plain function is traced once per types and configuration, for as long as the variables that
    it reads from outside are not rebound and hold no traced value.
    """
    key = (in_tree, tuple(in_avals), where, call, trace_context())
    memo = type(fun) is FunctionType
    if memo:
        with _lock:
            known = _MEMO.get(fun, {}).get(key)
        if known is not None and same_captures(known[0], captured(fun)):
            return known[1]
    body = _trace(fun, in_tree, in_avals, where, call)
    if memo and not any(isinstance(c, Tracer) for c in body.consts):
        with _lock:
            _MEMO.setdefault(fun, {})[key] = (marks_of(captured(fun)), body)
    return body


def _clear() -> None:
    with _lock:
        _MEMO.clear()


register_cache("bodies of control flow", _clear)


def _trace(
    fun: Call, in_tree: TreeDef, in_avals: Sequence[AbstractValue], where: str, call: Call | None
) -> Body:
    out_tree: TreeDef = None

    def flat(*leaves: Value) -> list[Value]:
        nonlocal out_tree
        args = tree.unflatten(in_tree, leaves)
        out = fun(*args) if call is None else call(fun, *args)
        outs, out_tree = tree.flatten(out)
        for x in outs:
            if not is_value(x):
                _check_outputs(out, fun, where)
            if is_ref(x):
                check_not_returned(
                    outs,
                    lambda i: keystr(tree.flatten_with_path(out)[0][i][0]),
                    CallInfo(where, fun, tree.structure((args, {}))),
                )
        return outs

    closed = trace_to_jaxpr(flat, in_avals, debug_info_of(where, fun))
    check_control_flow_effects(where, closed.effects)
    jaxpr, consts = hoist_consts(closed)
    code = getattr(fun, "__code__", None)
    if code is not None:
        jaxpr = interned((code, call), jaxpr)
    return Body(jaxpr, consts, out_tree)


def check_refs(
    fun: Call, in_tree: TreeDef, values: Sequence[Value], where: str, consts: Sequence[Value] = ()
) -> None:
    """Refuse a ref that is passed to `fun` twice, or passed and captured (among `consts`).

    Raises:
      ValueError: names the arguments.
    """
    if not any(map(is_ref, values)):
        return

    def info() -> CallInfo:
        args = tree.unflatten(in_tree, range(in_tree.num_leaves))
        return CallInfo(where, fun, tree.structure((args, {})))

    def name(i: int) -> str:
        return info().arg_names[i]

    check_distinct(values, lambda: info().place, name)
    check_not_captured(consts, values, lambda: info().place, name)


def _check_outputs(out: Any, fun: Call, where: str) -> None:
    for path, x in tree.flatten_with_path(out)[0]:
        if not is_value(x):
            raise TypeError(
                message(
                    where,
                    f"{describe(fun)} returning {x!r} of type {type(x).__name__} at "
                    f"result{keystr(path)}",
                    "arrays, scalars or trees of them",
                    "Return numbers and arrays only; keep other objects outside the program.",
                )
            )


def describe(fun: Call) -> str:
    """Return a function's name and place for messages."""
    info: DebugInfo = debug_info_of("", fun)
    return f"{info.name} at {info.location}" if info.location else info.name


def check_callable(fun: Any, where: str, name: str) -> None:
    """Raise TypeError unless `fun` can be called."""
    if not callable(fun):
        raise TypeError(
            message(
                where,
                f"{name}={fun!r} of type {type(fun).__name__}",
                "a function",
                f"Pass the function itself as {name}; a constant c becomes lambda *_: c.",
            )
        )


def check_leaves(args: Any, where: str, name: str) -> None:
    """Raise TypeError naming the first leaf of `args` that no program can hold."""
    for path, x in tree.flatten_with_path(args)[0]:
        if not is_value(x):
            raise TypeError(
                message(
                    where,
                    f"{name}{keystr(path)} = {x!r} of type {type(x).__name__}",
                    "arrays, scalars or trees of them",
                    "Capture other objects in the function instead of passing them.",
                )
            )
