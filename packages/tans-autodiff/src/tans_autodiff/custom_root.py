"""`custom_root`: the root of a function by any method, with derivatives of the root itself."""

from collections.abc import Callable
from typing import Any

from tans_autodiff.arguments import type_of_leaf
from tans_autodiff.custom_jvp import custom_jvp
from tans_autodiff.forward import jvp
from tans_autodiff.linear_solve import custom_linear_solve
from tans_autodiff.recording import record
from tans_autodiff.results import as_array
from tans_autodiff.symbolic_zero import zero_from_primal
from tans_core import tree
from tans_core.errors import message
from tans_core.jaxpr import eval_closed
from tans_lax.elementwise.arithmetic import neg
from tans_xla.jit.signature import check_callable

type Pytree = Any
type Function = Callable[[Pytree], Pytree]
type Solver = Callable[[Function, Pytree], Pytree]


def custom_root(
    f: Function,
    initial_guess: Pytree,
    solve: Solver,
    tangent_solve: Solver,
    has_aux: bool = False,
) -> Pytree:
    """Find a root of ``f(x) = 0``; derivatives come from the equation, not from the method.

    By the implicit function theorem the root of ``f(x, p)`` moves by the solution of the linear
    system ``df/dx x_dot = -df/dp p_dot``.

    Args:
      f: takes and returns pytrees like `initial_guess`. What it captures may be differentiated.
      initial_guess: pytree of inexact arrays of any shapes.
      solve: ``solve(f, initial_guess)`` returns the root; with `has_aux`, a pair of it and any
        pytree of arrays. It is not differentiated, so it may loop until it converges.
      tangent_solve: ``tangent_solve(g, y)`` solves ``g(x) = y`` for a linear function `g`.
      has_aux: whether `solve` returns ``(x, aux)``.

    Returns:
      The root, or ``(x, aux)``.

    Raises:
      TypeError: a function is not callable, or its result has another structure than
        `initial_guess`.

    Example:
      >>> import tans_lax as lax
      >>> from tans_autodiff import grad
      >>> def square_root(a):
      ...     return custom_root(
      ...         lambda x: lax.sub(lax.square(x), a),
      ...         1.0,
      ...         lambda f, _: lax.sqrt(lax.stop_gradient(a)),
      ...         lambda g, y: lax.div(y, g(1.0)),
      ...     )
      >>> float(grad(square_root)(4.0))
      0.25
    """
    for name, fun in (("f", f), ("solve", solve), ("tangent_solve", tangent_solve)):
        check_callable(f"custom_root ({name})", fun)
    guess, x_tree = tree.flatten(initial_guess)
    guess = [as_array(x) for x in guess]
    avals = [type_of_leaf("custom_root", x) for x in guess]
    in_tree = tree.structure((initial_guess,))
    equation = record(f, in_tree, avals)
    _check("f", equation.out_tree, x_tree)
    method = record(lambda x: solve(f, x), in_tree, avals)
    children = method.out_tree.children() if has_aux else [method.out_tree]
    if has_aux and len(children) != 2:
        raise _mismatch("solve", method.out_tree, f"a pair (x, aux) with x like {x_tree}")
    _check("solve", children[0], x_tree)
    count = len(avals)

    @custom_jvp
    def root(of_f: list[Any], of_solve: list[Any], x0: list[Any]) -> list[Any]:
        return eval_closed(method.closed, *of_solve, *x0)

    @root.defjvp
    def root_jvp(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> Any:
        outs = root(*primals)
        x = x_tree.unflatten(outs[:count])

        def residual(of_f: list[Any], x: Pytree) -> Pytree:
            return x_tree.unflatten(eval_closed(equation.closed, *of_f, *tree.leaves(x)))

        _, moved = jvp(lambda of_f: residual(of_f, x), (primals[0],), (tangents[0],))

        def slope(x_dot: Pytree) -> Pytree:
            return jvp(lambda x: residual(primals[0], x), (x,), (x_dot,))[1]

        def tangent(g: Function, y: Pytree) -> Pytree:
            found = tangent_solve(g, y)
            _check("tangent_solve", tree.structure(found), x_tree)
            return found

        x_dot = custom_linear_solve(slope, tree.map(neg, moved), tangent, tangent)
        zeros = [zero_from_primal(aux) for aux in outs[count:]]
        return outs, tree.leaves(x_dot) + zeros

    outs = root(equation.captured, method.captured, guess)
    return method.out_tree.unflatten(outs)


def _check(name: str, given: Any, x_tree: Any) -> None:
    if given != x_tree:
        raise _mismatch(name, given, f"that of initial_guess, {x_tree}")


def _mismatch(name: str, given: Any, expected: str) -> TypeError:
    return TypeError(
        message(
            "custom_root",
            f"{name}() output with pytree structure {given}",
            expected,
            "Return values in the containers of the initial guess.",
        )
    )
