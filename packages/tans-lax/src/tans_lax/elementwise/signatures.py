"""Makers of type rules for operations that work element by element.

One idea: operands have one dtype and one shape; an operand may also have rank 0, or size 1 along
a dimension, and is then repeated.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from tans_core import ShapedArray
from tans_core.dtype_queries import issubdtype

type TypeRule = Callable[..., ShapedArray]
type Result = Callable[[ShapedArray], Any]  # from the common operand type to the result's dtype

FLOATING: Final = (np.floating,)
COMPLEX: Final = (np.complexfloating,)
INEXACT: Final = (np.floating, np.complexfloating)
INTEGER: Final = (np.integer,)
BITS: Final = (np.integer, np.bool_)
NUMBER: Final = (np.integer, np.floating, np.complexfloating)
ORDERED: Final = (np.integer, np.floating, np.bool_)
ANY: Final = (*NUMBER, np.bool_)


def unary(name: str, accepts: Sequence[type], result: Result | None = None) -> TypeRule:
    """Make the type rule of an operation on one operand.

    Args:
      name: the operation's name in messages.
      accepts: abstract NumPy scalar types the operand's dtype must descend from.
      result: from the operand's type to the dtype of the result; the operand's when None.
    """

    def rule(x: ShapedArray, **params: Any) -> ShapedArray:
        del params
        check_dtype(name, x, accepts)
        return x if result is None else x.update(dtype=result(x))

    return rule


def nary(
    name: str,
    accepts: Sequence[type],
    result: Result | None = None,
    promoting: str | None = None,
) -> TypeRule:
    """Make the type rule of an operation on several operands of one dtype.

    Args:
      name: the operation's name in messages.
      accepts: abstract NumPy scalar types the operands' dtype must descend from.
      result: from the common operand type to the dtype of the result; the operands' when None.
      promoting: the `jnp` function that promotes, named in the remedy.
    """

    def rule(*avals: ShapedArray, **params: Any) -> ShapedArray:
        del params
        for aval in avals:
            check_dtype(name, aval, accepts)
        check_same_dtype(name, avals, promoting)
        out = joined_type(name, avals)
        return out if result is None else out.update(dtype=result(out))

    return rule


def always(dtype: Any) -> Result:
    """Return a result function for operations whose result has one dtype, whatever the input."""
    return lambda aval: dtype


def check_dtype(name: str, aval: ShapedArray, accepts: Sequence[type]) -> None:
    """Raise unless the type's dtype descends from one of `accepts`.

    Raises:
      TypeError: it does not.
    """
    dtype = aval.dtype
    if not any(issubdtype(dtype, abstract) for abstract in accepts):
        kinds = ", ".join(abstract.__name__.rstrip("_") for abstract in accepts)
        raise TypeError(
            f"lax.{name}: given an operand of type {describe(aval)}; expected a dtype among: "
            f"{kinds}. Convert it with lax.convert_element_type."
        )


def check_same_dtype(name: str, avals: Sequence[ShapedArray], promoting: str | None = None) -> None:
    """Raise unless all types have the same dtype.

    Raises:
      TypeError: two dtypes differ.
    """
    first = avals[0].dtype
    if any(aval.dtype != first for aval in avals):
        remedy = f", or use jnp.{promoting}, which promotes" if promoting else ""
        raise TypeError(
            f"lax.{name}: operand dtypes differ: given {_listed(avals)}; expected one dtype. "
            f"Convert with lax.convert_element_type{remedy}."
        )


def joined_type(name: str, avals: Sequence[ShapedArray]) -> ShapedArray:
    """Return the type of the result of an operation on operands of one dtype.

    Raises:
      TypeError: the shapes are not equal, up to rank 0 and dimensions of size 1.
    """
    first = avals[0]
    if all(aval is first for aval in avals):
        return first
    widest = max(avals, key=lambda aval: aval.ndim)
    shape = broadcast_shape(name, avals)
    weak = all(aval.weak_type for aval in avals)
    full = next((aval for aval in avals if aval.shape == shape), widest)
    if full.shape == shape:
        return full if full.weak_type is weak else full.update(weak_type=weak)
    return full.update(shape=shape, weak_type=weak)


def broadcast_shape(name: str, avals: Sequence[ShapedArray]) -> tuple[int, ...]:
    """Return the common shape of operands; rank 0 and dimensions of size 1 are repeated.

    Raises:
      TypeError: there is none.
    """
    shapes = {aval.shape for aval in avals if aval.ndim}
    if not shapes:
        return ()
    if len(shapes) == 1:
        return shapes.pop()
    out = None
    if len({len(shape) for shape in shapes}) == 1:
        out = tuple(map(_common_size, zip(*shapes, strict=True)))
    if out is None or None in out:
        raise TypeError(
            f"lax.{name}: operand shapes differ: given {_listed(avals)}; expected equal shapes, "
            "rank 0, or size 1 along a dimension. Use lax.broadcast_in_dim, or the jnp function, "
            "which broadcasts."
        )
    return out  # pyright: ignore[reportReturnType]


def _common_size(sizes: Sequence[int]) -> int | None:
    others = {size for size in sizes if size != 1}
    if not others:
        return 1
    return others.pop() if len(others) == 1 else None


def describe(aval: ShapedArray) -> str:
    """Return a type as messages show it, such as ``float32[2,3]``."""
    return f"{aval.dtype}[{','.join(map(str, aval.shape))}]"


def _listed(avals: Sequence[ShapedArray]) -> str:
    return ", ".join(map(describe, avals))
