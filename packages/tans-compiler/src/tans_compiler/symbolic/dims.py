"""Symbolic dimensions: polynomials with integer coefficients over named sizes.

A monomial is a sorted tuple of (atom, power). An atom is a name, or an operation that has no
polynomial form: floordiv, mod, max and min of two dimensions.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple, override

from tans_compiler.symbolic import emit
from tans_compiler.symbolic.dimension_values import dimension_value_p
from tans_core.errors import InconclusiveDimensionOperation

if TYPE_CHECKING:
    from tans_compiler.symbolic.scope import SymbolicScope

type Size = "Dim | int"
type Monomial = tuple[tuple["str | Operation", int], ...]

_ONE: Final[Monomial] = ()


class Operation(NamedTuple):
    """An operation on two dimensions that is no polynomial."""

    name: str
    left: Size
    right: Size

    @override
    def __str__(self) -> str:
        return f"{self.name}({self.left}, {self.right})"


class Dim:
    """A dimension whose size is not known yet. Arithmetic on it gives dimensions, or ints.

    Comparisons that hold for all sizes (or for none) give bools; others raise. Equality of
    dimensions that may be equal for some sizes only is False.
    """

    __slots__ = ("_hash", "scope", "terms")

    def __init__(self, terms: Mapping[Monomial, int], scope: "SymbolicScope") -> None:
        self.terms = {m: c for m, c in terms.items() if c}
        self.scope = scope
        self._hash = hash(frozenset(self.terms.items()))

    # ---- arithmetic ----

    def __add__(self, other: Any) -> Any:
        other = _terms(other)
        if other is None:
            return NotImplemented
        terms = dict(self.terms)
        for monomial, c in other.items():
            terms[monomial] = terms.get(monomial, 0) + c
        return simplified(terms, self.scope)

    __radd__ = __add__

    def __neg__(self) -> Any:
        return self * -1

    def __pos__(self) -> "Dim":
        return self

    def __sub__(self, other: Any) -> Any:
        return self + -other if is_size(other) else NotImplemented

    def __rsub__(self, other: Any) -> Any:
        return -self + other if is_size(other) else NotImplemented

    def __mul__(self, other: Any) -> Any:
        other = _terms(other)
        if other is None:
            return NotImplemented
        terms: dict[Monomial, int] = {}
        for m, c in self.terms.items():
            for n, d in other.items():
                joined = product(m, n)
                terms[joined] = terms.get(joined, 0) + c * d
        return simplified(terms, self.scope)

    __rmul__ = __mul__

    def __pow__(self, power: Any) -> Any:
        if not isinstance(power, int) or power < 0:
            return NotImplemented
        result: Any = 1
        for _ in range(power):
            result = self * result
        return result

    def __floordiv__(self, other: Any) -> Any:
        return self.__divmod__(other)[0] if is_size(other) else NotImplemented

    def __rfloordiv__(self, other: Any) -> Any:
        return _lifted(other, self.scope) // self if is_size(other) else NotImplemented

    def __mod__(self, other: Any) -> Any:
        return self.__divmod__(other)[1] if is_size(other) else NotImplemented

    def __rmod__(self, other: Any) -> Any:
        return _lifted(other, self.scope) % self if is_size(other) else NotImplemented

    def __divmod__(self, other: Any) -> tuple[Any, Any]:
        if not is_size(other):
            return NotImplemented
        exact = _exact_quotient(self, other)
        if exact is not None:
            return exact, 0
        whole, rest = _split(self, other)
        if rest is not None:
            lower, upper = self.scope.bounds(rest) if isinstance(rest, Dim) else (rest, rest)
            top = other if isinstance(other, int) else self.scope.bounds(other)[0]
            if lower >= 0 and upper < top:
                return whole, rest
            quotient = whole + self._atom("floordiv", rest, other)
            return quotient, self._atom("mod", rest, other)
        return self._atom("floordiv", self, other), self._atom("mod", self, other)

    def __rdivmod__(self, other: Any) -> Any:
        return divmod(_lifted(other, self.scope), self) if is_size(other) else NotImplemented

    def _atom(self, name: str, left: Size, right: Size) -> "Dim":
        return Dim({((Operation(name, left, right), 1),): 1}, self.scope)

    # ---- comparison ----

    @override
    def __eq__(self, other: object) -> bool:
        if not is_size(other):
            return False
        difference = self - other
        return isinstance(difference, int) and difference == 0

    @override
    def __hash__(self) -> int:
        return self._hash

    def __ge__(self, other: Any) -> bool:
        return self._compare(other, ">=", lambda low, high: low >= 0, lambda low, high: high < 0)

    def __gt__(self, other: Any) -> bool:
        return self._compare(other, ">", lambda low, high: low > 0, lambda low, high: high <= 0)

    def __le__(self, other: Any) -> bool:
        return self._compare(other, "<=", lambda low, high: high <= 0, lambda low, high: low > 0)

    def __lt__(self, other: Any) -> bool:
        return self._compare(other, "<", lambda low, high: high < 0, lambda low, high: low >= 0)

    def _compare(self, other: Any, sign: str, always: Any, never: Any) -> bool:
        if not is_size(other):
            return NotImplemented
        difference = self - other
        if isinstance(difference, int):
            low, high = float(difference), float(difference)
        else:
            low, high = self.scope.bounds(difference)
        if always(low, high):
            return True
        if never(low, high):
            return False
        raise InconclusiveDimensionOperation(
            f"symbolic dimensions: the comparison '{self}' {sign} '{other}' is inconclusive: it "
            f"holds for some sizes of {', '.join(sorted(self.names | names_of(other)))} and not "
            f"for others; expected one that is decided by {self.scope}. Add a constraint, such as "
            f"constraints=['{self} {'>=' if '>' in sign else '<='} {other}'], or compare on arrays."
        )

    # ---- conversion ----

    @property
    def names(self) -> frozenset[str]:
        """The names of sizes in it."""
        found: set[str] = set()
        for monomial in self.terms:
            for atom, _ in monomial:
                if isinstance(atom, str):
                    found.add(atom)
                else:
                    found |= names_of(atom.left) | names_of(atom.right)
        return frozenset(found)

    def evaluate(self, sizes: Mapping[str, Any], operations: Any = None) -> Any:
        """Return its value for sizes by name; `operations` are those on the values."""
        total: Any = 0
        for monomial, c in self.terms.items():
            term: Any = c
            for atom, power in monomial:
                term = term * _atom_value(atom, sizes, operations) ** power
            total = total + term
        return total

    def __index__(self) -> int:
        raise InconclusiveDimensionOperation(
            f"symbolic dimension '{self}': given where a Python int is needed, expected arithmetic "
            "and comparisons that hold for all sizes. Use it as an array with jnp.asarray, or "
            "export the function for a constant size."
        )

    __int__ = __index__

    def __float__(self) -> float:
        return float(self.__index__())

    def __bool__(self) -> bool:
        return self != 0

    def size_emitter(self, avals: Any, arguments: Any) -> Any:
        """Return a function from a size to its value in the program being lowered.

        Args:
          avals: types of the program's arguments.
          arguments: the arguments, MLIR values.
        """
        return emit.emitter(avals, arguments)

    def __jax_array__(self) -> Any:
        return dimension_value_p.bind(dim=self)

    @override
    def __str__(self) -> str:
        order = sorted(self.terms, key=_order, reverse=True)
        text = ""
        for monomial in order:
            c = self.terms[monomial]
            body = "*".join(str(a) if p == 1 else f"{a}^{p}" for a, p in monomial)
            sign = "-" if c < 0 else "+"
            part = body if body and abs(c) == 1 else "*".join(filter(None, (str(abs(c)), body)))
            if text:
                text += f" {sign} {part}"
            else:
                text = part if c > 0 else f"-{part}"
        return text

    __repr__ = __str__


def is_size(x: Any) -> bool:
    """Whether a value can be a dimension: an int or a `Dim`."""
    return isinstance(x, Dim) or (isinstance(x, int) and not isinstance(x, bool)) or _is_index(x)


def _is_index(x: Any) -> bool:
    return hasattr(x, "__index__") and hasattr(x, "dtype") and getattr(x, "shape", None) == ()


def _terms(x: Any) -> Mapping[Monomial, int] | None:
    if isinstance(x, Dim):
        return x.terms
    return {_ONE: int(x)} if is_size(x) and not _traced(x) else None


def _traced(x: Any) -> bool:
    return hasattr(x, "_trace")


def names_of(x: Size) -> frozenset[str]:
    """Return the names in a dimension; none in an int."""
    return x.names if isinstance(x, Dim) else frozenset()


def simplified(terms: Mapping[Monomial, int], scope: "SymbolicScope") -> Size:
    """Return a dimension with equalities of its scope applied; an int when it is constant."""
    dim = Dim(scope.substituted(terms), scope)
    if not dim.terms:
        return 0
    return dim.terms[_ONE] if list(dim.terms) == [_ONE] else dim


def variable(name: str, scope: "SymbolicScope") -> Size:
    """Return the dimension with a name."""
    return simplified({((name, 1),): 1}, scope)


def _lifted(x: Size, scope: "SymbolicScope") -> Dim:
    return x if isinstance(x, Dim) else Dim({_ONE: int(x)}, scope)


def product(m: Monomial, n: Monomial) -> Monomial:
    """Return the product of two monomials."""
    powers: dict[Any, int] = dict(m)
    for atom, power in n:
        powers[atom] = powers.get(atom, 0) + power
    return tuple(sorted(powers.items(), key=str))


def _order(monomial: Monomial) -> tuple[int, str]:
    return sum(p for _, p in monomial), str([(str(a), p) for a, p in monomial])


def _divided(m: Monomial, n: Monomial) -> Monomial | None:
    powers = dict(m)
    for atom, power in n:
        if powers.get(atom, 0) < power:
            return None
        powers[atom] -= power
    return tuple((a, p) for a, p in powers.items() if p)


def _exact_quotient(dim: Dim, divisor: Size) -> Size | None:
    """Return the quotient when a division leaves no remainder for any size, or None."""
    other = _lifted(divisor, dim.scope)
    rest, quotient = dict(dim.terms), dict[Monomial, int]()
    if not other.terms:
        raise ZeroDivisionError(f"symbolic dimension '{dim}' divided by 0")
    lead = max(other.terms, key=_order)
    while rest:
        head = max(rest, key=_order)
        monomial = _divided(head, lead)
        if monomial is None or rest[head] % other.terms[lead]:
            return None
        factor = rest[head] // other.terms[lead]
        quotient[monomial] = quotient.get(monomial, 0) + factor
        for n, c in other.terms.items():
            joined = product(monomial, n)
            rest[joined] = rest.get(joined, 0) - factor * c
            if not rest[joined]:
                del rest[joined]
    return simplified(quotient, dim.scope)


def _split(dim: Dim, divisor: Size) -> tuple[Any, Any]:
    """Return the part that an int divides, divided, and the rest; other divisors give (0, None)."""
    if not isinstance(divisor, int) or divisor <= 0:
        return 0, None
    whole = {m: c // divisor for m, c in dim.terms.items()}
    rest = {m: c % divisor for m, c in dim.terms.items()}
    return simplified(whole, dim.scope), simplified(rest, dim.scope)


class _Integers:
    """Operations on ints."""

    floordiv = staticmethod(lambda a, b: a // b)
    mod = staticmethod(lambda a, b: a % b)
    max = staticmethod(max)
    min = staticmethod(min)


def _atom_value(atom: Any, sizes: Mapping[str, Any], operations: Any) -> Any:
    if isinstance(atom, str):
        return sizes[atom]
    left, right = (
        x.evaluate(sizes, operations) if isinstance(x, Dim) else x for x in (atom.left, atom.right)
    )
    return getattr(operations or _Integers, atom.name)(left, right)


def max_dim(a: Size, b: Size) -> Size:
    """Return the larger of two dimensions."""
    return _extreme("max", a, b)


def min_dim(a: Size, b: Size) -> Size:
    """Return the smaller of two dimensions."""
    return _extreme("min", a, b)


def _extreme(name: str, a: Size, b: Size) -> Size:
    if isinstance(a, int) and isinstance(b, int):
        return max(a, b) if name == "max" else min(a, b)
    try:
        larger, smaller = (a, b) if a >= b else (b, a)
    except InconclusiveDimensionOperation:
        scope = next(x.scope for x in (a, b) if isinstance(x, Dim))
        return Dim({((Operation(name, a, b), 1),): 1}, scope)
    return larger if name == "max" else smaller
