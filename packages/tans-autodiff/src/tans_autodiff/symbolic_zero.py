"""What rules with ``symbolic_zeros=True`` meet in place of arrays."""

import dataclasses
from typing import Any

from tans_autodiff.results import as_array, tangent_result
from tans_core import dtypes, tree
from tans_core.dtypes import float0
from tans_core.types import AbstractValue
from tans_core.values import typeof
from tans_core.zeros import Zero

type Value = Any


class SymbolicZero:
    """A tangent or cotangent that is known to be zero; only its type exists."""

    __slots__ = ("aval",)

    def __init__(self, aval: AbstractValue) -> None:
        self.aval = aval

    @property
    def shape(self) -> tuple[int, ...]:
        """Size of each dimension."""
        return self.aval.shape  # pyright: ignore[reportAttributeAccessIssue]

    @property
    def dtype(self) -> Any:
        """Data type of the elements."""
        return self.aval.dtype  # pyright: ignore[reportAttributeAccessIssue]

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    def __repr__(self) -> str:
        return f"SymbolicZero({self.aval.str_short()})"


@dataclasses.dataclass(frozen=True)
class CustomVJPPrimal:
    """An argument leaf as a forward rule with ``symbolic_zeros=True`` sees it.

    Attributes:
      value: the argument.
      perturbed: whether it is differentiated.
    """

    value: Value
    perturbed: bool


def custom_vjp_primal_tree_values(args: Any) -> Any:
    """Return a tree with the values of its `CustomVJPPrimal` leaves."""
    return tree.map(
        lambda x: x.value if isinstance(x, CustomVJPPrimal) else x,
        args,
        is_leaf=lambda x: isinstance(x, CustomVJPPrimal),
    )


def zero_from_primal(val: Value, symbolic_zeros: bool = False) -> Any:
    """Return the zero tangent of a value, as an array or as a `SymbolicZero`."""
    aval = typeof(val)
    return SymbolicZero(aval.to_tangent()) if symbolic_zeros else tangent_result(None, aval)


def to_rule(x: Value, symbolic: bool) -> Value:
    """Return a tangent or cotangent as a rule sees it: an array, also where it is a number."""
    if type(x) is not Zero:
        return as_array(x)
    return SymbolicZero(x.aval) if symbolic else tangent_result(None, x.aval)


def from_rule(x: Value) -> Value:
    """Return what a rule gave as a tangent or cotangent: a value or a symbolic zero."""
    if type(x) is SymbolicZero:
        return Zero(x.aval)
    dtype = getattr(x, "dtype", None)
    if dtype == float0:
        return Zero(_float0_type(x))
    return x


def _float0_type(x: Any) -> AbstractValue:
    return typeof(0).update(shape=x.shape, dtype=dtypes.float0, weak_type=False)  # pyright: ignore[reportAttributeAccessIssue]
