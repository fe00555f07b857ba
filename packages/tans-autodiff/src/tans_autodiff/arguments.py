"""What callers pass: which arguments are differentiated, and whether their types allow it."""

import operator
from collections.abc import Sequence
from typing import Any

from tans_core import dtypes, tree
from tans_core.dtypes import float0
from tans_core.errors import message
from tans_core.hi_types import is_hi_type
from tans_core.refs import is_ref_type
from tans_core.types import AbstractValue
from tans_core.values import typeof
from tans_xla.wide_arrays import narrow_all

type Pytree = Any
type Value = Any
type Argnums = int | Sequence[int]


def check_reduce_axes(name: str, reduce_axes: Sequence[Any]) -> None:
    """Raise when the deprecated argument is used."""
    if reduce_axes:
        raise NotImplementedError(
            message(
                name,
                f"reduce_axes={reduce_axes!r}",
                "()",
                "The argument is deprecated: sum the gradient over mesh axes with lax.psum.",
            )
        )


def canonical_argnums(name: str, argnums: Argnums) -> int | tuple[int, ...]:
    """Return `argnums` as an int or a tuple of ints."""
    try:
        return operator.index(argnums)  # pyright: ignore[reportArgumentType]
    except TypeError:
        pass
    try:
        return tuple(operator.index(i) for i in argnums)  # pyright: ignore[reportGeneralTypeIssues]
    except TypeError:
        raise TypeError(
            message(
                name,
                f"argnums={argnums!r}",
                "an int or a sequence of ints",
                "Give the positions of the arguments to differentiate.",
            )
        ) from None


def positions(name: str, argnums: int | tuple[int, ...], count: int) -> tuple[int, ...]:
    """Return `argnums` as positions in ``range(count)``.

    Raises:
      TypeError: there are fewer positional arguments than needed.
      ValueError: a negative position lies before the first argument, or one is given twice.
    """
    nums = (argnums,) if isinstance(argnums, int) else argnums
    if not nums:
        return ()
    if max(nums) >= count:
        raise TypeError(
            message(
                name,
                f"argnums={argnums} and {count} positional argument{'' if count == 1 else 's'}",
                f"at least {max(nums) + 1} positional arguments",
                "Pass differentiated arguments by position; keyword arguments aren't "
                "differentiated.",
            )
        )
    if min(nums) < -count:
        raise ValueError(
            message(
                name,
                f"argnums={argnums} and {count} positional argument{'' if count == 1 else 's'}",
                f"positions of at least {-count} and less than {count}",
                "Count positions from 0, or from -1 for the last argument.",
            )
        )
    where = tuple(i % count for i in nums)
    if len({*where}) < len(where):
        raise ValueError(
            message(
                name,
                f"argnums={argnums} and {count} positional argument{'' if count == 1 else 's'}, "
                "so that one argument is selected twice",
                "every position once",
                "Leave the repeated position out, and use its result twice.",
            )
        )
    return where


def put(args: tuple[Any, ...], where: tuple[int, ...], values: Sequence[Any]) -> tuple[Any, ...]:
    """Return `args` with the values at these positions replaced."""
    if len(args) == len(where) == 1:
        return (values[0],)
    new = list(args)
    for i, value in zip(where, values, strict=True):
        new[i] = value
    return tuple(new)


def flatten_arguments(args: Pytree) -> tuple[list[Value], Any]:
    """Flatten what a function is differentiated at, as values of the types that it sees."""
    leaves, structure = tree.flatten(args)
    return narrow_all(leaves), structure


def type_of_leaf(name: str, x: Any, kind: str = "argument") -> AbstractValue:
    """Return the type of a leaf of an argument or of an output.

    Raises:
      TypeError: it is not an array.
    """
    try:
        return typeof(x)
    except TypeError:
        shown = repr(x)
        raise TypeError(
            message(
                name,
                f"{kind} {shown if len(shown) < 80 else shown[:77] + '...'} of type {type(x)}, "
                "which can't be differentiated",
                "arrays, NumPy arrays or Python numbers, or trees of them",
                "Close over other values: lambda x: f(x, other)."
                if kind == "argument"
                else "Return other values beside the output, with has_aux=True.",
            )
        ) from None


