"""Scopes: which sizes symbolic dimensions may have."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, override

from tans_compiler.symbolic.dims import Dim, Monomial, Operation, Size, names_of, product
from tans_compiler.symbolic.parsing import parse

_CONSTRAINT: Final = re.compile(r"^(.*?)(>=|<=|==|>|<)(.*)$")
_DEPTH: Final = 2


class SymbolicScope:
    """A set of named sizes, all at least 1, with constraints on them.

    Args:
      constraints_str: such as ``"a >= 2"``, ``"b <= 10"``, ``"a == 2*b"``.

    Raises:
      ValueError: a constraint can't be read, or no sizes meet all of them.
    """

    def __init__(self, constraints_str: Sequence[str] = ()) -> None:
        if isinstance(constraints_str, str):
            raise ValueError(
                f"SymbolicScope: given the constraints {constraints_str!r}, expected a sequence of "
                f"strings. Write [{constraints_str!r}]."
            )
        self.constraint_texts = tuple(constraints_str)
        self._equal: dict[Monomial, Mapping[Monomial, int]] = {}
        self._at_least_zero: list[Dim] = []
        self._ranges: dict[str, tuple[float, float]] = {}
        for text in constraints_str:
            self._add(text)

    @override
    def __str__(self) -> str:
        if not self.constraint_texts:
            return "the scope, which has no constraints but that sizes are at least 1"
        return f"the constraints {', '.join(self.constraint_texts)}"

    def _add(self, text: str) -> None:
        if not isinstance(text, str):
            raise TypeError(
                f"symbolic dimensions: given the constraint {text!r} of type "
                f"{type(text).__name__}, expected a str. Write constraints=['a >= 2']."
            )
        match = _CONSTRAINT.match(text)
        if match is None:
            raise ValueError(
                f"symbolic dimensions: given the constraint {text!r}, expected two dimensions with "
                "'>=', '<=' or '==' between. Write for example 'a >= 2'."
            )
        left, sign, right = parse(match[1], self), match[2], parse(match[3], self)
        if sign == "==":
            self._add_equality(left, right, text)
            return
        larger, smaller = (left, right) if sign[0] == ">" else (right, left)
        difference = larger - smaller - int(len(sign) == 1)
        if isinstance(difference, int):
            if difference < 0:
                raise _unsatisfiable(text, self)
            return
        if self.bounds(difference)[1] < 0:
            raise _unsatisfiable(text, self)
        self._at_least_zero.append(difference)
        self._narrow(difference)

    def _add_equality(self, left: Size, right: Size, text: str) -> None:
        for one, other in ((left, right), (right, left)):
            if isinstance(one, Dim) and len(one.terms) == 1:
                ((monomial, c),) = one.terms.items()
                plain = c == 1 and len(monomial) == 1 and monomial[0][1] == 1
                if plain and not (one.names & names_of(other)):
                    terms = other.terms if isinstance(other, Dim) else {(): int(other)}
                    self._equal[monomial] = terms
                    return
        raise ValueError(
            f"symbolic dimensions: given the constraint {text!r}, expected a single name or "
            "operation on one side of '=='. Write for example 'a == 2*b'."
        )

    def _narrow(self, difference: Dim) -> None:
        """Keep a constraint on one name as a range of it."""
        names = [m for m in difference.terms if m]
        if len(names) != 1 or len(names[0]) != 1 or names[0][0][1] != 1:
            return
        name, c = names[0][0][0], difference.terms[names[0]]
        if not isinstance(name, str):
            return
        bound = -difference.terms.get((), 0) / c
        low, high = self._ranges.get(name, (1, math.inf))
        if c > 0:
            low = max(low, math.ceil(bound))
        else:
            high = min(high, math.floor(bound))
        self._ranges[name] = (low, high)

    def substituted(self, terms: Mapping[Monomial, int]) -> dict[Monomial, int]:
        """Return terms with the equalities applied."""
        if not self._equal:
            return dict(terms)
        result: dict[Monomial, int] = {}
        for monomial, c in terms.items():
            for m, d in self._expanded(monomial):
                result[m] = result.get(m, 0) + c * d
        return result

    def _expanded(self, monomial: Monomial) -> list[tuple[Monomial, int]]:
        parts: list[tuple[Monomial, int]] = [((), 1)]
        for atom, power in monomial:
            factor: Mapping[Monomial, int] = self._equal.get(((atom, 1),), {((atom, 1),): 1})
            for _ in range(power):
                parts = [(product(m, n), c * d) for m, c in parts for n, d in factor.items()]
        return parts

    # ---- bounds ----

    def bounds(self, dim: Size, depth: int = _DEPTH) -> tuple[float, float]:
        """Return the least and the largest value of a dimension, as far as they can be told."""
        if not isinstance(dim, Dim):
            return float(dim), float(dim)
        low, high = self._interval(dim)
        for constraint in self._at_least_zero if depth else ():
            for rest, sign in self._eliminated(dim, constraint):
                rest_low, rest_high = self.bounds(rest, depth - 1)
                if sign > 0:  # dim = rest + something at least 0
                    low = max(low, rest_low)
                else:
                    high = min(high, rest_high)
        return low, high

    def _eliminated(self, dim: Dim, constraint: Dim) -> Iterator[tuple[Size, int]]:
        """Return rests of dim after taking out a multiple of the constraint, with its sign."""
        for monomial, c in constraint.terms.items():
            if monomial and monomial in dim.terms and dim.terms[monomial] % c == 0:
                factor = dim.terms[monomial] // c
                yield dim - constraint * factor, factor

    def _interval(self, dim: Dim) -> tuple[float, float]:
        low = high = 0.0
        for monomial, c in dim.terms.items():
            a, b = 1.0, 1.0
            for atom, power in monomial:
                atom_low, atom_high = self._atom_bounds(atom)
                for _ in range(power):
                    ends = [_times(x, y) for x in (a, b) for y in (atom_low, atom_high)]
                    a, b = min(ends), max(ends)
            ends = sorted((_times(c, a), _times(c, b)))
            low, high = low + ends[0], high + ends[1]
        return low, high

    def _atom_bounds(self, atom: Any) -> tuple[float, float]:
        if isinstance(atom, str):
            return self._ranges.get(atom, (1, math.inf))
        assert isinstance(atom, Operation)
        (a, b), (c, d) = self.bounds(atom.left), self.bounds(atom.right)
        if atom.name == "max":
            return max(a, c), max(b, d)
        if atom.name == "min":
            return min(a, c), min(b, d)
        if atom.name == "mod":
            return (0, d - 1) if c > 0 else (c + 1 if c > -math.inf else c, d - 1 if d > 0 else 0)
        if c <= 0:
            return -math.inf, math.inf
        ends = [_quotient(x, y) for x in (a, b) for y in (c, d)]
        return min(ends), max(ends)

    # ---- checks of sizes ----

    def check(self, sizes: Mapping[str, int]) -> list[str]:
        """Return what sizes violate, each with the value that was found."""
        wrong = [
            f"{name} >= 1, which is false: {name} is {size}"
            for name, size in sizes.items()
            if size < 1
        ]
        for dim in self._at_least_zero:
            if dim.names <= set(sizes):
                value = dim.evaluate(sizes)
                if value < 0:
                    wrong.append(f"{self._text_of(dim)} ('{dim}' >= 0), but '{dim}' is {value}")
        return wrong

    def _text_of(self, dim: Dim) -> str:
        inequalities = [t for t in self.constraint_texts if "==" not in t]
        return inequalities[self._at_least_zero.index(dim)]


def _times(a: float, b: float) -> float:
    return 0.0 if a == 0 or b == 0 else a * b


def _quotient(a: float, b: float) -> float:
    if math.isinf(b):
        return 0.0 if a >= 0 else -1.0
    return a if math.isinf(a) else float(a // b)


def _unsatisfiable(text: str, scope: SymbolicScope) -> ValueError:
    return ValueError(
        f"symbolic dimensions: given the constraint {text!r}, which no sizes meet together with "
        f"{scope}; expected constraints that some sizes meet. Sizes are at least 1."
    )
