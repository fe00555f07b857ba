"""Symbolic dimensions: polynomials over named sizes with the arithmetic of ints."""

import operator
from collections.abc import Callable, Mapping
from numbers import Number
from typing import TYPE_CHECKING, Any, Final, override

import numpy as np

from tans_compiler.symbolic import emit
from tans_compiler.symbolic.dimension_values import dimension_value_p
from tans_compiler.symbolic.polynomials import (
    ONE,
    Operation,
    Size,
    Terms,
    add_to,
    names,
    quotient,
    text_of,
    times,
)
from tans_core import Array, is_evaluating
from tans_core.errors import InconclusiveDimensionOperation

if TYPE_CHECKING:
    from tans_compiler.symbolic.scope import SymbolicScope


class Dim:
    """A dimension whose size is not known yet. Arithmetic on it gives dimensions, or ints.

    Arithmetic with numbers that are no ints, and with arrays, gives arrays. Comparisons that hold
    for all sizes (or for none) give bools; others raise. Equality of dimensions that may be equal
    for some sizes only is False, as is that of dimensions of two scopes.
    """

    __slots__ = ("_hash", "scope", "terms")

    # NumPy leaves operators to this class.
    __array_ufunc__ = None

    def __init__(self, terms: Terms, scope: "SymbolicScope") -> None:
        self.terms = {m: c for m, c in terms.items() if c}
        self.scope = scope
        self._hash = hash((frozenset(self.terms.items()), id(scope)))

    # ---- arithmetic ----

    def __add__(self, other: Any) -> Any:
        if not is_size(other):
            return self._on_arrays(operator.add, other)
        return self._plus(other, 1)

    def __radd__(self, other: Any) -> Any:
        return self + other if is_size(other) else self._on_arrays(operator.add, other, True)

    def __neg__(self) -> Any:
        return self * -1

    def __pos__(self) -> "Dim":
        return self

    def __sub__(self, other: Any) -> Any:
        return self._plus(other, -1) if is_size(other) else self._on_arrays(operator.sub, other)

    def __rsub__(self, other: Any) -> Any:
        return -self + other if is_size(other) else self._on_arrays(operator.sub, other, True)

    def __mul__(self, other: Any) -> Any:
        if not is_size(other):
            return self._on_arrays(operator.mul, other)
        return simplified(times(self.terms, self._terms_of(other)), self.scope)

    def __rmul__(self, other: Any) -> Any:
        return self * other if is_size(other) else self._on_arrays(operator.mul, other, True)

    def __pow__(self, power: Any) -> Any:
        if not is_size(power) or isinstance(power, Dim):
            return self._on_arrays(operator.pow, power)
        if power < 0:
            raise ValueError(
                f"symbolic dimensions: given '{self}' ** {power}, expected a power of 0 or more. "
                "Use an array: jnp.asarray(dimension, float)."
            )
        result: Any = 1
        for _ in range(power):
            result = self * result
        return result

    def __rpow__(self, base: Any) -> Any:
        return self._on_arrays(operator.pow, base, True)

    def __truediv__(self, other: Any) -> Any:
        return self._on_arrays(operator.truediv, other)

    def __rtruediv__(self, other: Any) -> Any:
        return self._on_arrays(operator.truediv, other, True)

    def __floordiv__(self, other: Any) -> Any:
        if not is_size(other):
            return self._on_arrays(operator.floordiv, other)
        return _quotient(self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        if not is_size(other):
            return self._on_arrays(operator.floordiv, other, True)
        return divided(other, self)[0]

    def __mod__(self, other: Any) -> Any:
        return divided(self, other)[1] if is_size(other) else self._on_arrays(operator.mod, other)

    def __rmod__(self, other: Any) -> Any:
        if not is_size(other):
            return self._on_arrays(operator.mod, other, True)
        return divided(other, self)[1]

    def __divmod__(self, other: Any) -> Any:
        return divided(self, other) if is_size(other) else self._on_arrays(divmod, other)

    def __rdivmod__(self, other: Any) -> Any:
        return divided(other, self) if is_size(other) else self._on_arrays(divmod, other, True)

    def _plus(self, other: Any, factor: int) -> Size:
        terms = dict(self.terms)
        add_to(terms, self._terms_of(other), ONE, factor)
        return simplified(terms, self.scope)

    def _on_arrays(
        self, operation: Callable[[Any, Any], Any], other: Any, swapped: bool = False
    ) -> Any:
        """Apply an operation to the size as a value of the program."""
        if not isinstance(other, Number | Array | np.generic | np.ndarray | Dim):
            return NotImplemented
        if isinstance(other, Dim):
            other = other.__jax_array__()
        pair = (other, self.__jax_array__()) if swapped else (self.__jax_array__(), other)
        return operation(*pair)

    def _terms_of(self, other: Any) -> Terms:
        """Return the terms of a size of the same scope."""
        if not isinstance(other, Dim):
            return {ONE: int(other)} if other else {}
        if other.scope is not self.scope:
            raise ValueError(
                f"symbolic dimensions: given '{self}' of {self.scope.place} together with "
                f"'{other}' of {other.scope.place}; expected dimensions of one scope. Make "
                "them with one call of symbolic_shape, or pass scope=SymbolicScope() to each."
            )
        return other.terms

    # ---- comparison ----

    @override
    def __eq__(self, other: object) -> bool:
        return isinstance(other, Dim) and self.terms == other.terms and self.scope is other.scope

    @override
    def __hash__(self) -> int:
        return self._hash

    def __ge__(self, other: Any) -> Any:
        return self._compare(other, ">=", lambda low, high: low >= 0, lambda low, high: high < 0)

    def __gt__(self, other: Any) -> Any:
        return self._compare(other, ">", lambda low, high: low > 0, lambda low, high: high <= 0)

    def __le__(self, other: Any) -> Any:
        return self._compare(other, "<=", lambda low, high: high <= 0, lambda low, high: low > 0)

    def __lt__(self, other: Any) -> Any:
        return self._compare(other, "<", lambda low, high: high < 0, lambda low, high: low >= 0)

    def _compare(self, other: Any, sign: str, always: Any, never: Any) -> Any:
        if not is_size(other):
            return self._on_arrays(_COMPARISONS[sign], other)
        low, high = self.scope.bounds(self - other)
        if always(low, high):
            return True
        if never(low, high):
            return False
        raise InconclusiveDimensionOperation(
            f"symbolic dimensions: the comparison '{self}' {sign} '{other}' is inconclusive: it "
            f"holds for some sizes of {', '.join(sorted(self.names | names_of(other)))} and not "
            f"for others; expected one that is decided by {self.scope}. Add a constraint, such as "
            f"constraints=['{self} {_DECIDED_BY[sign]} {other}'], or compare on arrays."
        )

    # ---- conversion ----

    @property
    def names(self) -> frozenset[str]:
        """The names of sizes in it."""
        return names(self.terms)

    def evaluate(self, sizes: Mapping[str, Any], arithmetic: Any = None) -> Any:
        """Return its value for sizes by name; `arithmetic` has the operations on the values."""
        total: Any = 0
        for monomial, c in self.terms.items():
            term: Any = c
            for atom, power in monomial:
                term = term * _atom_value(atom, sizes, arithmetic) ** power
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

    def larger(self, other: Size) -> Size:
        """Return the larger one of two sizes."""
        return max_dim(self, other)

    def smaller(self, other: Size) -> Size:
        """Return the smaller one of two sizes."""
        return min_dim(self, other)

    def __jax_array__(self) -> Any:
        if is_evaluating():
            raise NotImplementedError(
                f"symbolic dimension '{self}': given where its value is needed at once, expected a "
                "function that tans.export exports: the value is known where that is called. Put "
                "the call into that function, or use a number."
            )
        return dimension_value_p.bind(dim=self)

    @override
    def __str__(self) -> str:
        return text_of(self.terms)

    __repr__ = __str__


_COMPARISONS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    ">=": operator.ge, ">": operator.gt, "<=": operator.le, "<": operator.lt,
}  # fmt: skip


