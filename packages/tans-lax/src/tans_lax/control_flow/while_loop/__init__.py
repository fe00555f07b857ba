"""`while_loop`: a loop whose end the program decides."""

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from tans_core import tree
from tans_core.config import disable_jit
from tans_core.errors import ConcretizationTypeError, message
from tans_core.primitive import Primitive
from tans_core.types import AbstractValue
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
    check_refs,
    describe,
    trace_body,
)

type Carry = Any

while_p: Final = Primitive("while", family=__name__, multiple_results=True, call_like=True)


def while_loop(
    cond_fun: Callable[[Carry], Value], body_fun: Callable[[Carry], Carry], init_val: Carry
) -> Carry:
    """Apply a function to a carry for as long as a condition holds.

    Means the same as::

        def while_loop(cond_fun, body_fun, init_val):
            carry = init_val
            while cond_fun(carry):
                carry = body_fun(carry)
            return carry

    but both functions are traced once. There is a forward derivative (`jvp`, `jacfwd`,
    `linearize`) and no reverse one, because the number of steps is not known in advance; see
    `scan`, and `fori_loop` with bounds that are Python ints.

    Args:
      cond_fun: ``cond_fun(carry)`` is a boolean scalar.
      body_fun: returns a carry with the structure, shapes and dtypes of its argument. A weakly
        typed carry (a Python number) takes the dtype that the body returns for it.
      init_val: initial carry, any tree of arrays.

    Returns:
      The first carry for which the condition does not hold.

    Raises:
      TypeError: a function is not callable, the condition is not a boolean scalar, or the body
        changes the carry's structure or types.

    Example:
      >>> from tans_lax import lt, mul
      >>> int(while_loop(lambda n: lt(n, 100), lambda n: mul(n, 2), 3))
      192
    """
    check_callable(cond_fun, "while_loop", "cond_fun")
    check_callable(body_fun, "while_loop", "body_fun")
    if disable_jit.value:
        try:
            return _while_in_python(cond_fun, body_fun, init_val)
        except ConcretizationTypeError:
            pass  # the condition depends on a traced value: trace the loop
    init, init_tree = flatten_carry("while_loop", "init_val", init_val)
    outs = _while_leaves(cond_fun, body_fun, init, init_tree)
    return tree.unflatten(init_tree, outs)


def _while_in_python(cond_fun: Call, body_fun: Call, carry: Carry) -> Carry:
    while bool(cond_fun(carry)):
        carry = body_fun(carry)
    return carry


def _while_leaves(
    cond_fun: Call, body_fun: Call, init: Sequence[Value], init_tree: TreeDef
) -> list[Value]:
    in_tree = tree.structure((tree.unflatten(init_tree, init),))
    check_refs(body_fun, in_tree, init, "while_loop")

    def trace(avals: list[AbstractValue]) -> tuple[Body, Sequence[AbstractValue]]:
        body = trace_body(body_fun, in_tree, avals, "while_loop")
        check_carry_structure("while_loop", body_fun, "init_val", init_tree, body.out_tree)
        return body, body.jaxpr.out_avals

    body, init = settle_carry(init, trace)
    avals = list(body.jaxpr.in_avals[len(body.consts) :])
    check_carry_types("while_loop", body_fun, "init_val", init_tree, avals, body.jaxpr.out_avals)
    cond = trace_body(cond_fun, in_tree, avals, "while_loop")
    _check_condition(cond_fun, cond)
    return while_p.bind(
        *cond.consts,
        *body.consts,
        *init,
        cond_nconsts=len(cond.consts),
        cond_jaxpr=cond.jaxpr,
        body_nconsts=len(body.consts),
        body_jaxpr=body.jaxpr,
    )


def _check_condition(cond_fun: Call, cond: Body) -> None:
    avals = cond.jaxpr.out_avals
    is_leaf = cond.out_tree.num_nodes == 1 and cond.out_tree.num_leaves == 1
    if is_leaf and getattr(avals[0], "shape", None) == () and avals[0].dtype == np.bool_:  # pyright: ignore[reportAttributeAccessIssue]
        return
    given = shown(avals[0]) if is_leaf else f"a tree {cond.out_tree}"
    raise TypeError(
        message(
            "while_loop",
            f"a condition {describe(cond_fun)} that returns {given}",
            "bool[], one boolean",
            "Compare to get a boolean (x != 0), and reduce arrays with jnp.any or jnp.all.",
        )
    )
