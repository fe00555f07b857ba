"""`custom_linear_solve`: the solution of a linear system by any method, with derivatives."""

from collections.abc import Callable, Sequence
from typing import Any

from tans_autodiff.arguments import type_of_leaf
from tans_autodiff.linear_maps import custom_linear_solve_p
from tans_autodiff.linear_transpose import linear_transpose
from tans_autodiff.recording import Recorded, record
from tans_autodiff.results import as_array
from tans_core import tree
from tans_core.errors import message
from tans_core.types import AbstractValue
from tans_xla.jit.signature import check_callable

type Pytree = Any
type LinearFunction = Callable[[Pytree], Pytree]
type Solver = Callable[[LinearFunction, Pytree], Pytree]


def custom_linear_solve(
    matvec: LinearFunction,
    b: Pytree,
    solve: Solver,
    transpose_solve: Solver | None = None,
    symmetric: bool = False,
    has_aux: bool = False,
) -> Pytree:
    """Solve ``matvec(x) = b``; derivatives solve again instead of differentiating the method.

    Args:
      matvec: linear; takes and returns pytrees like `b`. What it captures may be differentiated.
      b: right-hand side, a pytree of inexact arrays of any shapes.
      solve: ``solve(matvec, b)`` returns the solution, a pytree like `b`; with `has_aux`, a pair
        of it and any pytree of arrays. It is not differentiated, so it may loop until it converges.
      transpose_solve: ``transpose_solve(vecmat, b)`` solves the transposed system; needed in
        reverse mode.
      symmetric: whether the map equals its transpose, so that `solve` serves for both.
      has_aux: whether the solvers return ``(x, aux)``.

    Returns:
      The solution, or ``(x, aux)``.

    Raises:
      TypeError: a function is not callable; in reverse mode, there is no `transpose_solve`.
      ValueError: `matvec` or a solver returns other shapes or another structure than those of `b`.

    Example:
      >>> import tans_lax as lax
      >>> from tans_autodiff import grad
      >>> def halved(b):
      ...     return custom_linear_solve(
      ...         lambda x: lax.mul(2.0, x), b, lambda _, b: lax.div(b, 2.0), symmetric=True
      ...     )
      >>> float(grad(halved)(3.0))
      0.5
    """
    for name, fun in (("matvec", matvec), ("solve", solve)):
        check_callable(f"custom_linear_solve ({name})", fun)
    leaves, b_tree = tree.flatten(b)
    leaves = [as_array(x) for x in leaves]
    avals = [type_of_leaf("custom_linear_solve", x) for x in leaves]
    in_tree = tree.structure((b,))
    forward = record(matvec, in_tree, avals)
    _check("matvec", forward, b_tree, avals)

    def solved(method: Solver, name: str, apply: LinearFunction) -> Recorded:
        found = record(lambda b: _parts(name, method(apply, b), has_aux), in_tree, avals)
        count = len(avals)
        shown = Recorded(found.closed, found.captured, found.out_tree.children()[0])
        _check(name, shown, b_tree, avals, count)
        return found

    main = solved(solve, "solve", matvec)
    other = None
    if transpose_solve is not None or symmetric:
        apply = matvec if symmetric else lambda x: linear_transpose(matvec, b)(x)[0]
        other = solved(transpose_solve or solve, "transpose_solve", apply)
    outs = custom_linear_solve_p.bind(
        *forward.captured,
        *main.captured,
        *(other.captured if other else ()),
        *leaves,
        matvec=forward.closed,
        solve=main.closed,
        transpose_solve=other.closed if other else None,
        lengths=(len(forward.captured), len(main.captured), len(other.captured) if other else 0),
    )
    x, aux = main.out_tree.unflatten(outs)
    return (x, aux) if has_aux else x


def _parts(name: str, result: Pytree, has_aux: bool) -> tuple[Pytree, Pytree]:
    if not has_aux:
        return result, ()
    if isinstance(result, tuple | list) and len(result) == 2:
        return result[0], result[1]
    raise ValueError(
        message(
            "custom_linear_solve",
            f"{name} returning {type(result).__name__} with has_aux=True",
            "a pair (x, aux)",
            "Return the solution and the extra values as a tuple of two.",
        )
    )


def _check(
    name: str,
    found: Recorded,
    b_tree: Any,
    avals: Sequence[AbstractValue],
    count: int | None = None,
) -> None:
    given = found.closed.out_avals[:count]
    shapes = [aval.shape for aval in avals]  # pyright: ignore[reportAttributeAccessIssue]
    if found.out_tree == b_tree and [a.shape for a in given] == shapes:  # pyright: ignore[reportAttributeAccessIssue]
        return
    raise ValueError(
        message(
            "custom_linear_solve",
            f"{name}() output {found.out_tree} of types "
            f"{', '.join(a.str_short(False) for a in given)}",
            f"output structure and shapes that match b: {b_tree} of types "
            f"{', '.join(a.str_short(False) for a in avals)}",
            "The map must be square; return a pytree like b.",
        )
    )