# The constraint that decides a comparison; one that may be an equality decides the strict ones.
_DECIDED_BY: Final[dict[str, str]] = {">=": ">=", ">": "<=", "<=": "<=", "<": ">="}


def is_size(x: Any) -> bool:
    """Whether a value can be a dimension: a `Dim`, or an int that is known."""
    if isinstance(x, Dim) or (isinstance(x, int) and not isinstance(x, bool)):
        return True
    return (
        isinstance(x, np.integer | np.ndarray | Array)
        and hasattr(x, "__index__")
        and x.shape == ()
        and x.dtype.kind in "iu"
        and not hasattr(x, "_trace")
    )


def names_of(x: Size) -> frozenset[str]:
    """Return the names in a dimension; none in an int."""
    return x.names if isinstance(x, Dim) else frozenset()


def simplified(terms: Terms, scope: "SymbolicScope") -> Size:
    """Return a dimension with equalities of its scope applied; an int when it is constant."""
    dim = Dim(scope.substituted(terms), scope)
    if not dim.terms:
        return 0
    return dim.terms[ONE] if list(dim.terms) == [ONE] else dim


def variable(name: str, scope: "SymbolicScope") -> Size:
    """Return the dimension with a name."""
    return simplified({((name, 1),): 1}, scope)


def operation(name: str, left: Size, right: Size, scope: "SymbolicScope") -> Size:
    """Return the dimension that is an operation of two."""
    return simplified({((Operation(name, left, right), 1),): 1}, scope)


