"""`in_axes` and `out_axes` of vmap: from what users write to one entry per leaf, and its errors."""

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from tans_core import tree
from tans_core.debug_info import CallInfo
from tans_core.errors import message
from tans_core.hi_types import MappingSpec, is_hi_type
from tans_core.tree_paths import raise_prefix_error
from tans_core.tree_registry import registry
from tans_core.types import AbstractValue
from tans_core.values import typeof

type Axes = Any  # an int, None, or a tree of them
type Dim = Any  # an int, None, or a MappingSpec for values of user types


def _is_none(x: Any) -> bool:
    return x is None


def _is_axis(x: Any) -> bool:
    if x is None or isinstance(x, MappingSpec):
        return True
    return hasattr(x, "__index__") and not isinstance(x, bool)


def check_in_axes(in_axes: Axes) -> Axes:
    """Return `in_axes` with an outer list made a tuple, after checking its leaves.

    Raises:
      TypeError: a leaf is neither an int nor None, or the outermost container is not a sequence.
    """
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)
    if not _is_axis(in_axes) and not isinstance(in_axes, tuple):
        raise TypeError(
            message(
                "vmap",
                f"in_axes={in_axes!r}",
                "an int, None, or a tuple with one entry per positional argument",
                "For one argument that is a container, write in_axes=(axes,).",
            )
        )
    check_leaves("in_axes", in_axes)
    return in_axes


def check_leaves(name: str, axes: Axes) -> None:
    """Raise TypeError unless all leaves are ints or None."""
    bad = [x for x in registry.flatten(axes, _is_none)[0] if not _is_axis(x)]
    if bad:
        raise TypeError(
            message(
                "vmap",
                f"{name}={axes!r} with the leaf {bad[0]!r} of type {type(bad[0]).__name__}",
                "ints and None, or containers of them",
                f"Write {name}=0 for the first axis, or None for values that are not mapped.",
            )
        )


def flat_in_axes(in_axes: Axes, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Dim]:
    """Return one entry per leaf of ``(args, kwargs)``; keyword arguments are mapped along 0.

    Raises:
      ValueError: `in_axes` is not a prefix of the arguments.
    """
    kwargs_dims: list[Dim] = [0] * len(tree.leaves(kwargs))
    if _is_axis(in_axes):
        return [in_axes] * len(tree.leaves(args)) + kwargs_dims
    if len(in_axes) != len(args) and in_axes != ():
        raise ValueError(
            message(
                "vmap",
                f"in_axes={in_axes!r} with {len(in_axes)} entries for {len(args)} positional "
                f"argument{'' if len(args) == 1 else 's'}",
                "one entry per positional argument",
                "Give one for each; keyword arguments need none, their axis is the first.",
            )
        )
    if len(in_axes) != len(args):
        return [*[0] * len(tree.leaves(args)), *kwargs_dims]
    return _spread("in_axes", in_axes, args) + kwargs_dims


def flat_out_axes(out_axes: Axes, out_tree: Any) -> list[Dim]:
    """Return one entry per leaf of the result.

    Raises:
      TypeError: a leaf of `out_axes` is neither an int nor None.
      ValueError: `out_axes` is not a prefix of the result.
    """
    if _is_axis(out_axes):
        return [out_axes] * out_tree.num_leaves
    check_leaves("out_axes", out_axes)
    return _spread("out_axes", out_axes, out_tree.unflatten([0] * out_tree.num_leaves))


def _spread(name: str, axes: Axes, full: Any) -> list[Dim]:
    flat, treedef = registry.flatten(axes, _is_none)
    try:
        subtrees = treedef.flatten_up_to(full)
    except ValueError as error:
        fallback = error
    else:
        flatten = registry.flatten
        return [
            axis for axis, subtree in zip(flat, subtrees, strict=True) for _ in flatten(subtree)[0]
        ]
    what = "arguments" if name == "in_axes" else "result"
    remedy = f"Let {name} have the containers of the {what}, or a prefix of them."
    raise_prefix_error("vmap", name, axes, full, _is_none, remedy, fallback)
    raise AssertionError("unreachable")


