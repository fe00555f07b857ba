"""From the shapes of arguments to the sizes that symbolic dimensions have."""

from collections.abc import Callable, Sequence, Set
from typing import Any

from tans_compiler.symbolic.polynomials import Terms, names


def linear_in_one(terms: Terms, known: Set[str]) -> tuple[str, int] | None:
    """Return the one unknown name of a dimension and its factor, if it is linear in it."""
    unknown = [m for m in terms if not names({m: 1}) <= known]
    if len(unknown) != 1 or len(unknown[0]) != 1 or unknown[0][0][1] != 1:
        return None
    name = unknown[0][0][0]
    return (name, terms[unknown[0]]) if isinstance(name, str) else None


def solve(
    dims: Sequence[tuple[Any, Any]], divide: Callable[[Any, int, str], Any], arithmetic: Any = None
) -> dict[str, Any]:
    """Return the size of every name.

    Args:
      dims: pairs of a symbolic dimension and its value.
      divide: of a value, an int and a name: the quotient; checks that there is no remainder.
      arithmetic: operations on the values, as for `Dim.evaluate`.

    Raises:
      ValueError: some name can't be told from these dimensions.
    """
    sizes: dict[str, Any] = {}
    todo = list(dims)
    while todo:
        rest = []
        for dim, value in todo:
            found = linear_in_one(dim.terms, set(sizes))
            if found is None:
                rest.append((dim, value))
                continue
            name, factor = found
            others = {m: c for m, c in dim.terms.items() if m != ((name, 1),)}
            other = type(dim)(others, dim.scope)
            left = value - other.evaluate(sizes, arithmetic) if others else value
            sizes[name] = left if factor == 1 else divide(left, factor, name)
        if len(rest) == len(todo):
            break
        todo = rest
    missing = sorted({n for dim, _ in dims for n in dim.names} - set(sizes))
    if missing:
        given = ", ".join(str(dim) for dim, _ in dims)
        raise ValueError(
            f"symbolic dimensions: given argument shapes with {given}, from which "
            f"{', '.join(missing)} can't be told; expected a dimension of some argument "
            "that is linear in each name. Name that dimension alone, or pass an argument with it."
        )
    return sizes