def check_grad_input(name: str, aval: AbstractValue, holomorphic: bool, allow_int: bool) -> None:
    """Raise unless a gradient exists with respect to a value of this type."""
    if is_ref_type(aval):
        raise TypeError(
            message(
                name,
                f"a {aval.str_short(False)} as an argument to differentiate",
                "arrays: the gradient with respect to a ref is accumulated in another ref",
                "Write _, f_vjp = vjp(f, ref), then f_vjp.with_refs(grad_ref)(1.0). Refs that "
                "argnums leaves out may be passed.",
            )
        )
    if is_hi_type(aval):
        return  # it has the tangent type that it says
    dtype = dtype_of(aval)
    if holomorphic:
        if not dtypes.is_complex(dtype):
            raise TypeError(
                message(
                    f"{name} with holomorphic=True",
                    f"an input of type {aval.str_short(False)}",
                    "complex inputs",
                    "Leave holomorphic out for real inputs.",
                )
            )
    elif not dtypes.is_inexact(dtype) and not allow_int:
        raise TypeError(
            message(
                name,
                f"an input of type {aval.str_short(False)}",
                "a floating-point or complex dtype",
                "Convert it with .astype(float), or pass allow_int=True to get a zero of dtype "
                "float0.",
            )
        )


def check_grad_output(name: str, aval: AbstractValue, holomorphic: bool) -> None:
    """Raise unless the dtype of an output has a gradient."""
    dtype = dtype_of(aval)
    if holomorphic:
        if not dtypes.is_complex(dtype):
            raise TypeError(
                message(
                    f"{name} with holomorphic=True",
                    f"an output of type {aval.str_short(False)}",
                    "complex outputs",
                    "Leave holomorphic out for real outputs.",
                )
            )
    elif not dtypes.is_inexact(dtype) or dtypes.is_complex(dtype):
        remedy = "Return floating-point numbers, or take the pullback with vjp."
        if dtypes.is_complex(dtype):
            remedy = (
                "Pass holomorphic=True if the function is holomorphic. If not, return a real "
                "number such as abs(out), or take the pullback with vjp."
            )
        raise TypeError(
            message(
                name,
                f"an output of type {aval.str_short(False)}",
                "a real floating-point dtype",
                remedy,
            )
        )


def dtype_of(aval: AbstractValue) -> Any:
    """Return the dtype of an array type; float0 for types without one."""
    return getattr(aval, "dtype", float0)


def how_to_convert(what: str, given: AbstractValue, expected: AbstractValue) -> str:
    """Say how a tangent or cotangent of one type becomes one of another.

    Args:
      what: what the caller passed, such as "the cotangent".
      given: its type.
      expected: the type that it must have.
    """
    names = "shape", "dtype"
    if any(getattr(given, n, None) != getattr(expected, n, None) for n in names):
        return f"Convert {what} with .astype or .reshape."
    lacking = getattr(expected, "manual_axes", frozenset()) - getattr(given, "manual_axes", set())
    if lacking:
        return (
            f"Only the axes along which it varies differ: write lax.pcast({what.split()[-1]}, "
            f"{tuple(sorted(lacking))}, to='varying')."
        )
    spec = getattr(getattr(expected, "sharding", None), "spec", "P()")
    return (
        f"Only the sharding differs: move {what} with tans.reshard({what.split()[-1]}, "
        f"{str(spec).replace('PartitionSpec', 'P')})."
    )


def check_pair(name: str, result: Any) -> tuple[Any, Any]:
    """Return ``(out, aux)``, or raise when a has_aux function returned something else."""
    if isinstance(result, tuple | list) and len(result) == 2:
        return result[0], result[1]
    raise TypeError(
        message(
            f"{name} with has_aux=True",
            f"an output of type {type(result).__name__}: {result!r}",
            "a two-element tuple (output, aux)",
            "Return (output, aux), or leave has_aux out.",
        )
    )
