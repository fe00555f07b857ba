"""Minimisation of smooth functions by BFGS."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import tans_lax as lax
import tans_numpy as jnp
from tans_autodiff import value_and_grad
from tans_core import typeof

__all__ = ("OptimizeResults", "minimize")

type Array = Any
type Objective = Callable[..., Array]

# Constants of the Wolfe conditions: sufficient decrease, and sufficient change of the slope.
_DECREASE = 1e-4
_CURVATURE = 0.9
_SEARCH_STEPS = 40


class OptimizeResults(NamedTuple):
    """What `minimize` returns.

    Attributes:
      x: [n], the point found.
      success: whether the gradient became small enough.
      status: 0 for success, 1 for too many iterations, 3 if no step brought progress.
      fun: value at `x`.
      jac: [n], gradient at `x`.
      hess_inv: [n, n], approximation of the inverse Hessian matrix.
      nfev: number of values computed.
      njev: number of gradients computed.
      nit: number of iterations.
    """

    x: Array
    success: bool | Array
    status: int | Array
    fun: Array
    jac: Array
    hess_inv: Array | None
    nfev: int | Array
    njev: int | Array
    nit: int | Array


def minimize(
    fun: Objective, x0: Array, args: tuple = (), *, method: str, tol: float | None = None,
    options: Mapping[str, Any] | None = None,
) -> OptimizeResults:  # fmt: skip
    """Minimise a function of a vector.

    Args:
      fun: ``fun(x, *args)``, a number; can be differentiated.
      x0: [n], where to start.
      args: further arguments of `fun`.
      method: "BFGS".
      tol: bound of the gradient; 1e-5 if None.
      options: "gtol" as `tol`, "norm" the order of the norm of the gradient (inf), "maxiter".

    Raises:
      ValueError: another method, or a start that is not a vector.
      TypeError: `args` is not a tuple, or an unknown option.

    Example:
      >>> out = minimize(lambda x: jnp.sum((x - 1) ** 2), jnp.zeros(2), method="BFGS")
      >>> out.x.round(3).tolist()
      [1.0, 1.0]

    References:
      Nocedal and Wright, "Numerical optimization", 2006, chapter 6; Lewis and Overton, "Nonsmooth
      optimization via quasi-Newton methods", 2013 (line search).
    """
    if not isinstance(args, tuple):
        raise TypeError(
            f"minimize: given args={args!r}, expected a tuple. Write args=(value,) for one."
        )
    if method.lower() != "bfgs":
        raise ValueError(f"minimize: given method={method!r}, expected 'BFGS'. Use that.")
    if typeof(x0).ndim != 1:
        raise ValueError(
            f"minimize: given a start of shape {typeof(x0).shape}, expected a vector. Use "
            "flatten_util.ravel_pytree for other structures."
        )
    given = {"gtol": 1e-5 if tol is None else tol, "norm": jnp.inf, "maxiter": None,
             **(options or {})}  # fmt: skip
    unknown = sorted(set(given) - {"gtol", "norm", "maxiter"})
    if unknown:
        raise TypeError(
            f"minimize: given the options {unknown}, expected 'gtol', 'norm' and 'maxiter'. Drop "
            "the others."
        )
    return _bfgs(lambda x: fun(x, *args), jnp.asarray(x0), **given)


class _State(NamedTuple):
    x: Array
    value: Array
    gradient: Array
    inverse: Array
    evaluations: Array
    iterations: Array
    failed: Array


def _bfgs(
    fun: Objective, x0: Array, *, gtol: Any, norm: Any, maxiter: int | None
) -> OptimizeResults:
    n = x0.shape[0]
    limit = 200 * n if maxiter is None else maxiter
    evaluate = value_and_grad(fun)
    value, gradient = evaluate(x0)
    start = _State(x0, value, gradient, jnp.eye(n, dtype=x0.dtype), jnp.asarray(1), jnp.asarray(0),
                   jnp.asarray(False))  # fmt: skip

    def is_small(state: _State) -> Array:
        return jnp.linalg.norm(state.gradient, ord=norm) < gtol

    def is_open(state: _State) -> Array:
        return ~is_small(state) & ~state.failed & (state.iterations < limit)

    end = lax.while_loop(is_open, lambda state: _iteration(evaluate, state), start)
    success = is_small(end)
    status = jnp.where(success, 0, jnp.where(end.failed, 3, 1))
    return OptimizeResults(
        end.x, success, status, end.value, end.gradient, end.inverse, end.evaluations,
        end.evaluations, end.iterations,
    )  # fmt: skip


def _iteration(evaluate: Objective, state: _State) -> _State:
    direction = -(state.inverse @ state.gradient)
    slope = direction @ state.gradient
    # An approximation that lost positive definiteness is dropped.
    is_descent = slope < 0
    direction = jnp.where(is_descent, direction, -state.gradient)
    slope = jnp.where(is_descent, slope, -(state.gradient @ state.gradient))
    search = _line_search(evaluate, state, direction, slope)
    step = search.length * direction
    change = search.gradient - state.gradient
    curvature = step @ change
    is_good = (curvature > 0) & search.found
    rho = jnp.where(is_good, 1 / jnp.where(is_good, curvature, 1), 0)
    left = jnp.eye(step.shape[0], dtype=step.dtype) - rho * jnp.outer(step, change)
    updated = left @ state.inverse @ left.T + rho * jnp.outer(step, step)
    return _State(
        jnp.where(search.found, state.x + step, state.x),
        jnp.where(search.found, search.value, state.value),
        jnp.where(search.found, search.gradient, state.gradient),
        jnp.where(is_good, updated, state.inverse),
        state.evaluations + search.steps,
        state.iterations + 1,
        ~search.found,
    )


class _Search(NamedTuple):
    lower: Array
    upper: Array
    length: Array
    value: Array
    gradient: Array
    steps: Array
    found: Array


def _line_search(evaluate: Objective, state: _State, direction: Array, slope: Array) -> _Search:
    """Find a step that meets the weak Wolfe conditions, by doubling and bisection."""
    dtype = state.x.dtype

    def is_open(search: _Search) -> Array:
        return ~search.found & (search.steps < _SEARCH_STEPS)

    def body(search: _Search) -> _Search:
        is_bounded = jnp.isfinite(search.upper)
        middle = 0.5 * (search.lower + jnp.where(is_bounded, search.upper, 0))
        longer = jnp.where(search.steps == 0, 1, 2 * search.lower)
        length = jnp.where(is_bounded, middle, longer).astype(dtype)
        value, gradient = evaluate(state.x + length * direction)
        is_long = ~(value <= state.value + _DECREASE * length * slope)
        is_short = ~is_long & (gradient @ direction < _CURVATURE * slope)
        return _Search(
            jnp.where(is_short, length, search.lower),
            jnp.where(is_long, length, search.upper),
            length, value, gradient, search.steps + 1, ~is_long & ~is_short,
        )  # fmt: skip

    start = _Search(
        jnp.zeros((), dtype), jnp.full((), jnp.inf, dtype), jnp.zeros((), dtype), state.value,
        state.gradient, jnp.asarray(0), jnp.asarray(False),
    )  # fmt: skip
    return lax.while_loop(is_open, body, start)
