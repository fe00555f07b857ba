"""Second names of functions."""

import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any


def alias[F: Callable[..., Any]](fun: F, name: str) -> F:
    """Return the same function under another name, without a Python frame in between."""
    original: Any = fun
    copy = FunctionType(
        original.__code__, original.__globals__, name, original.__defaults__, original.__closure__
    )
    copy.__kwdefaults__ = original.__kwdefaults__
    functools.update_wrapper(copy, original)
    copy.__name__ = copy.__qualname__ = name
    return copy  # pyright: ignore[reportReturnType]  # of the class of `fun`
