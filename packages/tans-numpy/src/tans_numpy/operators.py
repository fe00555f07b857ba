"""Operators of arrays and tracers, in terms of the NumPy-level functions.

On concrete arrays an operator costs one Python frame and one C++ call.
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from tans_core import Array, ArrayImpl, JaxprTracer, slots, state
from tans_core.trace import eval_trace
from tans_numpy.operands import PYTHON_SCALARS

_ACCEPTED: Final[set[type]] = {ArrayImpl, JaxprTracer, np.ndarray, *PYTHON_SCALARS}


def _accepts(other: Any) -> bool:
    """Whether an operator takes `other`; what it refuses may implement the reflected operator."""
    if isinstance(other, Array | np.ndarray | np.generic):
        _ACCEPTED.add(type(other))
        return True
    if isinstance(other, int | float | complex) or hasattr(type(other), "__jax_array__"):
        return True
    if isinstance(other, list | tuple | dict | set):
        raise TypeError(
            f"operator: given an array and a {type(other).__name__}; expected an array or a scalar."
            " Convert it first: jnp.asarray(x)."
        )
    return False


def _entries(function: Any) -> tuple[Any, Any]:
    """Return what runs on concrete arrays and what runs while a program is traced."""
    return getattr(function, "compiled", function), getattr(function, "inline", function)


def binary(function: Any, name: str) -> Callable[[Any, Any], Any]:
    """Return the method for ``self <op> other`` from a composite."""
    compiled, inline = _entries(function)

    def operator(self: Any, other: Any) -> Any:
        if type(other) not in _ACCEPTED and not _accepts(other):
            return NotImplemented
        if type(self) is type(other) is ArrayImpl or state.trace is eval_trace:
            return compiled(self, other)
        return inline(self, other)

    operator.__name__ = operator.__qualname__ = name
    operator.__doc__ = function.__doc__
    return operator


def reflected(function: Any, name: str) -> Callable[[Any, Any], Any]:
    """Return the method for ``other <op> self`` from a composite."""
    compiled, inline = _entries(function)

    def operator(self: Any, other: Any) -> Any:
        if type(other) not in _ACCEPTED and not _accepts(other):
            return NotImplemented
        if type(self) is type(other) is ArrayImpl or state.trace is eval_trace:
            return compiled(other, self)
        return inline(other, self)

    operator.__name__ = operator.__qualname__ = name
    operator.__doc__ = function.__doc__
    return operator


def unary(function: Any, name: str) -> Callable[[Any], Any]:
    """Return the method for ``<op> self`` from a composite."""

    def operator(self: Any) -> Any:
        return function(self)

    operator.__name__ = operator.__qualname__ = name
    operator.__doc__ = function.__doc__
    return operator


_REFLECTABLE: Final = {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "truediv": "true_divide",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "divmod": "divmod",
    "pow": "power",
    "matmul": "matmul",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "lshift": "left_shift",
    "rshift": "right_shift",
}
_COMPARISONS: Final = {
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
    "eq": "equal",
    "ne": "not_equal",
}
_UNARY: Final = {"neg": "negative", "pos": "positive", "abs": "abs", "invert": "invert"}


def install(functions: dict[str, Any]) -> None:
    """Fill the operator slots from the namespace of NumPy-level functions."""
    methods: dict[str, Any] = {}
    for op, name in _REFLECTABLE.items():
        methods[f"__{op}__"] = binary(functions[name], f"__{op}__")
        methods[f"__r{op}__"] = reflected(functions[name], f"__r{op}__")
    for op, name in _COMPARISONS.items():
        methods[f"__{op}__"] = binary(functions[name], f"__{op}__")
    for op, name in _UNARY.items():
        methods[f"__{op}__"] = unary(functions[name], f"__{op}__")
    slots.fill(methods, "tans-numpy")
