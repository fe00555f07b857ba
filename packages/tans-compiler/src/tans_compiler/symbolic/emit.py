"""Values of symbolic sizes in a program that is lowered, and the checks of them in it."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tans_compiler.symbolic.solving import solve
from tans_xla import hlo

type Value = Any  # ir.Value


class _Int:
    """A 32-bit integer of the program, with the arithmetic of Python's."""

    def __init__(self, value: Value) -> None:
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

    def check(self, sign: str, wanted: Any, message: str) -> None:
        """Emit a check that shape refinement evaluates; ``{0}`` in its text is this value."""
        direction = {">=": "GE", "==": "EQ"}[sign]
        holds = hlo.compare(self.value, _lifted(wanted).value, direction, "SIGNED")
        attributes = {
            "call_target_name": hlo.string("shape_assertion"),
            "error_message": hlo.string(message),
            "has_side_effect": hlo.boolean(True),
            "api_version": hlo.i32(2),
        }
        hlo.op("stablehlo.custom_call", (), (holds, self.value), attributes)


def _lifted(x: Any) -> _Int:
    if isinstance(x, _Int):
        return x
    kind = hlo.tensor_type((), np.int32)
    value = hlo.dense(np.array(x, np.int32))
    return _Int(hlo.op1("stablehlo.constant", kind, (), {"value": value}))


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


def emitter(avals: Sequence[Any], arguments: Sequence[Value]) -> Callable[[Any], Value]:
    """Return a function from a symbolic dimension to its value; see `Dim.size_emitter`."""
    kind = hlo.tensor_type((), np.int32)
    known = []
    for aval, x in zip(avals, arguments, strict=True):
        for i, dim in enumerate(getattr(aval, "shape", ())):
            if hasattr(dim, "size_emitter"):
                attributes = {"dimension": hlo.i64(i)}
                size = hlo.op1("stablehlo.get_dimension_size", kind, (x,), attributes)
                known.append((dim, _Int(size)))

    def divide(value: _Int, factor: int, name: str) -> _Int:
        remainder = _Operations.mod(value, factor)
        remainder.check("==", 0, f"given a size for which '{name}' leaves a remainder of {{0}}")
        return _Operations.floordiv(value, factor)

    sizes = solve(known, divide, _Operations)
    _emit_checks(known, sizes)
    scope = known[0][0].scope

    def value(dim: Any) -> Value:
        missing = sorted(dim.names - set(sizes))
        if missing or dim.scope is not scope:
            given = ", ".join(f"'{d}'" for d, _ in known)
            raise ValueError(
                f"symbolic dimensions: given '{dim}' of {dim.scope.place} in a program whose "
                f"arguments have the sizes {given} of {scope.place}; expected sizes of the "
                "arguments. Pass an argument that has this dimension, of the same scope."
            )
        return _lifted(dim.evaluate(sizes, _Operations)).value

    return value


def _emit_checks(known: Sequence[tuple[Any, _Int]], sizes: dict[str, _Int]) -> None:
    for dim, size in known:
        if str(dim) not in sizes or sizes[str(dim)] is not size:
            found = size - dim.evaluate(sizes, _Operations)
            found.check("==", 0, f"given an argument whose size differs from '{dim}' by {{0}}")
    for dim, sign, text in known[0][0].scope.checks(set(sizes)):
        message = f"given sizes that violate {text}: '{dim}' is {{0}}, expected it {sign} 0"
        _lifted(dim.evaluate(sizes, _Operations)).check(sign, 0, message)
