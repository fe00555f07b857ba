"""Pushes what `vjp_bwd_retval` returns into accumulators."""

from collections.abc import Sequence
from typing import Any

from tans_core import tree
from tans_core.accumulators import GradAccum
from tans_core.errors import message
from tans_core.values import is_value, typeof
from tans_core.zeros import Zero
from tans_hijax.errors import brief, fits, mismatch, where

type Tree = Any


def push_returned(prim: Any, res: Tree, ct: Tree, accums: Sequence[Tree]) -> Any:
    """Run `vjp_bwd_retval_logs` or `vjp_bwd_retval`, push the cotangents, return the logs.

    Raises:
      TypeError: no tuple was returned.
      ValueError: the tuple has another length, or a cotangent another structure or type.
    """
    rule, logs = "vjp_bwd_retval", None
    if prim.defines("vjp_bwd_retval_logs"):
        rule = "vjp_bwd_retval_logs"
        found = prim.vjp_bwd_retval_logs(res, ct)
        if not isinstance(found, tuple) or len(found) != 2:
            raise TypeError(
                message(
                    where(prim, rule),
                    f"a result {brief(found)}",
                    "a pair: the tuple of cotangents, then the log entries (a dict, or None)",
                    "Return (cts, logs).",
                )
            )
        cts, logs = found
    else:
        cts = prim.vjp_bwd_retval(res, ct)
    push(prim, rule, cts, accums)
    return logs


def push(prim: Any, rule: str, cts: Any, accums: Sequence[Tree]) -> None:
    """Push one tree of cotangents per argument."""
    if not isinstance(cts, tuple):
        raise TypeError(
            message(
                where(prim, rule),
                f"a result {brief(cts)}",
                f"a tuple of {len(accums)} cotangents, one per argument",
                "Return (ct,) for one argument.",
            )
        )
    if len(cts) != len(accums):
        raise ValueError(
            message(
                where(prim, rule),
                f"a tuple of {len(cts)} cotangents",
                f"{len(accums)}, one per argument",
                "Return None for an argument whose cotangent is zero.",
            )
        )
    for i, (part, accum) in enumerate(zip(cts, accums, strict=True)):
        _push_argument(prim, rule, i, part, accum)


def _push_argument(prim: Any, rule: str, index: int, part: Tree, accum: Tree) -> None:
    if part is None:
        return
    structure = tree.structure(accum)
    leaves, found = tree.flatten(part, is_leaf=lambda x: x is None or type(x) is Zero)
    if found != structure:
        raise ValueError(
            message(
                where(prim, rule),
                f"a cotangent of argument {index} with the structure {found}",
                f"that of the argument, {structure}",
                "Return a tree like the argument; None stands for zero.",
            )
        )
    for x, total in zip(leaves, tree.leaves(accum), strict=True):
        if x is None or type(x) is Zero or not isinstance(total, GradAccum):
            continue
        if not is_value(x):
            raise TypeError(
                message(
                    where(prim, rule),
                    f"a cotangent of argument {index}, {brief(x)}",
                    total.aval.str_short(False),
                    "Return arrays; None stands for zero.",
                )
            )
        if total.kind != "null" and not fits(typeof(x), total.aval):
            what = f"a cotangent of argument {index}"
            raise mismatch(prim, rule, what, typeof(x), total.aval, ValueError)
        total.accum(x)
