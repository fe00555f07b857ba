"""Values of symbolic sizes in a program that is lowered."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tans_compiler.symbolic.solving import solve
from tans_xla import hlo


class _Int:
    """A 32-bit integer of the program, with the arithmetic of Python's."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def _with(self, other: Any, operation: str, swapped: bool = False) -> "_Int":
        pair = [self.value, _lifted(other).value]
        if swapped:
            pair.reverse()
        return _Int(hlo.op1(f"stablehlo.{operation}", self.value.type, pair))

    def __add__(self, other: Any) -> "_Int":
        return self._with(other, "add")

    def __radd__(self, other: Any) -> "_Int":
        return self._with(other, "add")

    def __sub__(self, other: Any) -> "_Int":
        return self._with(other, "subtract")

    def __rsub__(self, other: Any) -> "_Int":
        return self._with(other, "subtract", swapped=True)

    def __mul__(self, other: Any) -> "_Int":
        return self._with(other, "multiply")

    def __rmul__(self, other: Any) -> "_Int":
        return self._with(other, "multiply")

    def __pow__(self, power: int) -> "_Int":
        result = self
        for _ in range(power - 1):
            result = result * self
        return result


def _lifted(x: Any) -> _Int:
    if isinstance(x, _Int):
        return x
    kind = hlo.tensor_type((), np.int32)
    return _Int(
        hlo.op1("stablehlo.constant", kind, (), {"value": hlo.dense(np.array(x, np.int32))})
    )


class _Operations:
    """Operations that round as Python's do."""

    @staticmethod
    def floordiv(a: Any, b: Any) -> _Int:
        """Return the quotient, rounded down: that of the truncated one, less 1 where it differs."""
        a, b = _lifted(a), _lifted(b)
        return (a - _Operations.mod(a, b))._with(b, "divide")

    @staticmethod
    def mod(a: Any, b: Any) -> _Int:
        """Return the remainder with the sign of the divisor."""
        a, b = _lifted(a), _lifted(b)
        return (a._with(b, "remainder") + b)._with(b, "remainder")

    @staticmethod
    def max(a: Any, b: Any) -> _Int:
        """Return the larger one."""
        return _lifted(a)._with(b, "maximum")

    @staticmethod
    def min(a: Any, b: Any) -> _Int:
        """Return the smaller one."""
        return _lifted(a)._with(b, "minimum")


def emitter(avals: Sequence[Any], arguments: Sequence[Any]) -> Callable[[Any], Any]:
    """Return a function from a symbolic dimension to its value; see `Dim.size_emitter`."""
    kind = hlo.tensor_type((), np.int32)
    known = []
    for aval, x in zip(avals, arguments, strict=True):
        for i, dim in enumerate(getattr(aval, "shape", ())):
            if hasattr(dim, "size_emitter"):
                attributes = {"dimension": hlo.i64(i)}
                size = hlo.op1("stablehlo.get_dimension_size", kind, (x,), attributes)
                known.append((dim, _Int(size)))
    sizes = solve(known, lambda value, factor, _: _Operations.floordiv(value, factor), _Operations)
    return lambda dim: _lifted(dim.evaluate(sizes, _Operations)).value
