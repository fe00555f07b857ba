"""Iterative solvers of linear systems: conjugate gradients, BiCGSTAB and GMRES.

Operators and right-hand sides may be pytrees. The derivative of a solution is that of the exact
one: the solve with the transposed operator, by the same method.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import tans_lax as lax
import tans_numpy as jnp
from tans_autodiff import custom_linear_solve
from tans_core import tree, typeof
from tans_scipy.sparse.krylov import Operator, Vector, batched, dot, incremental, norm

__all__ = ("bicgstab", "cg", "gmres")


def _axpy(scale: Any, x: Vector, y: Vector) -> Vector:
    return tree.map(lambda a, b: scale * a + b, x, y)


def _minus(x: Vector, y: Vector) -> Vector:
    return tree.map(jnp.subtract, x, y)


def _as_operator(name: str, A: Any) -> Operator:
    if callable(A):
        return A
    dims = typeof(A).shape
    if len(dims) != 2 or dims[0] != dims[1]:
        raise ValueError(
            f"{name}: given a matrix of shape {dims}, expected a square one, or a function."
        )
    return partial(jnp.matmul, A, precision=lax.Precision.HIGHEST)


def _solve(
    name: str,
    method: Callable[..., Vector],
    A: Any,
    b: Vector,
    x0: Vector | None,
    M: Any,
    *,
    symmetric: bool,
) -> tuple[Vector, None]:
    b = tree.map(lambda v: jnp.asarray(v) * 1.0 if typeof(v).dtype.kind in "biu" else v, b)
    x0 = tree.map(jnp.zeros_like, b) if x0 is None else x0
    if tree.structure(x0) != tree.structure(b):
        raise ValueError(
            f"{name}: given x0 of structure {tree.structure(x0)} and b of structure "
            f"{tree.structure(b)}, expected one structure."
        )
    shapes = [tree.map(lambda v: typeof(v).shape, v) for v in (x0, b)]
    if shapes[0] != shapes[1]:
        raise ValueError(f"{name}: given x0 of shapes {shapes[0]} and b of shapes {shapes[1]}.")
    apply = _as_operator(name, A)
    precondition: Operator = (lambda v: v) if M is None else _as_operator(name, M)

    def solve(matvec: Operator, rhs: Vector) -> Vector:
        return method(matvec, rhs, x0, precondition)

    def transposed(matvec: Operator, rhs: Vector) -> Vector:
        return method(matvec, rhs, tree.map(jnp.zeros_like, rhs), precondition)

    solution = custom_linear_solve(
        apply, b, solve=solve, transpose_solve=transposed, symmetric=symmetric
    )
    return solution, None


def _limit(b: Vector, maxiter: int | None) -> int:
    return 10 * sum(typeof(v).size for v in tree.leaves(b)) if maxiter is None else maxiter


def cg(
    A: Any,
    b: Vector,
    x0: Vector | None = None,
    *,
    tol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Any = None,
) -> tuple[Vector, None]:
    """Solve ``A x = b`` by conjugate gradients.

    Args:
      A: positive definite Hermitian matrix [n, n], or function of a pytree like `b`.
      b: pytree of arrays.
      x0: first guess; zeros if None.
      tol, atol: stop where the residual's norm is at most ``max(tol * norm(b), atol)``.
      maxiter: steps at most; 10 times the size of `b` if None.
      M: approximate inverse of `A`, matrix or function.

    Returns:
      The solution, and None.

    Raises:
      ValueError: shapes or structures that do not fit.

    Example:
      >>> cg(jnp.diag(jnp.array([1.0, 2.0])), jnp.array([1.0, 4.0]))[0].tolist()
      [1.0, 2.0]

    References:
      Hestenes and Stiefel, "Methods of conjugate gradients for solving linear systems", 1952.
    """
    steps = _limit(b, maxiter)

    def method(matvec: Operator, rhs: Vector, x: Vector, M: Operator) -> Vector:
        bound = jnp.maximum(tol * norm(rhs), atol)

        def unfinished(state: tuple) -> Any:
            _, r, _, _, k = state
            return (norm(r) > bound) & (k < steps)

        def step(state: tuple) -> tuple:
            x, r, gamma, p, k = state
            Ap = matvec(p)
            alpha = gamma / jnp.real(dot(p, Ap)).astype(gamma.dtype)
            x, r = _axpy(alpha, p, x), _axpy(-alpha, Ap, r)
            z = M(r)
            new = jnp.real(dot(r, z)).astype(gamma.dtype)
            return x, r, new, _axpy(new / gamma, p, z), k + 1

        r = _minus(rhs, matvec(x))
        z = M(r)
        start = (x, r, jnp.real(dot(r, z)), z, 0)
        return lax.while_loop(unfinished, step, start)[0]

    return _solve("cg", method, A, b, x0, M, symmetric=True)


def bicgstab(
    A: Any,
    b: Vector,
    x0: Vector | None = None,
    *,
    tol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Any = None,
) -> tuple[Vector, None]:
    """Solve ``A x = b`` by the stabilised biconjugate gradient method.

    Args:
      A: matrix [n, n], or function of a pytree like `b`.
      b, x0, tol, atol, maxiter, M: see `cg`.

    Returns:
      The solution, and None.

    Raises:
      ValueError: shapes or structures that do not fit.

    References:
      van der Vorst, "Bi-CGSTAB: a fast and smoothly converging variant of Bi-CG", 1992.
    """
    steps = _limit(b, maxiter)

    def method(matvec: Operator, rhs: Vector, x: Vector, M: Operator) -> Vector:
        bound = jnp.maximum(tol * norm(rhs), atol)
        r0 = _minus(rhs, matvec(x))

        def unfinished(state: tuple) -> Any:
            _, r, *_, k = state
            return (norm(r) > bound) & (k < steps) & (k >= 0)

        def step(state: tuple) -> tuple:
            x, r, alpha, omega, rho, p, q, k = state
            new = dot(r0, r)
            beta = new / rho * alpha / omega
            p = _axpy(beta, _axpy(-omega, q, p), r)
            p_hat = M(p)
            q = matvec(p_hat)
            alpha = new / dot(r0, q)
            s = _axpy(-alpha, q, r)
            s_hat = M(s)
            t = matvec(s_hat)
            omega = dot(t, s) / dot(t, t)
            early = norm(s) <= bound  # the second half would divide by a vanishing norm
            omega = jnp.where(early, 0, omega)
            x = _axpy(alpha, p_hat, _axpy(omega, s_hat, x))
            r = tree.map(lambda a, c: a - omega * c, s, t)
            r = tree.map(lambda a, c: jnp.where(early, a, c), s, r)
            broken = (omega == 0) | (alpha == 0)
            return x, r, alpha, omega, new, p, q, jnp.where(broken & ~early, -1, k + 1)

        one = jnp.ones_like(dot(r0, r0))
        start = (x, r0, one, one, one, tree.map(jnp.zeros_like, r0),
                 tree.map(jnp.zeros_like, r0), 0)  # fmt: skip
        return lax.while_loop(unfinished, step, start)[0]

    return _solve("bicgstab", method, A, b, x0, M, symmetric=False)


def gmres(
    A: Any,
    b: Vector,
    x0: Vector | None = None,
    *,
    tol: float = 1e-5,
    atol: float = 0.0,
    restart: int = 20,
    maxiter: int | None = None,
    M: Any = None,
    solve_method: str = "batched",
) -> tuple[Vector, jnp.ndarray]:
    """Solve ``A x = b`` by the restarted generalised minimal residual method.

    Args:
      A: matrix [n, n], or function of a pytree like `b`.
      b, x0, tol, atol, M: see `cg`.
      restart: size of the Krylov space that is built before a restart.
      maxiter: restarts at most; 10 times the size of `b` if None.
      solve_method: "batched" builds the whole space at each restart; "incremental" stops where the
        residual is small enough, and applies `A` less often.

    Returns:
      The solution, and 0, or -1 if it or `b` holds nan.

    Raises:
      ValueError: unknown `solve_method`; shapes or structures that do not fit.

    References:
      Saad and Schultz, "GMRES: a generalized minimal residual algorithm", 1986.
    """
    corrections = {"batched": batched, "incremental": incremental}
    if solve_method not in corrections:
        raise ValueError(
            f"gmres: given solve_method={solve_method!r}, expected 'batched' or 'incremental'. "
            "Leave it out."
        )
    correction = corrections[solve_method]
    size = sum(typeof(v).size for v in tree.leaves(b))
    space, steps = min(restart, size), _limit(b, maxiter)

    def method(matvec: Operator, rhs: Vector, x: Vector, M: Operator) -> Vector:
        bound = jnp.maximum(tol * norm(M(rhs)), atol)

        def residual(x: Vector) -> Vector:
            return M(_minus(rhs, matvec(x)))

        def unfinished(state: tuple) -> Any:
            _, r, k = state
            return (norm(r) > bound) & (k < steps)

        def step(state: tuple) -> tuple:
            x, r, k = state
            x = tree.map(jnp.add, x, correction(lambda v: M(matvec(v)), r, space, bound))
            return x, residual(x), k + 1

        return lax.while_loop(unfinished, step, (x, residual(x), 0))[0]

    x, _ = _solve("gmres", method, A, b, x0, M, symmetric=False)
    failed = [jnp.isnan(v).any() for v in tree.leaves((x, b))]
    return x, jnp.where(jnp.any(jnp.array(failed)), -1, 0)
