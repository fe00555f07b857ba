"""`auto_axes` and `explicit_axes`: functions that see mesh axes with other types."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

from tans_core import is_evaluating, tree, typeof
from tans_core.explicit_mode import spec_of
from tans_core.mesh import AbstractMesh, AxisType
from tans_core.partition_spec import PartitionSpec, partition_axes
from tans_core.sharding import NamedSharding, named_sharding
from tans_lax import axis_types as calls
from tans_lax.mesh.specs import check_axes, mesh_of
from tans_xla import jit

type Axes = str | Sequence[Any] | None
type Shardings = Any  # a tree prefix of PartitionSpec or NamedSharding


def auto_axes(
    f: Callable[..., Any] | None = None,
    /,
    *,
    axes: Axes = None,
    out_sharding: Shardings = None,
) -> Any:
    """Let the compiler decide how values are sharded inside of a function.

    While `f` is traced, the chosen axes are Auto: types inside don't show them and no operation
    fails because of them. Each argument enters without moving; each result gets the sharding that
    `out_sharding` says, so types outside are known. Arrays that `f` captures rather than takes
    must not be sharded over the axes.

    Args:
      f: the function; when left out, a decorator is returned.
      axes: the mesh axes, Explicit ones; all of them when left out.
      out_sharding: tree prefix of specs or `NamedSharding` of the result. It can be given here or
        as the keyword ``out_sharding`` of a call.

    Returns:
      A function with the arguments of `f` and the keyword ``out_sharding``.

    Raises:
      TypeError: a call without `out_sharding`.
      ValueError: no mesh, or an axis that it does not have.
      NotImplementedError: an axis is Manual, or an argument is unreduced along one of the axes.

    Example:
      >>> import tans
      >>> from tans.sharding import NamedSharding, auto_axes
      >>> mesh = tans.make_mesh((1,), ("x",))
      >>> with tans.set_mesh(mesh):
      ...     x = tans.reshard(tans.numpy.array([3.0, 1.0, 2.0]), tans.P("x"))
      ...     y = auto_axes(tans.numpy.sort, out_sharding=tans.P("x"))(x)
      ...     print(y, tans.typeof(y))
      [1. 2. 3.] float32[3@x]
    """
    if f is None:
        return functools.partial(auto_axes, axes=axes, out_sharding=out_sharding)
    return _switched(f, "auto_axes", axes, AxisType.Auto, "out_sharding", out_sharding)


def explicit_axes(
    f: Callable[..., Any] | None = None,
    /,
    *,
    axes: Axes = None,
    in_sharding: Shardings = None,
) -> Any:
    """Let types say how values are sharded inside of a function: the dual of `auto_axes`.

    While `f` is traced, the chosen axes are Explicit. Each argument gets the sharding that
    `in_sharding` says; types of results don't show the axes.

    Args:
      f: the function; when left out, a decorator is returned.
      axes: the mesh axes, Auto ones; all of them when left out.
      in_sharding: tree prefix, over the tuple of arguments, of specs or `NamedSharding`. It can be
        given here or as the keyword ``in_sharding`` of a call.

    Returns:
      A function with the arguments of `f` and the keyword ``in_sharding``.

    Raises:
      TypeError: a call without `in_sharding`.
      ValueError: no mesh in context, or an axis that it does not have.
      NotImplementedError: an axis is Manual.

    Example:
      >>> import tans
      >>> from tans.sharding import AxisType, explicit_axes
      >>> mesh = tans.make_mesh((1,), ("x",), axis_types=AxisType.Auto)
      >>> with tans.set_mesh(mesh):
      ...     f = explicit_axes(lambda x: (print(tans.typeof(x)), x)[1], in_sharding=tans.P("x"))
      ...     y = f(tans.numpy.ones(4))
      float32[4@x]
    """
    if f is None:
        return functools.partial(explicit_axes, axes=axes, in_sharding=in_sharding)
    return _switched(f, "explicit_axes", axes, AxisType.Explicit, "in_sharding", in_sharding)


def _switched(
    f: Callable[..., Any],
    name: str,
    axes: Axes,
    kind: AxisType,
    keyword: str,
    default: Shardings,
) -> Callable[..., Any]:
    if not callable(f):
        raise TypeError(
            f"{name}: given {f!r} of type {type(f).__name__}, expected a function. Pass options by "
            f"keyword: {name}(f, axes=..., {keyword}=...)."
        )

    def run(shardings: Shardings, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        outer = mesh_of(*map(typeof, tree.leaves((args, kwargs)))) if args or kwargs else mesh_of()
        inner = _inner_mesh(name, outer, axes, kind)
        if inner is outer:
            return f(*args, **kwargs)
        return _call(name, f, kind, (outer, inner), shardings, args, kwargs)

    # One compiled program per function, specs, mesh and types, as for any jitted function.
    compiled = functools.cache(lambda shardings: jit(functools.partial(run, _thaw(shardings))))

    @functools.wraps(f)
    def switched(*args: Any, **kwargs: Any) -> Any:
        shardings = kwargs.pop(keyword, default)
        if shardings is None:
            raise TypeError(
                f"{name}: given no {keyword!r}; expected the specs, at decoration or at the call. "
                f"Write {name}(f, {keyword}=P(...)) or f(..., {keyword}=P(...))."
            )
        if is_evaluating():
            return compiled(_freeze(shardings))(args, kwargs)
        return run(shardings, args, kwargs)

    return switched


def _freeze(shardings: Shardings) -> Any:
    leaves, treedef = tree.flatten(shardings, is_leaf=_is_sharding)
    return tuple(leaves), treedef


def _thaw(frozen: Any) -> Shardings:
    leaves, treedef = frozen
    return tree.unflatten(treedef, list(leaves))


def _is_sharding(x: Any) -> bool:
    return x is None or isinstance(x, PartitionSpec | NamedSharding)


def _inner_mesh(name: str, outer: Any, axes: Axes, kind: AxisType) -> AbstractMesh:
    if outer is None or outer.empty:
        raise ValueError(
            f"{name}: given no mesh: there is none in context and no argument is on one; expected "
            "a mesh whose axes change their types. Call set_mesh(mesh) first."
        )
    chosen = outer.axis_names if axes is None else (axes,) if isinstance(axes, str) else tuple(axes)
    unknown = [a for a in chosen if a not in outer.axis_positions]
    if unknown:
        raise ValueError(
            f"{name}: given axes={chosen!r}, of which {unknown[0]!r} is not in {outer}; expected "
            f"axes among {outer.axis_names!r}. Correct the name."
        )
    manual = [a for a in chosen if outer.axis_type(a) is AxisType.Manual]
    if manual:
        raise NotImplementedError(
            f"{name}: given the axis {manual[0]!r}, which is Manual in {outer}; expected Auto or "
            "Explicit axes. Name the other axes in axes=, or call it outside of shard_map."
        )
    if all(outer.axis_type(a) is kind for a in chosen):
        return outer
    return outer.update_axis_types(dict.fromkeys(chosen, kind))


def _call(
    name: str,
    f: Callable[..., Any],
    kind: AxisType,
    meshes: tuple[AbstractMesh, AbstractMesh],
    shardings: Shardings,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    leaves, treedef = tree.flatten((args, kwargs))
    found: list[Any] = []

    def flat(*values: Any) -> list[Any]:
        inner_args, inner_kwargs = tree.unflatten(treedef, list(values))
        outs, out_tree = tree.flatten(f(*inner_args, **inner_kwargs))
        found.append(out_tree)
        return outs

    specs: list[Any] = [None] * len(leaves)
    if kind is AxisType.Explicit:
        specs = _entry_specs(meshes[1], shardings, leaves, args, kwargs)

    def outside(avals: Sequence[Any]) -> list[NamedSharding]:
        if kind is AxisType.Explicit:
            return [_without_new_axes(a, meshes[0]) for a in avals]
        dummy = tree.unflatten(found[0], list(avals))
        targets = tree.broadcast_prefix(shardings, dummy, is_leaf=_is_sharding)
        return [_target(name, s, a, meshes[0]) for s, a in zip(targets, avals, strict=True)]

    outs = calls.call(flat, leaves, meshes, specs, outside)
    return tree.unflatten(found[0], outs)


def _entry_specs(
    mesh: AbstractMesh,
    shardings: Shardings,
    leaves: Sequence[Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> list[PartitionSpec | None]:
    given = tree.broadcast_prefix(shardings, args, is_leaf=_is_sharding)
    given += [None] * len(tree.leaves(kwargs))
    return [
        None if s is None else _target("explicit_axes", s, typeof(x), mesh).spec
        for s, x in zip(given, leaves, strict=True)
    ]


def _target(name: str, sharding: Any, aval: Any, mesh: AbstractMesh) -> NamedSharding:
    """Return the sharding over `mesh` of a value with the type `aval`, checked."""
    if sharding is None:
        sharding = PartitionSpec()
    if not isinstance(sharding, PartitionSpec | NamedSharding):
        raise TypeError(
            f"{name}: given {sharding!r} of type {type(sharding).__name__}, expected a "
            "PartitionSpec or a NamedSharding. Write P('x', None)."
        )
    spec = sharding.spec if isinstance(sharding, NamedSharding) else sharding
    if len(spec.partitions) > aval.ndim:
        raise ValueError(
            f"{name}: given the spec {spec!r} for a value of type {aval.str_short()}, expected at "
            f"most {aval.ndim} entries. Shorten it."
        )
    target = named_sharding(mesh, spec.padded(aval.ndim))
    check_axes(target, name)
    target.shard_shape(aval.shape)  # raises unless the axes divide the dimensions
    return target


def _without_new_axes(aval: Any, outer: AbstractMesh) -> NamedSharding:
    """Return the sharding outside of a result of `explicit_axes`: its type without the new axes."""
    spec, known = spec_of(aval), frozenset(outer.explicit_axes)
    if spec.unreduced - known:
        raise ValueError(
            f"explicit_axes: the result has type {aval.str_short()}, unreduced along an axis that "
            "is Auto outside; expected results without addends there. Call reshard(x, P()) on it."
        )
    partitions = tuple(tuple(a for a in partition_axes(p) if a in known) for p in spec.partitions)
    return named_sharding(outer, spec.update(partitions=partitions, reduced=spec.reduced & known))
