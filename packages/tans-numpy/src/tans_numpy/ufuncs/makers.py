"""Makers of elementwise functions that differ only in the operation they call."""

from collections.abc import Callable
from inspect import signature
from typing import Any

from tans_numpy.operands import ArrayLike, check_arraylike, promote, promote_inexact
from tans_xla import composite

type Array = Any

_ONE = "\n\n    Args:\n      x: array of any shape, or a scalar{what}.\n"
_TWO = "\n\n    Args:\n      x, y: arrays whose shapes broadcast, or scalars{what}.\n"


def _named(
    function: Any, name: str, summary: str, args: str, what: str, names: tuple[str, ...] = ()
) -> Any:
    function.__name__ = function.__qualname__ = name
    function.__module__ = "tans_numpy"  # where pickles find it
    if names:
        function.__signature__ = signature(function).replace(
            parameters=[
                p.replace(name=n)
                for p, n in zip(signature(function).parameters.values(), names, strict=True)
            ]
        )
        args = args.replace("x, y", ", ".join(names))
    function.__doc__ = summary + args.format(what=f"; {what}" if what else "")
    return composite(function)


def unary(operation: Callable[..., Array], name: str, summary: str, what: str = "") -> Any:
    """Return the function ``operation(x)`` on operands of any dtype."""

    def ufunc(x: ArrayLike, /) -> Array:
        check_arraylike(name, x)
        return operation(x)

    return _named(ufunc, name, summary, _ONE, what)


def unary_inexact(
    operation: Callable[..., Array],
    name: str,
    summary: str,
    what: str = "integers become the default float",
) -> Any:
    """Return the function ``operation(x)`` in floating point."""

    def ufunc(x: ArrayLike, /) -> Array:
        return operation(*promote_inexact(name, x))

    return _named(ufunc, name, summary, _ONE, what)


def binary(
    operation: Callable[..., Array],
    name: str,
    summary: str,
    what: str = "",
    names: tuple[str, ...] = (),
) -> Any:
    """Return the function ``operation(x, y)`` on promoted operands."""

    def ufunc(x: ArrayLike, y: ArrayLike, /) -> Array:
        return operation(*promote(name, x, y))

    return _named(ufunc, name, summary, _TWO, what, names)


def binary_inexact(
    operation: Callable[..., Array],
    name: str,
    summary: str,
    what: str = "integers become the default float",
    names: tuple[str, ...] = (),
) -> Any:
    """Return the function ``operation(x, y)`` in floating point."""

    def ufunc(x: ArrayLike, y: ArrayLike, /) -> Array:
        return operation(*promote_inexact(name, x, y))

    return _named(ufunc, name, summary, _TWO, what, names)
