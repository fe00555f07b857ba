"""`shard_map`: a program of one device's parts, run on all devices of a mesh."""

import functools
from collections.abc import Callable
from typing import Any

from tans_core import ArrayImpl, Tracer, tree, typeof
from tans_core.config import abstract_mesh
from tans_core.debug_info import CallInfo
from tans_core.errors import message
from tans_core.explicit_mode import same_mesh
from tans_core.mesh import AbstractMesh, AxisType, Mesh
from tans_core.partition_spec import PartitionSpec
from tans_core.sharding import NamedSharding
from tans_core.staging import hoist_consts, trace_to_jaxpr
from tans_lax.control_flow.interning import interned
from tans_sharding.shard_mapping.boundary import inner_mesh, manual_context, part_type
from tans_sharding.shard_mapping.primitive import shard_map_p as shard_map_p
from tans_sharding.shard_mapping.specs import (
    INFER,
    Argument,
    check_in_spec,
    check_inferable,
    check_names,
    inferred,
    settle_output,
    spread,
)
from tans_sharding.shard_mapping.user_types import attach
from tans_xla.jit.tracing import flatten_output
from tans_xla.ref_checks import check_distinct, is_ref

type Value = Any
type Axes = frozenset[Any]

attach()


def shard_map(
    f: Callable[..., Any] | None = None,
    /,
    *,
    out_specs: Any,
    in_specs: Any = INFER,
    mesh: Mesh | AbstractMesh | None = None,
    axis_names: set[Any] | frozenset[Any] = frozenset(),
    check_vma: bool = True,
) -> Any:
    """Map a function over the parts of its arguments on the devices of a mesh.

    Args:
      f: a function of one device's parts; communicates with the collectives of `tans.lax`. Without
        it, the result is a decorator.
      out_specs: tree prefix of specs for the results. Parts are lined up along the axes that a spec
        names; along the others the parts are promised to be equal.
      in_specs: tree prefix of the tuple of arguments. By default taken from the arguments' types.
        None in place of a spec leaves an argument as the Python value it is.
      mesh: the mesh; that in context when left out.
      axis_names: the axes to map; all that are not mapped yet when empty.
      check_vma: whether types say along which axes values vary, so that the promise of `out_specs`
        is checked and derivatives communicate no more than needed.

    Returns:
      A function of positional arguments, arrays of any shape.

    Raises:
      TypeError: `f` is not callable, keyword arguments, wrong classes of options, or `in_specs`
        left out for axes that are not Explicit.
      ValueError: no mesh, or another one than in context; specs that fit neither arguments nor
        results.
      NotImplementedError: `f` reads an array from outside that lies on an Explicit mesh.

    Example:
      >>> import numpy as np
      >>> from tans_core.partition_spec import P
      >>> from tans_lax.collectives import psum
      >>> from tans_sharding import make_mesh
      >>> mesh = make_mesh((1,), ("x",))
      >>> total = shard_map(lambda v: psum(v.sum(), "x"), mesh=mesh, out_specs=P())
      >>> float(total(np.ones(4, np.float32)))
      4.0
    """

    def decorate(fun: Callable[..., Any]) -> Callable[..., Any]:
        _check_function(fun)
        mapped = _Mapped(fun, in_specs, out_specs, mesh, axis_names, check_vma)

        @functools.wraps(fun)
        def call(*args: Any, **kwargs: Any) -> Any:
            if kwargs:
                raise TypeError(
                    message(
                        "shard_map",
                        f"the keyword arguments {sorted(kwargs)}",
                        "positional arguments, which in_specs refers to",
                        "Pass them by position.",
                    )
                )
            return mapped.call(args)

        return call

    return decorate if f is None else decorate(f)


def _check_function(fun: Any) -> None:
    if not callable(fun):
        raise TypeError(
            message(
                "shard_map",
                f"{fun!r} of type {type(fun).__name__}",
                "a function",
                "Pass the function itself, without calling it.",
            )
        )


