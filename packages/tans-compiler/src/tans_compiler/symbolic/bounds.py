"""What constraints tell of the value of a polynomial over sizes.

A polynomial is at least (at most) what its monomials add up to, each by the bounds of its atoms. If
some multiple of it is a constraint times a positive (negative) number plus a rest, it is also at
least (at most) what the rest is. Operations bring constraints of their own: a quotient times its
divisor is no more than what was divided. The larger of two sizes is one or the other.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any, Final

from tans_compiler.symbolic.polynomials import (
    ONE,
    Monomial,
    Operation,
    Size,
    Terms,
    add_to,
    operations,
    times,
)

type Interval = tuple[float, float]

_DEPTH: Final = 2
_CASES: Final = 4


def bounds(terms: Terms, constraints: Sequence[Terms]) -> Interval:
    """Return the least and the largest value, as far as they can be told.

    Args:
      terms: a polynomial over names of sizes that are at least 1.
      constraints: polynomials that are at least 0.
    """
    return _bounds(terms, constraints, _DEPTH, _CASES)


def implied(operation: Operation, value: Terms) -> list[Terms]:
    """Return polynomials that are at least 0 where `value` is the result of an operation."""
    left, right = terms_of(operation.left), terms_of(operation.right)
    match operation.name:
        case "max":
            return [_sum((value, 1), (left, -1)), _sum((value, 1), (right, -1))]
        case "min":
            return [_sum((left, 1), (value, -1)), _sum((right, 1), (value, -1))]
        case "floordiv":
            rest = _sum((left, 1), (times(right, value), -1))
            most = _sum((right, 1), ({ONE: 1}, -1), (rest, -1))
            return [rest, most] if _is_positive(right) else []
        case _:
            least = [_sum((left, 1), (value, -1))] if _is_positive(left) else []
            most = _sum((right, 1), ({ONE: 1}, -1), (value, -1))
            return [*least, most] if _is_positive(right) else []


def terms_of(size: Size) -> Terms:
    """Return a size as a polynomial."""
    if isinstance(size, int):
        return {ONE: size} if size else {}
    return size.terms


def _sum(*parts: tuple[Terms, int]) -> Terms:
    total: dict[Monomial, int] = {}
    for terms, factor in parts:
        add_to(total, terms, ONE, factor)
    return total


def _is_positive(terms: Terms) -> bool:
    """Whether a polynomial is at least 1 since no coefficient is negative."""
    names_only = all(isinstance(atom, str) for monomial in terms for atom, _ in monomial)
    return bool(terms) and names_only and all(c > 0 for c in terms.values())


def _bounds(terms: Terms, constraints: Sequence[Terms], depth: int, cases: int) -> Interval:
    choice = next((o for o in operations(terms) if o.name in ("max", "min")), None)
    if choice is not None and cases:
        return _by_cases(choice, terms, constraints, depth, cases - 1)
    low, high = _interval(terms, constraints, depth, cases)
    own = [
        part
        for o in set(operations(terms))
        for part in implied(o, {((o, 1),): 1})
    ]  # fmt: skip
    for constraint in (*constraints, *own) if depth else ():
        for rest, factor, sign in _eliminated(terms, constraint):
            rest_low, rest_high = _bounds(rest, constraints, depth - 1, cases)
            if sign > 0:  # factor * terms = rest + something at least 0
                low = max(low, _ceil(rest_low, factor))
            else:
                high = min(high, _floor(rest_high, factor))
    return low, high


def _by_cases(
    choice: Operation, terms: Terms, constraints: Sequence[Terms], depth: int, cases: int
) -> Interval:
    """Return the bounds for either of two sizes, of which one is the larger (smaller)."""
    left, right = terms_of(choice.left), terms_of(choice.right)
    larger_first = choice.name == "max"
    lows, highs = [], []
    for chosen, other in ((left, right), (right, left)):
        assumed = _sum((chosen, 1), (other, -1)) if larger_first else _sum((other, 1), (chosen, -1))
        if _bounds(assumed, constraints, depth, cases)[1] < 0:
            continue
        case = _with_atom(terms, choice, chosen)
        low, high = _bounds(case, (*constraints, assumed), depth, cases)
        lows.append(low)
        highs.append(high)
    return min(lows, default=-math.inf), max(highs, default=math.inf)


def _with_atom(terms: Terms, atom: Any, value: Terms) -> Terms:
    """Return a polynomial with a value in place of an atom."""
    total: dict[Monomial, int] = {}
    for monomial, c in terms.items():
        part: Terms = {ONE: c}
        for a, power in monomial:
            for _ in range(power):
                part = times(part, value if a == atom else {((a, 1),): 1})
        add_to(total, part)
    return total


def _eliminated(terms: Terms, constraint: Terms) -> Iterator[tuple[Terms, int, int]]:
    """Return what is left of a multiple of `terms` without a multiple of the constraint.

    Yields:
      The rest, the positive factor of `terms`, and the sign of the constraint's.
    """
    for monomial, c in constraint.items():
        d = terms.get(monomial, 0)
        if monomial and d:
            common = math.gcd(c, d)
            factor, other = abs(c) // common, d // common * (1 if c > 0 else -1)
            yield _sum((terms, factor), (constraint, -other)), factor, other


def _interval(terms: Terms, constraints: Sequence[Terms], depth: int, cases: int) -> Interval:
    low = high = 0.0
    for monomial, c in terms.items():
        a, b = 1.0, 1.0
        for atom, power in monomial:
            atom_low, atom_high = _atom_bounds(atom, constraints, depth, cases)
            for _ in range(power):
                ends = [_times(x, y) for x in (a, b) for y in (atom_low, atom_high)]
                a, b = min(ends), max(ends)
        ends = sorted((_times(c, a), _times(c, b)))
        low, high = low + ends[0], high + ends[1]
    return low, high


def _atom_bounds(
    atom: str | Operation, constraints: Sequence[Terms], depth: int, cases: int
) -> Interval:
    if isinstance(atom, str):
        return _range(atom, constraints)
    (a, b), (c, d) = (
        _bounds(terms_of(x), constraints, max(depth - 1, 0), cases) for x in (atom.left, atom.right)
    )
    match atom.name:
        case "max":
            return max(a, c), max(b, d)
        case "min":
            return min(a, c), min(b, d)
        case "mod":
            return _remainders((a, b), (c, d))
        case _:
            return _quotients((a, b), (c, d))


def _range(name: str, constraints: Sequence[Terms]) -> Interval:
    """Return the bounds of a name by the constraints that have no other."""
    low, high = 1.0, math.inf
    own = ((name, 1),)
    for terms in constraints:
        c = terms.get(own, 0)
        if c and all(m in (own, ONE) for m in terms):
            rest = -terms.get(ONE, 0)
            if c > 0:
                low = max(low, _ceil(rest, c))
            else:
                high = min(high, _floor(-rest, -c))
    return low, high


def _remainders(left: Interval, right: Interval) -> Interval:
    (a, b), (c, d) = left, right
    if c > 0:
        return (0, min(b, d - 1)) if a >= 0 else (0, d - 1)
    return (c + 1 if c > -math.inf else c, d - 1 if d > 0 else 0)


def _quotients(left: Interval, right: Interval) -> Interval:
    if right[0] <= 0 <= right[1]:
        return -math.inf, math.inf
    ends = [_quotient(x, y) for x in left for y in right]
    return min(ends), max(ends)


def _quotient(a: float, b: float) -> float:
    if math.isinf(b):
        return 0.0 if a == 0 or (a > 0) == (b > 0) else -1.0
    return a * math.copysign(1, b) if math.isinf(a) else float(a // b)


def _times(a: float, b: float) -> float:
    return 0.0 if a == 0 or b == 0 else a * b


def _ceil(x: float, factor: int) -> float:
    return x if math.isinf(x) else float(-(-x // factor))


def _floor(x: float, factor: int) -> float:
    return x if math.isinf(x) else float(x // factor)
