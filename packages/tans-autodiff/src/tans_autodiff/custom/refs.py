"""What functions with a custom rule may do with refs: take them, and write to them."""

from collections.abc import Callable, Sequence
from typing import Any

from tans_autodiff.signature import Positions
from tans_core import tree
from tans_core.debug_info import CallInfo
from tans_core.errors import message
from tans_core.values import typeof
from tans_xla.ref_checks import check_distinct, is_ref

type Function = Callable[..., Any]
type Value = Any


def check_distinct_refs(
    kind: str, fun: Function, positions: Positions, in_tree: Any, leaves: Sequence[Value]
) -> None:
    """Raise when a ref is passed twice: a rule would see it under two names."""
    if not any(map(is_ref, leaves)):
        return

    def info() -> CallInfo:
        args = in_tree.unflatten(range(in_tree.num_leaves))
        return CallInfo(kind, fun, tree.structure((args, {})), positions.of_others(len(args)))

    check_distinct(leaves, lambda: info().place, lambda i: info().arg_names[i])


def check_no_refs_returned(name: str, outs: Sequence[Value]) -> None:
    """Raise when a function returns a ref."""
    for i, x in enumerate(outs):
        if is_ref(x):
            raise ValueError(
                message(
                    f"function {name} with a custom rule",
                    f"a {typeof(x).str_short(False)} as output leaf {i}",
                    "arrays as outputs",
                    "Return ref[...], its value; the caller has the ref itself.",
                )
            )


def check_residual_refs(call: Any, primals: Sequence[Value], residuals: Sequence[Value]) -> None:
    """Raise when a forward rule returns a mutable array reference that was not an argument."""
    for i, x in enumerate(residuals):
        if is_ref(x) and not any(x is p for p in primals):
            raise ValueError(
                message(
                    f"custom_vjp fwd function {getattr(call.fwd, '__name__', call.fwd)} for "
                    f"{call.name}",
                    f"residual leaf {i}, a mutable array reference of type "
                    f"{typeof(x).str_short(False)} that was not an argument",
                    "arrays, and refs that are arguments of the function",
                    "Return ref[...], its value, or pass the ref to the function.",
                )
            )
