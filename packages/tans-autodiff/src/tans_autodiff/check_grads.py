"""Checks of derivatives against differences, for tests of functions and rules."""

import functools
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from tans_autodiff.forward import jvp
from tans_autodiff.vjp import vjp
from tans_core import float0, tree, typeof
from tans_core.dtype_queries import issubdtype

__all__ = ("check_grads", "check_jvp", "check_vjp")

type Function = Callable[..., Any]
type Tolerance = float | None
type Pytree = Any

_EPS: Final = 1e-4
# Errors that a difference quotient with a good step has in each dtype.
_TOLERANCE: Final = {
    "float0": 0.0,
    "bfloat16": 1e-1,
    "float16": 1e-1,
    "float32": 1e-2,
    "float64": 2e-5,
    "complex64": 1e-2,
    "complex128": 2e-5,
}


def check_grads(
    f: Function, args: Sequence[Any], order: int, modes: Sequence[str] | str = ("fwd", "rev"),
    atol: Tolerance = None, rtol: Tolerance = None, eps: float | None = None,
) -> None:  # fmt: skip
    """Compare the derivatives of `f` up to an order with central differences.

    Directions are drawn at random, the same in each run.

    Args:
      f: takes and returns pytrees of arrays of any shapes.
      args: the arguments at which to check; float or complex leaves.
      order: highest order of derivatives, 1 or more.
      modes: "fwd", "rev" or both: how derivatives are taken.
      atol: allowed difference; depends on the dtype if None.
      rtol: allowed difference as a share of the value; depends on the dtype if None.
      eps: length of the step of differences.

    Raises:
      AssertionError: a derivative differs.
      ValueError: an unknown mode, or an order below 1.

    Example:
      >>> import tans_lax as lax
      >>> check_grads(lax.sin, (1.0,), order=2)
    """
    modes = (modes,) if isinstance(modes, str) else tuple(modes)
    if order < 1 or not modes or not set(modes) <= {"fwd", "rev"}:
        raise ValueError(
            f"check_grads: given order={order} and modes={modes}, expected an order of at least 1 "
            "and modes out of 'fwd' and 'rev'. Use order=2, modes=('fwd', 'rev')."
        )
    args = tuple(args)
    step = _EPS if eps is None else eps
    if "fwd" in modes:
        check_jvp(f, functools.partial(jvp, f), args, atol, rtol, step, "check_grads: jvp of f")
        if order > 1:
            check_grads(_pushforward(f, args), args, order - 1, modes, atol, rtol, eps)
    if "rev" in modes:
        check_vjp(f, functools.partial(vjp, f), args, atol, rtol, step, "check_grads: vjp of f")
        if order > 1:
            check_grads(_pullback(f, args), args, order - 1, modes, atol, rtol, eps)


def check_jvp(
    f: Function, f_jvp: Function, args: Sequence[Any], atol: Tolerance = None,
    rtol: Tolerance = None, eps: float = _EPS, err_msg: str = "",
) -> None:  # fmt: skip
    """Compare a forward-mode rule with central differences along one random direction.

    Args:
      f: takes and returns pytrees of arrays of any shapes.
      f_jvp: ``f_jvp(primals, tangents) -> (out, out_tangent)``.
      args: the arguments at which to check.
      atol: allowed difference; depends on the dtype if None.
      rtol: allowed difference as a share of the value; depends on the dtype if None.
      eps: length of the step.
      err_msg: put in front of the message.

    Raises:
      AssertionError: value or derivative differs.
    """
    args = tuple(args)
    tangents = _directions(args, seed=1)
    out, out_tangent = f_jvp(args, tangents)
    _compare(out, f(*args), atol, rtol, f"{err_msg} (value)")
    expected = _difference(f, args, tangents, eps)
    _compare(out_tangent, expected, atol, rtol, f"{err_msg} (derivative)")


