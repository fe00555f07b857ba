"""Scan as a Python loop, for debugging with `disable_jit`."""

from collections.abc import Sequence
from typing import Any

from tans_core import tree
from tans_core.errors import message
from tans_lax.concatenation import concatenate
from tans_lax.control_flow.functions import Call, TreeDef, Value
from tans_lax.shape import expand_dims
from tans_lax.slicing import index_in_dim
from tans_xla.ref_checks import is_ref


def scan_in_python(
    f: Call,
    init: Any,
    xs: Sequence[Value],
    xs_tree: TreeDef,
    length: int,
    reverse: bool,
) -> tuple[Any, Any]:
    """Run the steps one by one; the function sees values, so it can print and branch on them."""
    if length == 0:
        raise ValueError(
            message(
                "scan",
                "no steps (length 0) under disable_jit",
                "at least one step, because the types of the results come from running one",
                "Leave disable_jit off for empty scans.",
            )
        )
    carry = init
    ys: list[Any] = []
    for i in reversed(range(length)) if reverse else range(length):
        # Of a ref, a step gets a view of its row, which it can write.
        elements = [x.at[i] if is_ref(x) else index_in_dim(x, i, 0, keepdims=False) for x in xs]
        carry, y = f(carry, tree.unflatten(xs_tree, elements))
        ys.append(y)
    if reverse:
        ys.reverse()
    return carry, tree.map(_stack, *ys)


def _stack(*values: Value) -> Value:
    return concatenate([expand_dims(v, (0,)) for v in values], 0)
