"""Symbolic dimensions: shapes whose sizes are named, for programs that serve many sizes."""

from collections.abc import Sequence
from typing import Any, TypeGuard

from tans_compiler.symbolic.dims import Dim
from tans_compiler.symbolic.parsing import dimensions, parse
from tans_compiler.symbolic.polynomials import Size
from tans_compiler.symbolic.scope import SymbolicScope
from tans_core import tree, typeof
from tans_core.errors import InconclusiveDimensionOperation
from tans_xla import ShapeDtypeStruct

__all__ = [
    "InconclusiveDimensionOperation",
    "SymbolicScope",
    "is_symbolic_dim",
    "symbolic_args_specs",
    "symbolic_dim_bounds",
    "symbolic_shape",
]


def is_symbolic_dim(p: Any) -> TypeGuard[Dim]:
    """Whether a dimension is symbolic.

    Example:
      >>> is_symbolic_dim(symbolic_shape("2*b")[0]), is_symbolic_dim(3)
      (True, False)
    """
    return isinstance(p, Dim)


def symbolic_dim_bounds(dimension: Size) -> tuple[float, float]:
    """Return the least and the largest size of a dimension; infinity where there is no bound.

    Example:
      >>> symbolic_dim_bounds(symbolic_shape("2*b", constraints=["b <= 10"])[0])
      (2, 20)
    """
    if not isinstance(dimension, Dim):
        return int(dimension), int(dimension)
    low, high = map(_whole, dimension.scope.bounds(dimension))
    return low, high


def _whole(x: float) -> float:
    return x if x in (float("inf"), float("-inf")) else int(x)


def symbolic_shape(
    shape_spec: str | None,
    *,
    constraints: Sequence[str] = (),
    scope: SymbolicScope | None = None,
    like: Sequence[int | None] | None = None,
) -> tuple[Size, ...]:
    """Return a shape with symbolic dimensions.

    Args:
      shape_spec: dimensions between commas: ints, names and arithmetic on them. ``_`` stands for
        the dimension of `like`, a final ``...`` for all others; None for all of `like`.
      constraints: of a new scope, such as ``"a >= 2"``.
      scope: the scope to use; give one of the two.
      like: a shape to fill placeholders from.

    Raises:
      ValueError: the text can't be read, both scope and constraints are given, or a placeholder
        has nothing to stand for.

    Example:
      >>> symbolic_shape("b + 1, 3, a*b")
      (b + 1, 3, a*b)
    """
    if scope is not None and constraints:
        raise ValueError(
            f"symbolic_shape: given both scope and constraints={list(constraints)!r}, expected one "
            "of them. Give the constraints to SymbolicScope."
        )
    scope = SymbolicScope(constraints) if scope is None else scope
    parts = ["..."] if shape_spec is None else dimensions(shape_spec)
    if parts and parts[-1] == "...":
        parts = [*parts[:-1], *["_"] * (len(like or ()) - len(parts) + 1)]
        if like is None:
            raise _no_like(shape_spec)
    if like is not None and len(parts) != len(like):
        raise ValueError(
            f"symbolic_shape: given {shape_spec!r} with {len(parts)} dimensions for a value with "
            f"{len(like)}, expected equally many. End it with '...' for the others."
        )
    found: list[Size] = []
    for i, part in enumerate(parts):
        size = None if like is None else like[i]
        if part == "_" and size is None:
            raise _no_like(shape_spec)
        dim: Any = size if part == "_" else parse(part, scope)
        if isinstance(dim, int) and isinstance(size, int) and dim != size:
            raise ValueError(
                f"symbolic_shape: given {shape_spec!r} with size {dim} for dimension {i}, expected "
                f"{size}, its size in the shape {tuple(like or ())}. Write '_' there."
            )
        found.append(dim)
    return tuple(found)


def _no_like(spec: str | None) -> ValueError:
    return ValueError(
        f"symbolic_shape: given {spec!r} with a placeholder ('_' or '...') and no shape to fill it "
        "from, expected all dimensions. Write them, or pass like=x.shape."
    )


def symbolic_args_specs(
    args: Any,
    shapes_specs: Any,
    constraints: Sequence[str] = (),
    scope: SymbolicScope | None = None,
) -> Any:
    """Return arguments as `ShapeDtypeStruct` with symbolic shapes.

    Args:
      args: tree of arrays or `ShapeDtypeStruct`.
      shapes_specs: tree prefix of `args` with texts as for `symbolic_shape`, or None.
      constraints: of the scope that all share.
      scope: that scope, in place of constraints.

    Raises:
      ValueError: a text can't be read or does not fit its argument.

    Example:
      >>> import numpy as np
      >>> symbolic_args_specs((np.ones((3, 4)),), "b, ...")
      (ShapeDtypeStruct(shape=(b, 4), dtype=float32),)
    """
    scope = SymbolicScope(constraints) if scope is None else scope
    leaves, treedef = tree.flatten(args)
    if shapes_specs is None or isinstance(shapes_specs, str):
        specs = [shapes_specs] * len(leaves)
    else:
        specs = tree.broadcast(shapes_specs, args, is_leaf=lambda x: x is None)
        specs = tree.leaves(specs, is_leaf=lambda x: x is None)
    structs = []
    for x, spec in zip(leaves, specs, strict=True):
        aval = typeof(x)
        shape: Any = symbolic_shape(spec, scope=scope, like=aval.shape)
        structs.append(ShapeDtypeStruct(shape, aval.dtype))
    return treedef.unflatten(structs)
