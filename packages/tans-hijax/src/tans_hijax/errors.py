"""Errors of rules that are written wrong: each names the primitive, the rule and the mismatch."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

from tans_core import tree
from tans_core.errors import UnexpectedTracerError, message
from tans_core.hi_types import is_hi_type
from tans_core.types import AbstractValue, same_but_weak
from tans_core.values import is_value, typeof
from tans_core.zeros import Zero

type Tree = Any


def no_rule(prim: Any, purpose: str, method: str, derive: str = "") -> NotImplementedError:
    """Return the error for a rule that a primitive lacks."""
    name = type(prim).__name__
    more = f", or derive it: {derive}" if derive else ""
    return NotImplementedError(
        message(
            f"{name}",
            f"an application of it that needs {purpose}",
            f"a class that defines `{method}`",
            f"Define {name}.{method}{more}.",
        )
    )


def flat_values(prim: Any, rule: str, value: Tree, structure: Any, what: str) -> list[Any]:
    """Flatten what a rule returned, which must have a structure.

    Raises:
      TypeError: it has another one.
    """
    leaves, found = tree.flatten(value)
    if found != structure:
        raise TypeError(
            message(
                where(prim, rule),
                f"{what} with the structure {found}",
                f"{structure}",
                "Return one value per entry of the types in `in_avals` and `out_aval`.",
            )
        )
    return leaves


def check_types(
    prim: Any, rule: str, values: Sequence[Any], avals: Sequence[Any], what: str
) -> None:
    """Raise TypeError unless values have types; weak marks and shardings may differ."""
    for i, (x, aval) in enumerate(zip(values, avals, strict=True)):
        given = type_of(prim, rule, f"{what} {i}", x, aval)
        if not fits(given, aval):
            raise mismatch(prim, rule, f"{what} {i}", given, aval, TypeError)


def type_of(prim: Any, rule: str, what: str, x: Any, expected: Any) -> Any:
    """Return the type of a value or symbolic zero.

    Raises:
      TypeError: it is neither.
    """
    if type(x) is Zero:
        return x.aval
    if is_value(x):
        return typeof(x)
    raise TypeError(
        message(
            where(prim, rule),
            f"{what}, which is {brief(x)}",
            shown(expected),
            "Return arrays, scalars, or values of registered types.",
        )
    )


def mismatch(
    prim: Any, rule: str, what: str, given: Any, expected: Any, error: type[Exception]
) -> Exception:
    """Return the error for a value of the wrong type."""
    texts = shown(given), shown(expected)
    if texts[0] == texts[1]:
        texts = repr(given), repr(expected)
    remedy = "Let the rule and the types in `in_avals` and `out_aval` agree."
    if is_hi_type(expected):
        remedy += " Weak types count in the fields of a user type: store t.strip_weak_type()."
    return error(message(where(prim, rule), f"{what} of type {texts[0]}", texts[1], remedy))


def fits(given: AbstractValue, expected: AbstractValue) -> bool:
    """Whether a value of one type may stand for another: the same but for mark and sharding."""
    if same_but_weak(given, expected):
        return True
    if is_hi_type(given) or is_hi_type(expected):
        return False
    return all(getattr(given, n, None) == getattr(expected, n, None) for n in ("shape", "dtype"))


def where(prim: Any, rule: str) -> str:
    """Return how messages call a rule."""
    return f"{type(prim).__name__}.{rule}" if rule else type(prim).__name__


def shown(aval: Any) -> str:
    """Return a type as messages print it."""
    return aval.str_short(False)


def brief(x: Any) -> str:
    """Return what messages show of an object: its text when that is short, and its class."""
    text = repr(x)
    shown_text = f"{text} " if len(text) <= 60 and "\n" not in text else ""
    return f"{shown_text}of type {type(x).__name__}"


@contextmanager
def naming(prim: Any, rule: str) -> Generator[None]:
    """Context manager: errors about leaked values and wrong cotangents name the rule."""
    try:
        yield
    except UnexpectedTracerError as error:
        text = error.args[0].partition("\nMore: ")[0]  # the class adds it again
        raise UnexpectedTracerError(f"{where(prim, rule)}: {text}") from error
    except ValueError as error:
        text = str(error)
        if not text.startswith("accumulator"):
            raise
        raise ValueError(f"{where(prim, rule)}: {text}") from error
