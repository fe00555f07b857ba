"""`vmap`: a function of one element becomes a function of arrays of elements."""

import functools
from collections.abc import Callable, Hashable
from typing import Any

from tans_batching.axes import (
    Axes,
    Dim,
    argument_names,
    check_in_axes,
    check_leaves,
    find_size,
    flat_in_axes,
    flat_out_axes,
    normalize_dim,
)
from tans_batching.element_types import check_states, mesh_axis_of
from tans_batching.trace import Value, batch_flat, match_dim, other_spec
from tans_core import tree
from tans_core.context import AxisData
from tans_core.debug_info import CallInfo
from tans_core.errors import message
from tans_core.hi_types import MappingSpec, is_hi_type
from tans_core.partition_spec import partition_axes
from tans_core.state import transformed_names
from tans_core.tracebacks import hide_frames
from tans_core.tree_registry import registry
from tans_core.types import AbstractValue
from tans_core.values import typeof
from tans_lax.reductions import reduce_sum
from tans_xla.jit.signature import check_callable
from tans_xla.ref_checks import check_distinct, check_not_returned, is_ref
from tans_xla.wide_arrays import narrow_all

type AxisName = Hashable


def vmap[F: Callable[..., Any]](
    fun: F,
    in_axes: Axes = 0,
    out_axes: Axes = 0,
    axis_name: AxisName | None = None,
    axis_size: int | None = None,
    spmd_axis_name: AxisName | tuple[AxisName, ...] | None = None,
    sum_match: bool = False,
) -> F:
    """Map a function over an axis of its arguments, all elements at once.

    The function is called once, on values that stand for one element; each of its operations is
    done for all elements.

    Args:
      fun: takes and returns arrays or trees of them.
      in_axes: which axis of each argument to map over: an int for all positional arguments, None
        for arguments that every element shares, or a tuple with one entry (int, None, or a tree
        of them) per positional argument. Negative axes count from the last. Keyword arguments are
        mapped along their first axis.
      out_axes: where the mapped axis goes in the results: an int, None for results that are the
        same for all elements, or a tree of them.
      axis_name: name of the mapped axis for collectives such as `lax.psum`.
      axis_size: number of elements, needed when no argument is mapped.
      spmd_axis_name: mesh axis or axes over which the mapped axis is sharded, put into the
        sharding constraints inside the function.
      sum_match: for out_axes=None, sum mapped results over the elements instead of refusing.

    Returns:
      A function with the signature of `fun`, whose mapped arguments and results have one more
      axis.

    Raises:
      TypeError: `fun` is not callable, or the axes are not ints or None.
      ValueError: mapped axes differ in size, an argument has too few dimensions, or a result that
        depends on the mapped arguments has out_axes=None.

    Example:
      >>> import numpy as np
      >>> import tans_lax as lax
      >>> add = vmap(lambda x, y: lax.add(x, y), in_axes=(0, None))
      >>> add(np.arange(3.0), 1.0)
      Array([1., 2., 3.], dtype=float32)
    """
    check_callable("vmap", fun)
    in_axes = check_in_axes(in_axes)
    check_leaves("out_axes", out_axes)
    spmd_name = _spmd_names(spmd_axis_name)

    @functools.wraps(fun)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        try:
            return _call(
                fun, args, kwargs, in_axes, out_axes, axis_name, axis_size, spmd_name, sum_match
            )
        except BaseException as error:
            hide_frames(error)
            raise

    return mapped  # type: ignore[return-value]  # the signature is that of fun


def _spmd_names(name: Any) -> tuple[AxisName, ...] | None:
    if name is None:
        return None
    return tuple(name) if isinstance(name, tuple | list) else (name,)


def _call(
    fun: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    in_axes: Axes,
    out_axes: Axes,
    axis_name: AxisName | None,
    axis_size: int | None,
    spmd_name: tuple[AxisName, ...] | None,
    sum_match: bool,
) -> Any:
    flat, in_tree = registry.flatten((args, kwargs))
    flat = narrow_all(flat)
    raw_dims = flat_in_axes(in_axes, args, kwargs)
    dims = [
        None if axis is None else _mapped_dim(fun, in_tree, i, x, axis)
        for i, (x, axis) in enumerate(zip(flat, raw_dims, strict=True))
    ]
    if any(map(is_ref, flat)):
        info = CallInfo("vmap", fun, in_tree)
        check_distinct(flat, lambda: info.place, lambda i: info.arg_names[i])
    size = find_size(fun, in_tree, flat, dims, axis_size)
    mesh_axes = [
        mesh_axis_of(typeof(x), d) for x, d in zip(flat, dims, strict=True) if d is not None
    ]
    mesh_axis = _common_mesh_axis(mesh_axes, spmd_name)
    mesh = None if mesh_axis is None else _mesh_of(flat, dims)
    axis = AxisData(size, axis_name, spmd_name, mesh_axis, mesh)
    out_tree = None

    def flat_fun(*tracers: Value) -> list[Value]:
        nonlocal out_tree
        args, kwargs = in_tree.unflatten(tracers)
        out = fun(*args, **kwargs)
        outs, out_tree = registry.flatten(out)
        check_not_returned(
            outs,
            lambda i: "".join(map(str, registry.flatten_with_path(out)[0][i][0])),
            CallInfo("vmap", fun, in_tree),
        )
        return outs

    with transformed_names("vmap"):
        outs, out_dims = batch_flat(flat_fun, axis, flat, dims, fun)
    wanted = flat_out_axes(out_axes, out_tree)
    results = [
        _place(axis, x, d, w, out_tree, i, sum_match)
        for i, (x, d, w) in enumerate(zip(outs, out_dims, wanted, strict=True))
    ]
    return out_tree.unflatten(results)  # type: ignore[union-attr]


