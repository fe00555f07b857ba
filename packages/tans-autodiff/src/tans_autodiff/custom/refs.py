"""What functions with a custom rule may do with refs: take them, and write to them."""

from collections.abc import Sequence
from typing import Any

from tans_core.errors import message
from tans_core.refs import is_ref_type
from tans_core.values import typeof

type Value = Any


def is_ref(x: Value) -> bool:
    """Whether a leaf is a ref."""
    return is_ref_type(getattr(x, "aval", None))


def check_distinct_refs(name: str, leaves: Sequence[Value]) -> None:
    """Raise when a ref is passed twice: a rule would see it under two names."""
    seen: dict[int, int] = {}
    for i, x in enumerate(leaves):
        if is_ref(x) and seen.setdefault(id(x), i) != i:
            raise ValueError(
                message(
                    f"function {name} with a custom rule",
                    f"one {typeof(x).str_short(False)} as argument leaves {seen[id(x)]} and {i}",
                    "each ref once",
                    "Pass it at one place, or make a second ref.",
                )
            )


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
