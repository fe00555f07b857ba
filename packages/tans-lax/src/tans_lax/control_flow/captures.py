"""What a function reads from outside, so that a memo of it notices a variable that was rebound.

Only variables are compared (cells of the closure and globals), by identity; the insides of lists,
dicts and objects are not, as under `jit`.
"""

import weakref
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any, Final

type Marks = tuple[Any, ...]

_ATOMS: Final = (bool, int, float, complex, str, bytes, type(None))
_EMPTY: Final = object()  # an unbound cell, or a global that doesn't exist


def captured(fun: FunctionType) -> list[Any]:
    """Return the values of the variables that `fun` reads from outside, in a fixed order."""
    values = []
    for cell in fun.__closure__ or ():
        try:
            values.append(cell.cell_contents)
        except ValueError:
            values.append(_EMPTY)
    names = fun.__globals__
    values.extend([names.get(name, _EMPTY) for name in _global_names(fun.__code__)])
    return values


@lru_cache(maxsize=4096)
def _global_names(code: CodeType) -> tuple[str, ...]:
    """Return names that the code, or a function inside it, may read as globals."""
    names = dict.fromkeys(code.co_names)
    for const in code.co_consts:
        if isinstance(const, CodeType):
            names.update(dict.fromkeys(_global_names(const)))
    return tuple(names)


def marks_of(values: list[Any]) -> Marks:
    """Return marks that recognise the values without keeping them alive."""
    return tuple(map(_mark, values))


def _mark(x: Any) -> Any:
    if type(x) in _ATOMS:
        return x
    try:
        return weakref.ref(x)
    except TypeError:
        return _Identity(x)


class _Identity:
    """Recognises an object that can't be referred to weakly, by its address."""

    __slots__ = ("address",)

    def __init__(self, x: Any) -> None:
        self.address = id(x)


def same_captures(marks: Marks, values: list[Any]) -> bool:
    """Whether the values are those that the marks were made of."""
    for mark, x in zip(marks, values, strict=True):
        kind = type(mark)
        if kind is weakref.ref:
            if mark() is not x:
                return False
        elif kind is _Identity:
            if mark.address != id(x):
                return False
        elif mark is not x and (type(x) is not kind or repr(mark) != repr(x)):
            return False
    return True