def _mesh_of(args: list[Any], dims: list[Dim]) -> Any:
    """Return the mesh of the first argument that is sharded along the mapped axis."""
    avals: list[Any] = [typeof(x) for x, d in zip(args, dims, strict=True) if d is not None]
    return next(a.sharding.mesh for a in avals if getattr(a, "is_sharded", False))


def _common_mesh_axis(mesh_axes: list[Any], spmd_name: tuple[AxisName, ...] | None) -> Any:
    """Return how the mapped axis is sharded; arguments have to agree.

    Raises:
      ValueError: two arguments are sharded differently along it, or not over spmd_axis_name.
    """
    found = mesh_axes[0] if mesh_axes else None
    if any(other != found for other in mesh_axes):
        kinds = sorted({repr(other) for other in mesh_axes})
        raise ValueError(
            message(
                "vmap",
                f"arguments with inconsistent axis specs: their mapped axes are sharded over "
                f"{' and '.join(kinds)}",
                "one sharding of the mapped axis",
                "Reshard the arguments alike first, with reshard.",
            )
        )
    if found is not None and spmd_name is not None and partition_axes(found) != spmd_name:
        raise ValueError(
            message(
                "vmap",
                f"spmd_axis_name={spmd_name!r} for arguments whose mapped axis is sharded over "
                f"{found!r}",
                "the same mesh axes",
                "Leave spmd_axis_name out: an explicit sharding says it.",
            )
        )
    return found


def _mapped_dim(fun: Callable[..., Any], in_tree: Any, index: int, x: Value, axis: Any) -> Any:
    try:
        aval = typeof(x)
    except TypeError as error:
        name = argument_names(fun, in_tree)[index]
        raise TypeError(f"vmap: argument {name}: {error}") from None
    check_states(aval)
    return normalize_dim(aval, axis, lambda: f"argument {argument_names(fun, in_tree)[index]}")


def _place(
    axis: AxisData, x: Value, dim: Dim, wanted: Any, out_tree: Any, index: int, sum_match: bool
) -> Value:
    """Put the mapped axis of a result where `out_axes` says."""
    if wanted is None:
        if dim is None:
            return x
        if sum_match:
            return reduce_sum(x, (dim,))
        raise ValueError(
            message(
                "vmap",
                f"out_axes None for {_result_name(out_tree, index)}, which is mapped along axis "
                f"{dim} of type {typeof(x).str_short(False)}",
                "an int, because the result differs between elements",
                "Use out_axes=0, or reduce the result over the named axis, as with lax.pmean.",
            )
        )
    aval = _result_type(x, out_tree, index)
    if isinstance(dim, MappingSpec) or isinstance(wanted, MappingSpec) or is_hi_type(aval):
        if dim != wanted:
            raise ValueError(other_spec(dim, wanted))
        return x
    ndim = aval.ndim + (dim is None)  # type: ignore[attr-defined]
    place = wanted.__index__()
    if not -ndim <= place < ndim:
        raise ValueError(
            message(
                "vmap",
                f"out_axes {place} for {_result_name(out_tree, index)}, which has {ndim} "
                "dimensions with the mapped one",
                f"at least {-ndim} and less than {ndim}: axis {place} is out of bounds",
                "Use out_axes=0 to put the mapped axis first.",
            )
        )
    return match_dim(axis, x, dim, place % ndim)


def _result_type(x: Value, out_tree: Any, index: int) -> AbstractValue:
    try:
        return typeof(x)
    except TypeError as error:
        raise TypeError(f"vmap: {_result_name(out_tree, index)}: {error}") from None


def _result_name(out_tree: Any, index: int) -> str:
    marked = out_tree.unflatten(range(out_tree.num_leaves))
    path = tree.leaves_with_path(marked)[index][0]
    return "result" + "".join(map(str, path))
