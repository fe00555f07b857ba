"""The objects of traced programs."""

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
