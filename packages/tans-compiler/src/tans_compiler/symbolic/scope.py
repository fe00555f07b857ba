"""Scopes: which sizes symbolic dimensions may have."""

import re
from collections.abc import Iterator, Sequence, Set
from typing import Final, NamedTuple, override

from tans_compiler.symbolic.bounds import Interval, bounds, implied, terms_of
from tans_compiler.symbolic.dims import Dim, simplified
from tans_compiler.symbolic.parsing import parse
from tans_compiler.symbolic.polynomials import (
    ONE,
    Monomial,
    Operation,
    Size,
    Terms,
    add_to,
    divided,
    product,
    times,
)
from tans_core.debug_info import user_line
from tans_core.staging import get_traceback

_CONSTRAINT: Final = re.compile(r"^(.*?)(>=|<=|==|>|<)(.*)$", re.DOTALL)
_ROUNDS: Final = 100


class _Equality(NamedTuple):
    """A monomial times a factor, and what stands for it."""

    monomial: Monomial
    factor: int
    value: Terms
    text: str


class _Inequality(NamedTuple):
    """A polynomial that is at least 0."""

    terms: Terms
    text: str


class Check(NamedTuple):
    """What has to hold for sizes.

    Attributes:
      dim: a dimension.
      sign: ">=" or "==": how it compares with 0.
      text: what the user wrote.
    """

    dim: Dim
    sign: str
    text: str


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
        self._source = get_traceback()
        self._equalities: list[_Equality] = []
        self._inequalities: list[_Inequality] = []
        self._bounds: dict[Dim, Interval] = {}
        for text in self.constraint_texts:
            self._add(text)

    @override
    def __str__(self) -> str:
        if not self.constraint_texts:
            return "the scope, which has no constraints but that sizes are at least 1"
        return f"the constraints {', '.join(self.constraint_texts)}"

    @override
    def __repr__(self) -> str:
        return f"SymbolicScope({list(self.constraint_texts)!r})"

    @property
    def place(self) -> str:
        """Where the scope was made, which tells it from others of the same constraints."""
        return f"{self!r} made at {user_line(self._source) or 'an unknown place'}"

    # ---- constraints ----

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
        self._add_inequality(terms_of(larger - smaller - int(len(sign) == 1)), text)

    def _add_inequality(self, terms: Terms, text: str) -> None:
        if bounds(terms, self._constraints)[1] < 0:
            raise ValueError(
                f"symbolic dimensions: given the constraint {text!r}, which no sizes meet together "
                f"with {self}; expected constraints that some sizes meet. Sizes are at least 1."
            )
        if any(terms):
            self._inequalities.append(_Inequality(terms, text))
            self._bounds.clear()

    @property
    def _constraints(self) -> list[Terms]:
        return [c.terms for c in self._inequalities]

    def _add_equality(self, left: Size, right: Size, text: str) -> None:
        difference = terms_of(left - right)
        self._add_inequality(difference, text)
        self._add_inequality({m: -c for m, c in difference.items()}, text)
        if not any(difference):
            return
        sides = [(terms_of(left), terms_of(right)), (terms_of(right), terms_of(left))]
        single = [
            _Equality(monomial, factor, value, text)
            for terms, value in sides
            for monomial, factor in terms.items()
            if len(terms) == 1 and monomial and factor > 0
            if all(divided(m, monomial) is None for m in value)
        ]
        if single:
            self._replace(min(single, key=lambda e: e.factor))
            return
        raise ValueError(
            f"symbolic dimensions: given the constraint {text!r}, expected a single name, product "
            "or operation on one side of '=='. Write for example 'a == 2*b'."
        )

    def _replace(self, equality: _Equality) -> None:
        """Replace a monomial from now on. Its value keeps what the monomial's atoms imply."""
        monomial, factor, value, text = equality
        low, high = bounds({monomial: factor}, self._constraints)
        known = [(value, -low)] if low > -float("inf") else []
        known += [({m: -c for m, c in value.items()}, high)] if high < float("inf") else []
        own = [_Inequality(_plus(terms, {ONE: int(c)}), text) for terms, c in known]
        if factor == 1 and len(monomial) == 1 and isinstance(monomial[0][0], Operation):
            own += [_Inequality(terms, text) for terms in implied(monomial[0][0], value)]
        self._equalities.append(equality)
        old = [*self._inequalities, *own]
        self._inequalities = []
        for terms, known_text in old:
            self._add_inequality(terms_of(simplified(terms, self)), known_text)
        if factor > 1:  # other multiples of the monomial stay
            difference = _plus({monomial: factor}, {m: -c for m, c in value.items()})
            self._inequalities += [
                _Inequality(difference, text),
                _Inequality({m: -c for m, c in difference.items()}, text),
            ]

    def substituted(self, terms: Terms) -> dict[Monomial, int]:
        """Return terms with equalities applied, and quotients joined with their remainders."""
        found = dict(terms)
        for _ in range(_ROUNDS):
            replaced = next(filter(None, (self._replaced(m, found) for m in found)), None)
            if replaced is None:
                return found
            for part in replaced:
                add_to(found, part)
        raise ValueError(
            f"symbolic dimensions: given {self}, by which sizes are replaced without end; expected "
            "equalities that define sizes by others. Leave one out."
        )

    def _replaced(self, monomial: Monomial, terms: Terms) -> tuple[Terms, Terms] | None:
        """Return two polynomials whose sum is 0, to add: less of the monomial, and its value."""
        c = terms[monomial]
        for own, factor, value, _ in self._equalities:
            rest = divided(monomial, own)
            if rest is not None and c % factor == 0:
                return {monomial: -c}, times({rest: c // factor}, value)
        for atom, _ in monomial:
            if isinstance(atom, Operation) and atom.name == "floordiv":
                joined = self._joined(monomial, atom, terms)
                if joined is not None:
                    return joined
        return None

    def _joined(
        self, monomial: Monomial, quotient: Operation, terms: Terms
    ) -> tuple[Terms, Terms] | None:
        """Return a quotient times its divisor plus the remainder, and what was divided."""
        divisor = terms_of(quotient.right)
        rest = divided(monomial, ((quotient, 1),))
        if len(divisor) != 1 or rest is None:
            return None
        ((n, factor),) = divisor.items()
        rest, times_divisor = divided(rest, n), terms[monomial] // factor
        if rest is None or terms[monomial] % factor:
            return None
        remainder: Terms = {((quotient._replace(name="mod"), 1),): 1}
        known = self.substituted(remainder)
        if any(known) and terms.get(product(rest, next(iter(remainder)))) != times_divisor:
            return None
        parts = {monomial: -terms[monomial]}
        add_to(parts, times({rest: -times_divisor}, known if not any(known) else remainder))
        return parts, times({rest: times_divisor}, terms_of(quotient.left))

    def bounds(self, size: Size) -> Interval:
        """Return the least and the largest value of a size, as far as they can be told."""
        if not isinstance(size, Dim):
            return float(size), float(size)
        found = self._bounds.get(size)
        if found is None:
            found = self._bounds[size] = bounds(size.terms, self._constraints)
        return found

    # ---- checks of sizes ----

    def checks(self, names: Set[str]) -> Iterator[Check]:
        """Return what has to hold for sizes with these names."""
        for name in sorted(names):
            yield Check(Dim({((name, 1),): 1, ONE: -1}, self), ">=", f"{name} >= 1")
        for terms, text in self._inequalities:
            yield Check(Dim(terms, self), ">=", text)
        for monomial, factor, value, text in self._equalities:
            terms = dict(value)
            add_to(terms, {monomial: -factor})
            check = Check(Dim(terms, self), "==", text)
            if check.dim.names <= names:
                yield check


def _plus(terms: Terms, other: Terms) -> Terms:
    total = dict(terms)
    add_to(total, other)
    return total