def divided(left: Size, right: Size) -> tuple[Size, Size]:
    """Return the quotient, rounded down, and the remainder of two sizes, at least one symbolic."""
    left, right = (x if isinstance(x, Dim) else int(x) for x in (left, right))
    scope = next(x.scope for x in (left, right) if isinstance(x, Dim))
    dividend = left if isinstance(left, Dim) else Dim({ONE: left}, scope)
    terms, divisor = dividend.terms, dividend._terms_of(right)
    if not divisor:
        raise ZeroDivisionError(f"symbolic dimension '{left}' divided by 0")
    exact = quotient(terms, divisor)
    if exact is not None:
        return simplified(exact, scope), 0
    whole, rest = _split(terms, right, scope) if isinstance(right, int) else (0, left)
    lower, upper = scope.bounds(rest)
    if lower >= 0 and upper < scope.bounds(right)[0]:
        return whole, rest
    quotient_of_rest = operation("floordiv", rest, right, scope)
    return whole + quotient_of_rest, operation("mod", rest, right, scope)


def _quotient(left: Dim, right: Size) -> Size:
    """Return the quotient, rounded down. That of the larger of two is the larger of theirs."""
    found, remainder = divided(left, right)
    if isinstance(right, Dim) or right < 0 or not remainder:
        return found
    for monomial, c in left.terms.items():
        if c == 1 and len(monomial) == 1 and isinstance(monomial[0][0], Operation):
            (atom, power), rest = monomial[0], left - Dim({monomial: 1}, left.scope)
            if power == 1 and atom.name in ("max", "min"):
                parts = [(part + rest) // right for part in (atom.left, atom.right)]
                return _extreme(atom.name, *parts)
    return found


def _split(terms: Terms, divisor: int, scope: "SymbolicScope") -> tuple[Size, Size]:
    """Return the part that an int divides, divided, and the rest."""
    if divisor < 0:
        return 0, simplified(terms, scope)
    whole = {m: c // divisor if c > 0 else -(-c // divisor) for m, c in terms.items()}
    rest = {m: c - divisor * whole[m] for m, c in terms.items()}
    return simplified(whole, scope), simplified(rest, scope)


class _Sizes:
    """Operations on sizes."""

    floordiv = staticmethod(operator.floordiv)
    mod = staticmethod(operator.mod)

    @staticmethod
    def max(a: Size, b: Size) -> Size:
        """Return the larger one."""
        return max_dim(a, b)

    @staticmethod
    def min(a: Size, b: Size) -> Size:
        """Return the smaller one."""
        return min_dim(a, b)


def _atom_value(atom: Any, sizes: Mapping[str, Any], arithmetic: Any) -> Any:
    if isinstance(atom, str):
        return sizes[atom]
    left, right = (
        x.evaluate(sizes, arithmetic) if isinstance(x, Dim) else x for x in (atom.left, atom.right)
    )
    return getattr(arithmetic or _Sizes, atom.name)(left, right)


def max_dim(d1: Size, d2: Size) -> Size:
    """Return the larger one of two sizes, each an int or a symbolic dimension.

    Example:
      >>> from tans_compiler.symbolic import symbolic_shape
      >>> max_dim(symbolic_shape("a")[0], 3)
      max(a, 3)
    """
    return _extreme("max", d1, d2)


def min_dim(d1: Size, d2: Size) -> Size:
    """Return the smaller one of two sizes; see `max_dim`."""
    return _extreme("min", d1, d2)


def _extreme(name: str, a: Size, b: Size) -> Size:
    difference = a - b
    if isinstance(difference, Dim):
        low, high = difference.scope.bounds(difference)
        if low < 0 < high:
            return operation(name, a, b, difference.scope)
        is_first_larger = low >= 0
    else:
        is_first_larger = difference >= 0
    return a if is_first_larger == (name == "max") else b