class _Mapped:
    """A function with its options; `call` runs it."""

    __slots__ = ("axis_names", "check", "fun", "in_specs", "mesh", "out_specs")

    def __init__(
        self, fun: Any, in_specs: Any, out_specs: Any, mesh: Any, axis_names: Any, check: bool
    ) -> None:
        self.fun = fun
        self.in_specs = in_specs
        self.out_specs = out_specs
        self.mesh = mesh
        self.axis_names = axis_names
        self.check = bool(check)

    def call(self, args: tuple[Any, ...]) -> Any:
        mesh = resolve_mesh(self.mesh)
        abstract = mesh.abstract_mesh
        axes = check_names(self.axis_names, abstract)
        args, static = self._split_static(args)
        leaves, in_tree = tree.flatten((args, {}))
        info = CallInfo("shard_map", self.fun, in_tree, static.positions)
        avals = [_type_of(x, i, info) for i, x in enumerate(leaves)]
        check_distinct(leaves, lambda: info.place, lambda i: info.arg_names[i])
        specs = self._in_specs(abstract, axes, args, avals, static)
        for i, (spec, aval) in enumerate(zip(specs, avals, strict=True)):
            check_in_spec(abstract, axes, spec, aval, Argument(info, i, aval))
        body = _Body(self, abstract, axes, in_tree, static, info)
        closed = body.trace(
            [
                part_type(body.mesh, axes, s, a, self.check)
                for s, a in zip(specs, avals, strict=True)
            ]
        )
        closed, consts = hoist_consts(closed)
        _check_captured(consts, abstract)
        code = getattr(self.fun, "__code__", None)
        if code is not None:
            closed = interned((code, "shard_map"), closed)
        outs = shard_map_p.bind(
            *consts,
            *leaves,
            jaxpr=closed,
            mesh=mesh,
            in_specs=(*[PartitionSpec()] * len(consts), *specs),
            out_specs=tuple(body.out_specs),
            check_vma=self.check,
            newly_manual_axes=axes,
        )
        return tree.unflatten(body.out_tree, outs)

    def _split_static(self, args: tuple[Any, ...]) -> "tuple[tuple[Any, ...], _Static]":
        """Take out the arguments whose entry of in_specs is None."""
        specs = self.in_specs
        if not isinstance(specs, tuple) or len(specs) != len(args) or None not in specs:
            return args, _Static({}, len(args))
        values = {i: x for i, (x, s) in enumerate(zip(args, specs, strict=True)) if s is None}
        kept = tuple(x for i, x in enumerate(args) if i not in values)
        return kept, _Static(values, len(args))

    def _in_specs(
        self, mesh: Any, axes: Axes, args: Any, avals: list[Any], static: "_Static"
    ) -> list[PartitionSpec]:
        if self.in_specs is INFER:
            check_inferable(mesh, axes)
            return [inferred(mesh, axes, a) for a in avals]
        specs = self.in_specs
        if static.values:
            specs = tuple(s for i, s in enumerate(specs) if i not in static.values)
        found = spread("in_specs", specs, args)
        return [PartitionSpec() if s is None else s for s in found]


class _Static:
    """Arguments that are Python values, by position."""

    __slots__ = ("count", "values")

    def __init__(self, values: dict[int, Any], count: int) -> None:
        self.values = values
        self.count = count

    @property
    def positions(self) -> list[int] | None:
        """Positions of the other arguments, or None when there are no static ones."""
        if not self.values:
            return None
        return [i for i in range(self.count) if i not in self.values]

    def fill(self, args: Any) -> list[Any]:
        """Return all arguments in order."""
        rest = iter(args)
        return [self.values[i] if i in self.values else next(rest) for i in range(self.count)]


