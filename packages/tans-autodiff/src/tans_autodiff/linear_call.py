"""`linear_call`: a linear function whose transpose is given."""

from collections.abc import Callable
from typing import Any

from tans_autodiff.arguments import type_of_leaf
from tans_autodiff.linear_maps import linear_call_p
from tans_autodiff.recording import Recorded, record
from tans_autodiff.results import as_array
from tans_core import tree
from tans_core.errors import message
from tans_core.jaxpr import ClosedJaxpr, Jaxpr, Var
from tans_core.types import same_but_weak
from tans_core.values import typeof
from tans_xla.jit.signature import check_callable

type Pytree = Any
type Function = Callable[[Pytree, Pytree], Pytree]


def linear_call(
    fun: Function, fun_transpose: Function, residual_args: Pytree, linear_args: Pytree
) -> Pytree:
    """Call a function that is linear in its second argument, and say what its transpose is.

    Args:
      fun: ``fun(residual_args, linear_args)`` returns a pytree of arrays; it must be linear in
        `linear_args`, which is not checked.
      fun_transpose: ``fun_transpose(residual_args, ct)`` maps a cotangent of the output to one of
        `linear_args`, with its structure and types.
      residual_args: pytree of arrays of any shapes that the function depends on in any way.
      linear_args: pytree of arrays of any shapes.

    Returns:
      What `fun` returns.

    Raises:
      TypeError: a function is not callable, or `fun_transpose` returns another structure or other
        types than those of `linear_args`.

    Example:
      >>> import tans_lax as lax
      >>> from tans_autodiff import linear_transpose
      >>> def scaled(x):
      ...     return linear_call(
      ...         lambda r, x: lax.div(x, r), lambda r, ct: lax.div(ct, r), 4.0, x
      ...     )
      >>> float(linear_transpose(scaled, 1.0)(2.0)[0])
      0.5
    """
    check_callable("linear_call", fun)
    check_callable("linear_call", fun_transpose)
    residuals, res_tree = tree.flatten(residual_args)
    linear, linear_tree = tree.flatten(linear_args)
    res_avals = [type_of_leaf("linear_call", x) for x in residuals]
    avals = [type_of_leaf("linear_call", x) for x in linear]
    forward = record(fun, tree.structure((residual_args, linear_args)), [*res_avals, *avals])
    ct_avals = [aval.to_cotangent() for aval in forward.closed.out_avals]
    pair_tree = _pair_structure(res_tree, forward.out_tree)
    backward = record(fun_transpose, pair_tree, [*res_avals, *ct_avals])
    _check_transpose(backward, linear_tree, avals)
    first, second = len(forward.captured), len(backward.captured)
    count = len(residuals)
    outs = linear_call_p.bind(
        *forward.captured,
        *backward.captured,
        *map(as_array, residuals),
        *map(as_array, linear),
        jaxpr=_with_extra_inputs(forward.closed, first, backward.captured),
        transpose=_with_extra_inputs(backward.closed, 0, forward.captured),
        num_res=first + second + count,
    )
    return forward.out_tree.unflatten(outs)


def _pair_structure(first: Any, second: Any) -> Any:
    return tree.structure(
        (first.unflatten([0] * first.num_leaves), second.unflatten([0] * second.num_leaves))
    )


def _with_extra_inputs(closed: ClosedJaxpr, at: int, values: list[Any]) -> ClosedJaxpr:
    """Give a program inputs that it ignores, so that both programs take the same residuals."""
    if not values:
        return closed
    j = closed.jaxpr
    invars = [*j.invars[:at], *(Var(typeof(x)) for x in values), *j.invars[at:]]
    new = Jaxpr(j.constvars, invars, j.outvars, j.eqns, j.effects, j.debug_info)
    return ClosedJaxpr(new, closed.consts)


def _check_transpose(backward: Recorded, linear_tree: Any, avals: list[Any]) -> None:
    if backward.out_tree != linear_tree:
        raise TypeError(
            message(
                "linear_call",
                f"fun_transpose with output pytree structure {backward.out_tree}",
                f"that of linear_args, {linear_tree}",
                "Return one cotangent per linear argument, in the same containers.",
            )
        )
    for i, (given, aval) in enumerate(zip(backward.closed.out_avals, avals, strict=True)):
        if not same_but_weak(given, aval.to_cotangent()):
            raise TypeError(
                message(
                    "linear_call",
                    f"fun_transpose, whose output {i} has type {given.str_short(False)}",
                    aval.to_cotangent().str_short(False),
                    "Give each cotangent the type of its linear argument.",
                )
            )
