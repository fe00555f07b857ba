"""Checks of the arguments that a stage is called with; every culprit has a line."""

from collections.abc import Callable, Sequence
from typing import Any

from tans_core import AbstractValue, Tracer, is_value, same_but_weak, typeof
from tans_xla.shape_dtype_struct import ShapeDtypeStruct
from tans_xla.structures import structure_mismatches


def check_structure(function: str, given: Any, expected: Any) -> None:
    """Check the structure of ``(args, kwargs)``.

    Raises:
      TypeError: with the places where it differs.
    """
    if given == expected:
        return
    pairs = zip(("args", "kwargs"), given.children(), expected.children(), strict=True)
    lines = [structure_mismatches(name, a, b) for name, a, b in pairs if a != b]
    raise TypeError(
        f"{function}: given arguments of another structure than the program was made for:\n"
        + "\n".join(lines)
        + "\nPass that structure, or lower again."
    )


def check_types(
    function: str, leaves: Sequence[Any], avals: Sequence[AbstractValue], name: Callable[[int], str]
) -> None:
    """Check the types of arguments; Python scalars stand for arrays of their dtype.

    Raises:
      TypeError: with those that differ.
    """
    wrong: list[str] = []
    for i, (x, expected) in enumerate(zip(leaves, avals, strict=True)):
        if not is_value(x) or type(x) is ShapeDtypeStruct:
            given = f"is {x!r} of type {type(x).__name__}"
        elif same_but_weak(typeof(x), expected):
            continue
        else:
            given = f"has type {typeof(x).str_short(False)}"
        wrong.append(f"{name(i)} {given}, expected {expected.str_short(False)}")
    if wrong:
        lines = f" {wrong[0]}" if len(wrong) == 1 else "".join(f"\n  {w}" for w in wrong)
        raise TypeError(
            f"{function}: given arguments of other types than the program was made for:{lines}. "
            "Convert them, or lower again."
        )


def check_concrete(function: str, leaves: Sequence[Any], name: Callable[[int], str]) -> None:
    """Check that no argument is traced.

    Raises:
      TypeError: naming the one that is.
    """
    for i, x in enumerate(leaves):
        if isinstance(x, Tracer):
            raise TypeError(
                f"{function}: {name(i)} is a {x.describe()}, but a compiled program runs only on "
                "concrete arrays. Call the jitted function inside transformations."
            )