class _Body:
    """The tracing of one call: the program of the parts, the results' specs and structure."""

    def __init__(
        self, mapped: _Mapped, outer: Any, axes: Axes, in_tree: Any, static: _Static, info: Any
    ) -> None:
        self.mapped = mapped
        self.outer = outer
        self.mesh = inner_mesh(outer, axes)
        self.axes = axes
        self.in_tree = in_tree
        self.static = static
        self.info = info
        self.out_specs: list[PartitionSpec] = []
        self.out_tree: Any = None

    def trace(self, avals: list[Any]) -> Any:
        """Record the program of parts of the given types."""
        with manual_context(self.mesh, self.axes, self.mapped.check):
            return trace_to_jaxpr(self._flat, avals, self.info)

    def _flat(self, *leaves: Value) -> list[Value]:
        mapped = self.mapped
        args, _ = tree.unflatten(self.in_tree, leaves)
        out = mapped.fun(*self.static.fill(args))
        outs, self.out_tree = flatten_output(out, self.info)
        full = tree.unflatten(self.out_tree, list(range(len(outs))))
        self.out_specs = spread("out_specs", mapped.out_specs, full)
        count = len(outs)
        return [
            settle_output(self.outer, self.axes, spec, x, typeof(x), (i, count), mapped.check)
            for i, (spec, x) in enumerate(zip(self.out_specs, outs, strict=True))
        ]


def resolve_mesh(given: Any) -> Any:
    """Return the mesh of a call: that in context, or the one given.

    Raises:
      TypeError: not a mesh.
      ValueError: none at all, or another one than in context.
    """
    context = abstract_mesh.value
    if given is None:
        if context is None:
            raise ValueError(
                message(
                    "shard_map",
                    "no mesh, and none is in context",
                    "a mesh to map over",
                    "Pass mesh=..., or call set_mesh(mesh) first.",
                )
            )
        return context
    if not isinstance(given, Mesh | AbstractMesh):
        raise TypeError(
            message(
                "shard_map",
                f"mesh={given!r} of type {type(given).__name__}",
                "a Mesh or an AbstractMesh",
                "Make one with make_mesh(sizes, names).",
            )
        )
    if given.empty:
        raise ValueError(
            message("shard_map", f"mesh={given!r} without axes", "axes to map over", "Name some.")
        )
    if context is None:
        return given
    if not same_mesh(_without_manual(context, given), given.abstract_mesh):
        raise ValueError(
            message(
                "shard_map",
                f"mesh={given!s}",
                f"the context mesh {context}: the mesh given should match the mesh in context",
                "Leave mesh out, or set the other mesh with set_mesh.",
            )
        )
    return context


def _without_manual(context: Any, given: Any) -> Any:
    """Return the context mesh with the types of `given` where an outer map made them manual."""
    if not context.manual_axes or context.axis_names != given.axis_names:
        return context
    types = {a: given.axis_type(a) for a in context.manual_axes}
    return context.update_axis_types(types)


def _type_of(x: Any, i: int, info: CallInfo) -> Any:
    try:
        return typeof(x)
    except TypeError as error:
        raise TypeError(
            message(
                "shard_map",
                f"argument {info.arg_names[i]} = {x!r} of type {type(x).__name__}",
                "an array or a scalar",
                "Give its entry of in_specs as None to pass it as a Python value.",
            )
        ) from error


def _check_captured(consts: list[Any], mesh: Any) -> None:
    for x in consts:
        if is_ref(x):
            raise ValueError(
                message(
                    "shard_map",
                    f"a function that closes over a {x.aval.str_short(False)}",
                    "refs that are arguments, since each device has its part",
                    "Please pass the ref as an argument of shard_map, with its entry of in_specs.",
                )
            )
        sharding = getattr(x, "_sharding", None) if isinstance(x, ArrayImpl) else None
        on_mesh = isinstance(sharding, NamedSharding) and (
            AxisType.Explicit in sharding.mesh.axis_types
        )
        if on_mesh or (isinstance(x, Tracer) and AxisType.Explicit in mesh.axis_types):
            raise NotImplementedError(
                message(
                    "shard_map",
                    f"a function that reads a value of type {typeof(x).str_short(False)} from "
                    "outside, on a mesh with Explicit axes",
                    "a function that reads its arguments only",
                    "Add a parameter for it, with its own entry of in_specs.",
                )
            )
