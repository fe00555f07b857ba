"""`fori_loop`: a loop over a range of integers; a `scan` when the range is known."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tans_core import promotion, tree
from tans_core.config import disable_jit
from tans_core.errors import message
from tans_core.trace import Tracer
from tans_core.types import AbstractValue
from tans_core.values import typeof
from tans_lax.control_flow.carry import (
    check_carry_structure,
    check_carry_types,
    flatten_carry,
    settle_carry,
    shown,
)
from tans_lax.control_flow.functions import (
    Body,
    Call,
    TreeDef,
    Value,
    check_callable,
    trace_body,
)
from tans_lax.control_flow.scan import scan_leaves, steps_per_iteration
from tans_lax.control_flow.while_loop import while_p
from tans_lax.conversion import convert_element_type
from tans_lax.elementwise.arithmetic import add
from tans_lax.elementwise.comparison import lt
from tans_lax.sizes import size_value
from tans_xla.sizes import Size, as_size, is_symbolic, max_size

type Carry = Any


def fori_loop(
    lower: Any,
    upper: Any,
    body_fun: Callable[[Any, Carry], Carry],
    init_val: Carry,
    *,
    unroll: int | bool | None = None,
) -> Carry:
    """Apply a function to a carry for each integer from `lower` up to, not including, `upper`.

    Means the same as::

        def fori_loop(lower, upper, body_fun, init_val):
            carry = init_val
            for i in range(lower, upper):
                carry = body_fun(i, carry)
            return carry

    With concrete bounds, or those that are symbolic sizes, the loop is a `scan` and has both
    derivatives; with traced bounds it is a `while_loop` and has only the forward one.

    Args:
      lower: first integer, a scalar.
      upper: end of the range, a scalar of the same dtype (Python ints adapt).
      body_fun: ``body_fun(i, carry)`` returns a carry of its argument's structure and types.
      init_val: initial carry, any tree of arrays.
      unroll: as for `scan`; needs concrete bounds.

    Returns:
      The final carry; `init_val` when the range is empty.

    Raises:
      TypeError: the bounds are not integer scalars of one dtype; otherwise as `while_loop`.
      ValueError: `unroll` is given and a bound is traced.

    Example:
      >>> from tans_lax import add
      >>> int(fori_loop(0, 5, lambda i, total: add(total, i), 0))
      10
    """
    check_callable(body_fun, "fori_loop", "body_fun")
    dtype, weak = _bound_dtype(lower, upper)
    first, end = _concrete(lower), _concrete(upper)
    if disable_jit.value and first is not None and end is not None:
        return _fori_in_python(first, end, body_fun, init_val)
    init, init_tree = flatten_carry("fori_loop", "init_val", init_val)
    start = _bound(lower, first, dtype, weak)
    if first is not None and end is not None:
        return _static_fori(start, max_size(end - first, 0), body_fun, init, init_tree, unroll)
    if unroll is not None:
        raise ValueError(
            message(
                "fori_loop",
                f"unroll={unroll!r} with a traced bound",
                "concrete bounds, because the number of steps must be known",
                "Pass Python ints as lower and upper, or leave unroll out.",
            )
        )
    return _dynamic_fori(start, _bound(upper, end, dtype, weak), body_fun, init, init_tree)


def _fori_in_python(first: int, end: int, body_fun: Call, carry: Carry) -> Carry:
    for i in range(first, end):
        carry = body_fun(i, carry)
    return carry


def _static_fori(
    start: Value,
    length: Size,
    body_fun: Call,
    init: list[Value],
    init_tree: TreeDef,
    unroll: int | bool | None,
) -> Carry:
    carry_tree = tree.structure((0, tree.unflatten(init_tree, init)))
    nothing = tree.structure(None)
    (_, *carry), _, _ = scan_leaves(
        body_fun, [start, *init], carry_tree, [], nothing, length, False,
        steps_per_iteration(unroll or False, length), False,
        where="fori_loop", name="(i, init_val)", call=_call_fori_step,
    )  # fmt: skip
    return tree.unflatten(init_tree, carry)


def _call_fori_step(body_fun: Call, carry: tuple[Value, Carry], x: None) -> Any:
    del x
    i, value = carry
    return (add(i, 1), body_fun(i, value)), None


def _dynamic_fori(
    start: Value, end: Value, body_fun: Call, init: list[Value], init_tree: TreeDef
) -> Carry:
    carry_tree = tree.structure((0, 0, tree.unflatten(init_tree, init)))
    in_tree = tree.structure(((0, 0, tree.unflatten(init_tree, init)),))

    def trace(avals: list[AbstractValue]) -> tuple[Body, Sequence[AbstractValue]]:
        body = trace_body(body_fun, in_tree, avals, "fori_loop", _call_while_step)
        check_carry_structure(
            "fori_loop", body_fun, "(i, upper, init_val)", carry_tree, body.out_tree
        )
        return body, body.jaxpr.out_avals

    body, carry = settle_carry([start, end, *init], trace)
    avals = list(body.jaxpr.in_avals[len(body.consts) :])
    check_carry_types(
        "fori_loop", body_fun, "(i, upper, init_val)", carry_tree, avals, body.jaxpr.out_avals
    )
    cond = trace_body(_is_before_end, in_tree, avals, "fori_loop")
    outs = while_p.bind(
        *body.consts, *carry,
        cond_nconsts=0, cond_jaxpr=cond.jaxpr,
        body_nconsts=len(body.consts), body_jaxpr=body.jaxpr,
    )  # fmt: skip
    return tree.unflatten(init_tree, outs[2:])


def _call_while_step(body_fun: Call, carry: tuple[Value, Value, Carry]) -> Any:
    i, end, value = carry
    return add(i, 1), end, body_fun(i, value)


def _is_before_end(carry: tuple[Value, Value, Carry]) -> Value:
    return lt(carry[0], carry[1])


def _concrete(x: Any) -> Size | None:
    if isinstance(x, Tracer):
        x = x.concrete()
    return None if x is None else as_size(x)


def _bound(x: Any, value: Size | None, dtype: Any, weak: bool) -> Value:
    """Return a bound with the common dtype: a Python int when it is weak and concrete."""
    if is_symbolic(value):
        return value.__jax_array__() if weak else size_value(value, dtype)
    if value is not None:
        info = np.iinfo(dtype)
        if not info.min <= value <= info.max:
            raise OverflowError(
                message(
                    "fori_loop",
                    f"the bound {value}",
                    f"a value that {np.dtype(dtype).name} can hold",
                    "Enable 64-bit types, or shift the range.",
                )
            )
        return value if weak else np.dtype(dtype).type(value)
    return x if typeof(x).dtype == dtype else convert_element_type(x, dtype)  # pyright: ignore[reportAttributeAccessIssue]


def _bound_dtype(lower: Any, upper: Any) -> tuple[Any, bool]:
    avals = []
    for name, x in (("lower", lower), ("upper", upper)):
        aval: Any = typeof(x)
        if aval.shape != () or aval.dtype.kind not in "iu":
            raise TypeError(
                message(
                    "fori_loop",
                    f"{name} of type {shown(aval)}",
                    "an integer scalar",
                    "Pass Python ints, or an array of shape () with .astype(int).",
                )
            )
        avals.append(aval)
    first, second = avals
    weak = first.weak_type and second.weak_type
    if first.dtype == second.dtype:
        return first.dtype, weak
    if first.weak_type or second.weak_type:
        return promotion.result_type(first, second), weak
    raise TypeError(
        message(
            "fori_loop",
            f"lower of type {shown(first)} and upper of type {shown(second)}",
            "two bounds of one dtype",
            f"Convert one: lower.astype({str(second.dtype)!r}).",
        )
    )
