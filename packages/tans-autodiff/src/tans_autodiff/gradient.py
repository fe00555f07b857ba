"""`grad` and `value_and_grad`: reverse mode for functions with a scalar result."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tans_autodiff.arguments import (
    Argnums,
    canonical_argnums,
    check_grad_input,
    check_grad_output,
    check_pair,
    check_reduce_axes,
    flatten_arguments,
    positions,
    put,
    type_of_leaf,
)
from tans_autodiff.jvp import Value, has_tangent
from tans_autodiff.linearize import open_linearization
from tans_autodiff.results import as_array, cotangent_result
from tans_autodiff.transpose import evaluate_known, pull_back
from tans_core import tree
from tans_core.errors import message
from tans_core.jaxpr import Var
from tans_core.staging import JaxprTracer
from tans_core.state import transformed_names
from tans_core.tracebacks import api_boundary
from tans_core.types import AbstractValue
from tans_core.values import is_value, typeof
from tans_lax.collectives.seeds import seed_with_states
from tans_lax.mesh import reshard_seed
from tans_xla.jit.signature import check_callable
from tans_xla.wide_arrays import fitting

type Function = Callable[..., Any]


def grad(
    fun: Function,
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Any] = (),
) -> Function:
    """Return a function that computes the gradient of a scalar function.

    For a complex input z = x + iy and a real result L the gradient is dL/dx - i dL/dy, the
    conjugate of the direction of steepest ascent.

    Args:
      fun: takes arrays (or pytrees of them) of any shape and returns a scalar of shape () with a
        real floating dtype; with `has_aux`, a pair of the scalar and any pytree.
      argnums: position or positions of the arguments to differentiate; may be negative. Keyword
        arguments are passed on and not differentiated.
      has_aux: whether `fun` returns ``(output, aux)``.
      holomorphic: promise that `fun` is holomorphic; inputs and output are then complex.
      allow_int: accept integer inputs; their gradient is a float0 array.
      reduce_axes: deprecated; leave empty.

    Returns:
      A function with the arguments of `fun`. It returns the gradient, which has the structure,
      shapes and dtypes of the argument: one for an int `argnums`, a tuple for a sequence. With
      `has_aux` it returns ``(gradient, aux)``.

    Raises:
      TypeError: `fun` is not callable; the output is not a real scalar; an input is not inexact;
        too few positional arguments.

    Example:
      >>> import tans_lax as lax
      >>> round(float(grad(lax.tanh)(1.0)), 5)
      0.41997
    """
    differentiate = _differentiator(
        "grad", fun, argnums, has_aux, holomorphic, allow_int, reduce_axes
    )
    if has_aux:

        @api_boundary
        @functools.wraps(fun)
        def grad_with_aux(*args: Any, **kwargs: Any) -> Any:
            _, aux, gradient = differentiate(args, kwargs)
            return gradient, aux

        return grad_with_aux

    @api_boundary
    @functools.wraps(fun)
    def gradient_of(*args: Any, **kwargs: Any) -> Any:
        return differentiate(args, kwargs)[2]

    return gradient_of


def value_and_grad(
    fun: Function,
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Any] = (),
) -> Function:
    """Return a function that computes the value and the gradient of a scalar function.

    Args:
      fun: as for `grad`.
      argnums: as for `grad`.
      has_aux: as for `grad`.
      holomorphic: as for `grad`.
      allow_int: as for `grad`.
      reduce_axes: deprecated; leave empty.

    Returns:
      A function with the arguments of `fun` that returns ``(value, gradient)``, or
      ``((value, aux), gradient)`` with `has_aux`.

    Raises:
      TypeError: as for `grad`.

    Example:
      >>> import tans_lax as lax
      >>> value, slope = value_and_grad(lax.square)(3.0)
      >>> float(value), float(slope)
      (9.0, 6.0)
    """
    differentiate = _differentiator(
        "value_and_grad", fun, argnums, has_aux, holomorphic, allow_int, reduce_axes
    )

    @api_boundary
    @functools.wraps(fun)
    def value_and_gradient_of(*args: Any, **kwargs: Any) -> Any:
        value, aux, gradient = differentiate(args, kwargs)
        return ((value, aux) if has_aux else value), gradient

    return value_and_gradient_of


def _differentiator(
    name: str,
    fun: Function,
    argnums: Argnums,
    has_aux: bool,
    holomorphic: bool,
    allow_int: bool,
    reduce_axes: Sequence[Any],
) -> Callable[[tuple[Any, ...], dict[str, Any]], tuple[Value, Any, Any]]:
    check_callable(name, fun)
    check_reduce_axes(name, reduce_axes)
    nums = canonical_argnums(name, argnums)

    def differentiate(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Value, Any, Any]:
        where = positions(name, nums, len(args))
        selected = args[where[0]] if isinstance(nums, int) else tuple(args[i] for i in where)
        leaves, treedef = flatten_arguments(selected)
        avals = [type_of_leaf(name, x) for x in leaves]
        for aval in avals:
            check_grad_input(name, aval, holomorphic, allow_int)
        running = open_linearization(map(as_array, leaves), [has_tangent(a) for a in avals])
        running.trace.origin = name, fun
        with transformed_names("jvp"), running:
            inputs = treedef.unflatten(running.inputs)
            new_args = put(args, where, (inputs,) if isinstance(nums, int) else inputs)
            result = fun(*new_args, **kwargs)
            out, aux = check_pair(name, result) if has_aux else (result, None)
            aval = _check_scalar(name, out, running)
            check_grad_output(name, aval, holomorphic)
        cts = _gradients(running, out, aval)
        if has_aux:
            aux = tree.map(running.lower, aux)
        gradients = [cotangent_result(ct, a) for ct, a in zip(cts, avals, strict=True)]
        return as_array(running.lower(out)), aux, treedef.unflatten(gradients)

    return differentiate


def _check_scalar(name: str, out: Any, running: open_linearization) -> Any:
    if not is_value(out):
        shown = repr(tree.map(running.lower, out))
        raise TypeError(
            message(
                name,
                f"a function that returns the {type(out).__name__} {shown}",
                "one that returns a scalar array",
                "Return one number, or pass has_aux=True to return other values beside it.",
            )
        )
    aval: Any = typeof(out)
    shape = getattr(aval, "shape", None)
    if shape != ():
        remedy = "Sum the result (out.sum()), or ask for all its derivatives with jacobian."
        if getattr(aval, "size", 0) == 1:
            item = "out[0] or " if aval.ndim == 1 else ""
            remedy = f"Return {item}out.reshape(()), or ask for jacobian."
        raise TypeError(
            message(
                name,
                f"a function whose result has type {aval.str_short(False)}",
                "a single number, of shape ()",
                remedy,
            )
        )
    return aval


def _gradients(running: open_linearization, out: Value, aval: AbstractValue) -> list[Any]:
    split = running.trace.split
    sums: dict[Var, Value] = {}
    tangent = running.tangent(out)
    if type(tangent) is JaxprTracer and tangent._trace is split:
        sums[tangent.atom] = _seed(aval)
        known = {var: fitting(x, var.aval) for var, x in split.constants.values()}
        eqns = evaluate_known(split.eqns, known) if split.holds_constants else split.eqns
        pull_back(eqns, known, sums)
    cts = [None if t is None else sums.get(t.atom) for t in running.tangents]
    running.trace.finish()
    return cts


def _seed(aval: Any) -> Any:
    """Return the cotangent of the result that is differentiated."""
    ct_aval = aval.to_cotangent()
    return seed_with_states(reshard_seed(one(aval), ct_aval), ct_aval)


@functools.lru_cache(maxsize=256)
def one(aval: Any) -> Any:
    """Return the scalar 1 of a type: the cotangent of the result that is differentiated."""
    if aval.weak_type:
        return 1 + 0j if np.issubdtype(aval.dtype, np.complexfloating) else 1.0
    return aval.dtype.type(1)
