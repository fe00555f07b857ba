"""`cond` and `switch`: run one of several functions."""

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from tans_core import tree
from tans_core.config import disable_jit
from tans_core.errors import message
from tans_core.primitive import Primitive
from tans_core.trace import Tracer
from tans_core.values import is_value, typeof
from tans_lax.control_flow.carry import flatten_carry, shown
from tans_lax.control_flow.cond.branches import join_branches
from tans_lax.control_flow.functions import (
    Call,
    Value,
    check_callable,
    check_refs,
    trace_body,
)
from tans_lax.conversion import convert_element_type
from tans_lax.elementwise.comparison import ne
from tans_lax.elementwise.selection import clamp

type Operand = Any
type Result = Any

cond_p: Final = Primitive("cond", family=__name__, multiple_results=True, call_like=True)
active_lanes_p: Final = Primitive("active_lanes", family=__name__)

_ABSENT: Final = object()


def cond(
    pred: Value,
    true_fun: Callable[..., Result],
    false_fun: Callable[..., Result],
    *operands: Operand,
    operand: Operand = _ABSENT,
) -> Result:
    """Run one of two functions.

    Means the same as::

        def cond(pred, true_fun, false_fun, *operands):
            return true_fun(*operands) if pred else false_fun(*operands)

    but both functions are traced, and `pred` may be computed by the program. Only the chosen
    function runs, except under `vmap` with a mapped `pred`: then both run and the result is
    selected lane by lane.

    Args:
      pred: boolean scalar; a number counts as whether it is not zero.
      true_fun: called with the operands when `pred` holds.
      false_fun: called with the operands when it does not.
      *operands: trees of arrays; may be left out when the functions take none.
      operand: a single operand, given by name.

    Returns:
      What the function returned. Both must return one structure, with equal shapes and dtypes; a
      Python number adapts to the other function's dtype.

    Raises:
      TypeError: `pred` is not a scalar, a function is not callable, or the results differ in
        structure or types.

    Example:
      >>> from tans_lax import neg, square
      >>> int(cond(True, square, neg, 4))
      16
    """
    if operand is not _ABSENT:
        if operands:
            raise TypeError(
                message(
                    "cond",
                    "operands by position and operand= by name",
                    "one of the two",
                    "Pass all operands by position.",
                )
            )
        operands = (operand,)
    old_form = len(operands) == 2 and callable(false_fun) and callable(operands[1])
    if old_form and not callable(true_fun):
        return _cond_with_own_operands(pred, true_fun, false_fun, *operands)
    check_callable(true_fun, "cond", "true_fun")
    check_callable(false_fun, "cond", "false_fun")
    _check_scalar("cond", "pred", pred)
    if disable_jit.value and not _is_traced(pred):
        return true_fun(*operands) if pred else false_fun(*operands)
    names = ("false_fun", "true_fun")
    return run_branch("cond", names, _branch_of(pred), (false_fun, true_fun), operands)


def _cond_with_own_operands(
    pred: Value, true_operand: Operand, true_fun: Call, false_operand: Operand, false_fun: Call
) -> Result:
    """Run a cond in its old form, where each function has an operand of its own."""
    return cond(
        pred,
        lambda t, f: true_fun(t),
        lambda t, f: false_fun(f),
        true_operand,
        false_operand,
    )


def switch(
    index: Value,
    branches: Sequence[Callable[..., Result]],
    *operands: Operand,
    operand: Operand = _ABSENT,
) -> Result:
    """Run one of several functions.

    Means the same as::

        def switch(index, branches, *operands):
            return branches[min(max(index, 0), len(branches) - 1)](*operands)

    but all functions are traced, and `index` may be computed by the program; see `cond`.

    Args:
      index: integer scalar; out of range it is clamped to the first or last function.
      branches: functions of the operands, at least one.
      *operands: trees of arrays.
      operand: a single operand, given by name.

    Returns:
      What the chosen function returned; all must return one structure and equal types.

    Raises:
      TypeError: `index` is not an integer scalar, a branch is not callable, or the results differ.
      ValueError: there are no branches.

    Example:
      >>> from tans_lax import neg, square
      >>> int(switch(1, [neg, square, lambda x: x], 5))
      25
    """
    if operand is not _ABSENT:
        operands = (*operands, operand)
    branches = tuple(branches)
    for i, branch in enumerate(branches):
        check_callable(branch, "switch", f"branches[{i}]")
    if not branches:
        raise ValueError(
            message("switch", "no branches", "at least one", "Pass a list of functions.")
        )
    _check_scalar("switch", "index", index)
    aval: Any = typeof(index)
    if getattr(aval.dtype, "kind", "") not in "iu":
        raise TypeError(
            message(
                "switch",
                f"index of type {shown(aval)}",
                "an integer",
                "Convert it with .astype(int); to choose by a boolean use cond.",
            )
        )
    if len(branches) == 1:
        return branches[0](*operands)
    if disable_jit.value and not _is_traced(index):
        return branches[min(max(int(index), 0), len(branches) - 1)](*operands)
    names = tuple(f"branches[{i}]" for i in range(len(branches)))
    return run_branch("switch", names, _clamped(index, len(branches)), branches, operands)


def run_branch(
    where: str,
    names: Sequence[str],
    index: Value,
    functions: Sequence[Call],
    operands: Sequence[Operand],
) -> Result:
    """Run the function at place `index`, an int32 in range; `names` are for messages."""
    leaves, in_tree = flatten_carry(where, "operands", tuple(operands))
    avals = [typeof(x) for x in leaves]
    check_refs(functions[0], in_tree, leaves, where)
    bodies = [trace_body(f, in_tree, avals, where) for f in functions]
    for f, body in zip(functions, bodies, strict=True):
        check_refs(f, in_tree, leaves, where, body.consts)
    jaxprs, consts, out_tree = join_branches(where, names, functions, bodies)
    outs = cond_p.bind(index, *consts, *leaves, branches=jaxprs)
    return tree.unflatten(out_tree, outs)


def _is_traced(x: Value) -> bool:
    return isinstance(x, Tracer) and x.concrete() is None


def _check_scalar(where: str, name: str, x: Value) -> None:
    shape = getattr(typeof(x), "shape", None) if is_value(x) else None
    if shape == ():
        return
    given = shown(typeof(x)) if is_value(x) else f"{x!r} of type {type(x).__name__}"
    raise TypeError(
        message(
            where,
            f"{name} = {given}",
            "a scalar",
            "Reduce an array with jnp.any or jnp.all; to choose element by element use jnp.where.",
        )
    )


def _branch_of(pred: Value) -> Value:
    """Return the index of the branch for a predicate: 0 or 1, as int32."""
    if isinstance(pred, bool | int | float | complex | np.generic):
        return np.int32(bool(pred))
    aval: Any = typeof(pred)
    if aval.dtype != np.bool_:
        pred = ne(pred, np.zeros((), aval.dtype)[()])
    return convert_element_type(pred, np.int32)


def _clamped(index: Value, count: int) -> Value:
    """Return the index clamped to the range, as int32."""
    if isinstance(index, int | np.generic):
        return np.int32(min(max(int(index), 0), count - 1))
    dtype = typeof(index).dtype  # pyright: ignore[reportAttributeAccessIssue]
    if dtype.itemsize < 4:  # the count may not fit
        index, dtype = convert_element_type(index, np.int32), np.dtype(np.int32)
    index = clamp(dtype.type(0), index, dtype.type(count - 1))
    return index if dtype == np.int32 else convert_element_type(index, np.int32)