def check_vjp(
    f: Function, f_vjp: Function, args: Sequence[Any], atol: Tolerance = None,
    rtol: Tolerance = None, eps: float = _EPS, err_msg: str = "",
) -> None:  # fmt: skip
    """Compare a reverse-mode rule with central differences, by the inner product of directions.

    Args:
      f: takes and returns pytrees of arrays of any shapes.
      f_vjp: ``f_vjp(*args) -> (out, pullback)``.
      args: the arguments at which to check.
      atol: allowed difference; depends on the dtype if None.
      rtol: allowed difference as a share of the value; depends on the dtype if None.
      eps: length of the step.
      err_msg: put in front of the message.

    Raises:
      AssertionError: value or derivative differs.
    """
    args = tuple(args)
    out, pullback = f_vjp(*args)
    _compare(out, f(*args), atol, rtol, f"{err_msg} (value)")
    tangents, cotangents = _directions(args, seed=2), _directions(out, seed=3)
    forward = _inner(cotangents, _difference(f, args, tangents, eps))
    backward = _inner(pullback(cotangents), tangents)
    dtype = min((typeof(x).dtype for x in tree.leaves((args, out)) if _is_inexact(x)),
                key=lambda d: np.finfo(d).precision if d.name in _PRECISE else 0,
                default=np.dtype("float32"))  # fmt: skip
    allowed = _TOLERANCE.get(dtype.name, 1e-2)
    np.testing.assert_allclose(
        backward,
        forward,
        atol=allowed if atol is None else atol,
        rtol=allowed if rtol is None else rtol,
        err_msg=f"{err_msg} (inner product)",
    )


_PRECISE: Final = frozenset(("float16", "float32", "float64", "complex64", "complex128"))


def _pushforward(f: Function, args: tuple[Any, ...]) -> Function:
    tangents = _directions(args, seed=4)
    return lambda *primals: jvp(f, primals, tangents)


def _pullback(f: Function, args: tuple[Any, ...]) -> Function:
    cotangents = _directions(f(*args), seed=5)

    def apply(*primals: Any) -> Any:
        out, pull = vjp(f, *primals)
        return out, pull(cotangents)

    return apply


def _is_inexact(x: Any) -> bool:
    return issubdtype(typeof(x).dtype, np.inexact)


def _directions(values: Pytree, seed: int) -> Pytree:
    """Return random numbers of the tangent types of `values`."""
    rng = np.random.default_rng(seed)

    def draw(x: Any) -> Any:
        aval = typeof(x)
        if not issubdtype(aval.dtype, np.inexact):
            return np.zeros(aval.shape, float0)
        numbers: Any = rng.normal(size=aval.shape)
        if issubdtype(aval.dtype, np.complexfloating):
            numbers = numbers + 1j * rng.normal(size=aval.shape)
        return np.asarray(numbers).astype(aval.dtype)

    return tree.map(draw, values)


def _wide(x: Any) -> np.ndarray:
    x = np.asarray(x)
    if x.dtype == float0:
        return np.zeros(x.shape)
    return x.astype(np.complex128 if np.iscomplexobj(x) else np.float64)


def _moved(x: Any, direction: Any, step: float) -> Any:
    if not _is_inexact(x):
        return x
    moved = _wide(x) + step * _wide(direction)
    return np.asarray(moved).astype(typeof(x).dtype)


def _difference(f: Function, args: Any, tangents: Any, eps: float) -> Pytree:
    """Return the central difference of `f` along `tangents`, computed in double precision."""
    ahead = f(*tree.map(lambda x, t: _moved(x, t, eps), args, tangents))
    behind = f(*tree.map(lambda x, t: _moved(x, t, -eps), args, tangents))

    def quotient(a: Any, b: Any) -> Any:
        if not _is_inexact(a):
            return np.zeros(typeof(a).shape, float0)
        return (_wide(a) - _wide(b)) / (2 * eps)

    return tree.map(quotient, ahead, behind)


def _inner(x: Pytree, y: Pytree) -> Any:
    pairs = zip(tree.leaves(x), tree.leaves(y), strict=True)
    return sum((np.sum(_wide(a) * _wide(b)).real for a, b in pairs), start=0.0)


def _compare(given: Pytree, expected: Pytree, atol: Tolerance, rtol: Tolerance, what: str) -> None:
    for x, y in zip(tree.leaves(given), tree.leaves(expected), strict=True):
        allowed = _TOLERANCE.get(typeof(x).dtype.name, 0.0)
        np.testing.assert_allclose(
            _wide(x),
            _wide(y),
            atol=allowed if atol is None else atol,
            rtol=allowed if rtol is None else rtol,
            err_msg=what,
        )
