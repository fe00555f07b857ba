"""The objects of traced programs."""

from typing import Any

from tans.removed import absent
from tans_compiler.symbolic.dims import max_dim, min_dim
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
    "max_dim",
    "min_dim",
]


def __getattr__(name: str) -> Any:
    raise AttributeError(absent(__name__, name))