def normalize_dim(x_aval: AbstractValue, axis: Any, describe: Callable[[], str]) -> Any:
    """Return a non-negative mapped dimension.

    Raises:
      ValueError: the value has too few dimensions.
    """
    if isinstance(axis, MappingSpec):
        return axis
    if is_hi_type(x_aval):
        raise ValueError(
            message(
                "vmap",
                f"axis {axis} for {describe()} of type {x_aval.str_short()}",
                "a MappingSpec: an integer stands for an axis of an array, and a value of a user "
                "type is none",
                "Write the type's mapping spec in in_axes, and give axis_size.",
            )
        )
    shape = getattr(x_aval, "shape", ())
    axis = axis.__index__()
    if not -len(shape) <= axis < len(shape):
        needed = axis + 1 if axis >= 0 else -axis
        raise ValueError(
            message(
                "vmap",
                f"{describe()} of type {x_aval.str_short(False)} to map along axis {axis}",
                f"an argument with at least {needed} dimensions; it has {len(shape)}",
                "Use in_axes=None for values that are not mapped.",
            )
        )
    return axis % len(shape) if shape else 0


def find_size(
    fun: Callable[..., Any],
    in_tree: Any,
    args: Sequence[Any],
    dims: Sequence[Dim],
    axis_size: int | None,
) -> int:
    """Return the number of elements along the mapped axis.

    Raises:
      ValueError: nothing is mapped and no size is given, or sizes differ.
    """
    size = axis_size
    for x, dim in zip(args, dims, strict=True):
        if dim is not None and not isinstance(dim, MappingSpec):
            own = typeof(x).shape[dim]  # type: ignore[union-attr]
            if size is None:
                size = own
            elif own != size:
                _raise_sizes(fun, in_tree, args, dims, axis_size)
    if size is None:
        _raise_nothing_mapped(args, dims)
    return size


def _raise_nothing_mapped(args: Sequence[Any], dims: Sequence[Dim]) -> NoReturn:
    if any(isinstance(d, MappingSpec) for d in dims):
        raise ValueError(
            message(
                "vmap",
                "mapped values of user types only, whose specs don't say how many elements there "
                "are",
                "the number of elements",
                "Pass axis_size=n.",
            )
        )
    if not args:
        raise ValueError(
            message(
                "vmap",
                "no arguments that contain an array",
                "at least one array to map over, or axis_size",
                "Pass axis_size=n to run the function n times without arguments.",
            )
        )
    raise ValueError(
        message(
            "vmap",
            "in_axes that map no argument",
            "an axis of some argument, or axis_size",
            "Pass axis_size=n, or map one of the arguments.",
        )
    )


def _raise_sizes(
    fun: Callable[..., Any],
    in_tree: Any,
    args: Sequence[Any],
    dims: Sequence[Dim],
    axis_size: int | None,
) -> NoReturn:
    """List every mapped argument, grouped by the size of its mapped axis."""
    by_size: dict[int, list[str]] = {}
    if axis_size is not None:
        by_size.setdefault(axis_size, []).append("the argument axis_size")
    names = argument_names(fun, in_tree)
    for name, x, dim in zip(names, args, dims, strict=True):
        if dim is not None and not isinstance(dim, MappingSpec):
            aval = typeof(x)
            own = aval.shape[dim]  # type: ignore[union-attr]
            text = f"axis {dim} of argument {name} of type {aval.str_short(False)}"
            by_size.setdefault(own, []).append(text)
    lines = [f"  * size {size}: {'; '.join(items)}" for size, items in by_size.items()]
    raise ValueError(
        "vmap: given mapped axes of different sizes; expected one size:\n"
        + "\n".join(lines)
        + "\nUse in_axes=None for arguments that are not mapped, or map another axis of them."
    )


def argument_names(fun: Callable[..., Any], in_tree: Any) -> list[str]:
    """Return one name per flat argument, such as ``x['w']`` or ``kwargs['k']``."""
    paths = registry.flatten_with_path(in_tree.unflatten(range(in_tree.num_leaves)))[0]
    names = CallInfo("vmap", fun, in_tree).arg_names
    return [
        "kwargs" + "".join(map(str, path[1:])) if path[0].idx == 1 else name
        for (path, _), name in zip(paths, names, strict=True)
    ]
