"""Checks that the type rules of linear algebra share, and their batching."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from tans_core import AxisData, Primitive, ShapedArray
from tans_lax.rows import batch_to_front

type Value = Any

_ACCEPTED: Final = ("float32", "float64", "complex64", "complex128")


def shown(aval: ShapedArray) -> str:
    """Return the printed type of an operand."""
    return aval.str_short(short_dtypes=False)


def check_matrix(name: str, x: ShapedArray, ndim: int = 2) -> None:
    """Check that `x` is a stack of matrices (or vectors, `ndim` 1) of numbers that solvers take.

    Raises:
      TypeError: another dtype, or too few dimensions.
    """
    if getattr(x.dtype, "name", "") not in _ACCEPTED:
        raise TypeError(
            f"{name} does not accept dtype {x.dtype}: given {shown(x)}, expected one of "
            f"{', '.join(_ACCEPTED)}. Convert it with lax.convert_element_type first."
        )
    if x.ndim < ndim:
        form = "[*batch, m, n]" if ndim == 2 else "[*batch, n]"
        raise TypeError(
            f"{name}: given {shown(x)}, expected a shape {form}. Add the missing dimensions with "
            "lax.expand_dims."
        )


def check_square(name: str, x: ShapedArray) -> None:
    """Check that `x` is a stack of square matrices.

    Raises:
      TypeError: not numbers that solvers take, or fewer than two dimensions.
      ValueError: the matrices are not square.
    """
    check_matrix(name, x)
    if x.shape[-1] != x.shape[-2]:
        raise ValueError(
            f"{name}: given {shown(x)}, expected square matrices of shape [*batch, n, n]. "
            "Slice or pad the last two dimensions."
        )


def same_stack(name: str, *avals: ShapedArray, core: int = 2) -> None:
    """Check that operands agree in dtype and leading dimensions.

    Args:
      name: the operation.
      avals: the operands; `core` trailing dimensions of each are its own.
      core: how many dimensions of the first operand belong to one problem.

    Raises:
      TypeError: the dtypes or the leading dimensions differ.
    """
    first = avals[0]
    batch = first.shape[: first.ndim - core]
    for x in avals[1:]:
        if x.dtype != first.dtype or x.shape[: len(batch)] != batch:
            types = ", ".join(map(shown, avals))
            raise TypeError(
                f"{name}: given operands of types {types}, expected one dtype and equal leading "
                "dimensions. Convert or broadcast the operands first."
            )


def with_shape(x: ShapedArray, *core: int, dtype: Any = None, drop: int = 2) -> ShapedArray:
    """Return the type of a result per problem: the batch of `x` with a core shape and dtype."""
    shape = (*x.shape[: x.ndim - drop], *core)
    return x.update(shape=shape, dtype=x.dtype if dtype is None else np.dtype(dtype))


def stacked_batching(primitive: Primitive) -> Callable[..., Any]:
    """Make the batching rule of an operation on stacks: the mapped dimension is one more in front.

    Operands that are not mapped are repeated.
    """
    bind, multiple = primitive.bind, primitive.multiple_results

    def rule(
        axis: AxisData, args: tuple[Value, ...], dims: tuple[int | None, ...], **params: Any
    ) -> tuple[Any, Any]:
        args = tuple(batch_to_front(axis, x, d) for x, d in zip(args, dims, strict=True))
        outs = bind(*args, **params)
        return (outs, [0] * len(outs)) if multiple else (outs, 0)

    return rule
