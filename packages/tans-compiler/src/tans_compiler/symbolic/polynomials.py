"""Polynomials over named sizes: dictionaries from monomials to integer coefficients.

A monomial is a sorted tuple of (atom, power). An atom is a name, or an operation that has no
polynomial form: floordiv, mod, max and min of two dimensions.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple, override

if TYPE_CHECKING:
    from tans_compiler.symbolic.dims import Dim

type Size = "Dim | int"
type Monomial = tuple[tuple["str | Operation", int], ...]
type Terms = Mapping[Monomial, int]

ONE: Final[Monomial] = ()


class Operation(NamedTuple):
    """An operation on two dimensions that is no polynomial."""

    name: str
    left: Size
    right: Size

    @override
    def __str__(self) -> str:
        return f"{self.name}({self.left}, {self.right})"

    @property
    def names(self) -> frozenset[str]:
        """The names of sizes in it."""
        return frozenset().union(*(x.names for x in self[1:] if not isinstance(x, int)))


def product(m: Monomial, n: Monomial) -> Monomial:
    """Return the product of two monomials."""
    powers: dict[Any, int] = dict(m)
    for atom, power in n:
        powers[atom] = powers.get(atom, 0) + power
    return tuple(sorted(powers.items(), key=str))


def times(left: Terms, right: Terms) -> dict[Monomial, int]:
    """Return the product of two polynomials."""
    terms: dict[Monomial, int] = {}
    for m, c in left.items():
        add_to(terms, right, m, c)
    return terms


def add_to(terms: dict[Monomial, int], other: Terms, monomial: Monomial = ONE, c: int = 1) -> None:
    """Add ``c * monomial * other`` to `terms`, in place."""
    for n, d in other.items():
        joined = product(monomial, n) if monomial else n
        terms[joined] = terms.get(joined, 0) + c * d
        if not terms[joined]:
            del terms[joined]


def divided(m: Monomial, n: Monomial) -> Monomial | None:
    """Return the quotient of two monomials, or None where there is none."""
    powers = dict(m)
    for atom, power in n:
        if powers.get(atom, 0) < power:
            return None
        powers[atom] -= power
    return tuple((a, p) for a, p in powers.items() if p)


def order(monomial: Monomial) -> tuple[int, str]:
    """Return the key that monomials are sorted by."""
    return sum(p for _, p in monomial), str([(str(a), p) for a, p in monomial])


def quotient(terms: Terms, divisor: Terms) -> dict[Monomial, int] | None:
    """Return the quotient when a division leaves no remainder for any size, or None."""
    rest, found = dict(terms), dict[Monomial, int]()
    lead = max(divisor, key=order)
    while rest:
        head = max(rest, key=order)
        monomial = divided(head, lead)
        if monomial is None or rest[head] % divisor[lead]:
            return None
        factor = rest[head] // divisor[lead]
        found[monomial] = found.get(monomial, 0) + factor
        add_to(rest, divisor, monomial, -factor)
    return found


def operations(terms: Terms) -> Iterator[Operation]:
    """Return the operations that are atoms of a polynomial."""
    for monomial in terms:
        for atom, _ in monomial:
            if isinstance(atom, Operation):
                yield atom


def names(terms: Terms) -> frozenset[str]:
    """Return the names of sizes in a polynomial."""
    atoms = [atom for monomial in terms for atom, _ in monomial]
    return frozenset().union(*({a} if isinstance(a, str) else a.names for a in atoms))


def text_of(terms: Terms) -> str:
    """Return how a polynomial is written."""
    text = ""
    for monomial in sorted(terms, key=order, reverse=True):
        c = terms[monomial]
        body = "*".join(str(a) if p == 1 else f"{a}^{p}" for a, p in monomial)
        sign = "-" if c < 0 else "+"
        part = body if body and abs(c) == 1 else "*".join(filter(None, (str(abs(c)), body)))
        if text:
            text += f" {sign} {part}"
        else:
            text = part if c > 0 else f"- {part}"
    return text
