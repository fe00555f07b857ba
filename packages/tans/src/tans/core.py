"""The objects of traced programs."""

from typing import Any

from tans.removed import absent
from tans_core import (
    AbstractToken,
    AbstractValue,
    ClosedJaxpr,
    Jaxpr,
    Literal,
    Primitive,
    ShapedArray,
    Trace,
    Tracer,
    Var,
    eval_jaxpr,
)

__all__ = [
    "AbstractToken",
    "AbstractValue",
    "ClosedJaxpr",
    "Jaxpr",
    "Literal",
    "Primitive",
    "ShapedArray",
    "Trace",
    "Tracer",
    "Var",
    "eval_jaxpr",
]


def __getattr__(name: str) -> Any:
    raise AttributeError(absent(__name__, name))
