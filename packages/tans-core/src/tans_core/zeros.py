"""Marks that rules meet in place of values: symbolic zeros and linear inputs."""

from typing import Any, override

from tans_core.types import AbstractValue


class Zero:
    """A tangent or cotangent that is zero; `aval` is its type, no array exists."""

    __slots__ = ("aval",)

    def __init__(self, aval: AbstractValue) -> None:
        self.aval = aval

    @override
    def __repr__(self) -> str:
        return f"Zero(~{self.aval.str_short()})"


class LinearInput:
    """An operand that is linear in the equation being transposed; only its type is known."""

    __slots__ = ("aval",)

    def __init__(self, aval: AbstractValue) -> None:
        self.aval = aval

    @override
    def __repr__(self) -> str:
        return f"LinearInput({self.aval.str_short()})"


def is_zero(x: Any) -> bool:
    """Whether `x` is a symbolic zero."""
    return type(x) is Zero


def is_linear_input(x: Any) -> bool:
    """Whether `x` marks a linear operand."""
    return type(x) is LinearInput


def zero_tangent(x_aval: AbstractValue) -> Zero:
    """Return the symbolic zero tangent of a value of type `x_aval`."""
    return Zero(x_aval.to_tangent())
