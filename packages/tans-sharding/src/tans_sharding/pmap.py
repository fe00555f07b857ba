"""`pmap`: a function mapped over the first devices, one element of an axis on each."""

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from tans_core import Tracer, tree, typeof
from tans_core.config import abstract_mesh
from tans_core.debug_info import name_of
from tans_core.errors import message
from tans_core.mesh import Mesh
from tans_core.partition_spec import PartitionSpec
from tans_core.sharding import IndivisibleError, named_sharding
from tans_lax.shape import expand_dims, squeeze
from tans_sharding.pmap_axes import (
    check_devices,
    check_in_axes,
    mapped_dim,
    positions_of,
    result_dim,
    spec_of_dim,
    spread,
)
from tans_sharding.pmap_processes import SharedProgram, check_own_elements, line_of
from tans_sharding.shard_mapping import shard_map
from tans_xla import device_put, jit, process_count
from tans_xla import devices as all_devices

type Value = Any

_DEFAULT_NAME: Final = "_internal_pmap_axis_name"


def pmap(
    fun: Callable[..., Any] | None = None,
    axis_name: Any = None,
    *,
    in_axes: Any = 0,
    out_axes: Any = 0,
    static_broadcasted_argnums: int | Iterable[int] = (),
    devices: Sequence[Any] | None = None,
    backend: str | None = None,
    axis_size: int | None = None,
    donate_argnums: int | Iterable[int] = (),
) -> Any:
    """Map a function over an axis whose elements lie on one device each.

    It is `jit` of `shard_map` over a mesh of one axis, made for the call; `shard_map` says more and
    can do more. In a job of several processes, all call it: the axis goes over the devices of all,
    each process gives one element for each device of its own and gets the results of these.

    Args:
      fun: a function of the elements.
      axis_name: name by which collectives refer to the axis.
      in_axes: the mapped dimension of each positional argument: an int, None, or a tuple with one
        tree of them per argument. Keyword arguments are mapped along dimension 0.
      out_axes: the dimension along which results are lined up; None for those that are equal.
      static_broadcasted_argnums: positions of arguments that are hashable Python values.
      devices: the devices; by default the first ones.
      backend: platform of the devices.
      axis_size: number of elements, those of all processes, checked against the arguments.
      donate_argnums: positions of arguments whose buffers may be overwritten.

    Returns:
      A function; its results are arrays sharded over the devices. It has `lower`.

    Raises:
      TypeError: `fun` is missing, or options of the wrong class.
      ValueError: nothing is mapped, sizes differ or exceed the number of devices, or another mesh
        is in context.

    Example:
      >>> pmap(lambda x: x * 2)(np.arange(1.0)).tolist()
      [0.0]
    """
    if fun is None or not callable(fun):
        hint = f"@functools.partial(pmap, axis_name={axis_name!r})"
        raise TypeError(
            message(
                "pmap",
                "no function" if fun is None else f"{fun!r} of type {type(fun).__name__}",
                "the function to map as the first argument",
                f"As a decorator with options, write {hint}.",
            )
        )
    options = _Options(
        fun=fun,
        name=_DEFAULT_NAME if axis_name is None else axis_name,
        in_axes=check_in_axes(in_axes),
        out_axes=out_axes,
        static=positions_of(static_broadcasted_argnums),
        devices=check_devices(devices),
        backend=backend,
        size=axis_size,
        donated=positions_of(donate_argnums),
    )

    @functools.wraps(fun)
    def call(*args: Any, **kwargs: Any) -> Any:
        run, args = options.prepare(args, kwargs)
        return run(*args)

    def lower(*args: Any, **kwargs: Any) -> Any:
        run, args = options.prepare(args, kwargs)
        return run.lower(*args)

    call.lower = lower  # pyright: ignore[reportAttributeAccessIssue]
    return call


class _Options:
    """A function with its options, and the programs made of it."""

    def __init__(
        self,
        *,
        fun: Callable[..., Any],
        name: Any,
        in_axes: Any,
        out_axes: Any,
        static: tuple[int, ...],
        devices: tuple[Any, ...] | None,
        backend: str | None,
        size: int | None,
        donated: tuple[int, ...],
    ) -> None:
        self.fun = fun
        self.name = name
        self.in_axes = in_axes
        self.out_axes = out_axes
        self.static = static
        self.devices = devices
        self.backend = backend
        self.size = size
        self.donated = donated
        self.programs: dict[Any, Callable[..., Any]] = {}

    def prepare(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, tuple[Any, ...]]:
        """Return a jitted function of the flat dynamic arguments, and these."""
        static = self._static_values(args)
        dynamic = tuple(x for i, x in enumerate(args) if i not in static)
        axes = self._flat_axes(dynamic, kwargs, len(args), static)
        leaves, in_tree = tree.flatten((dynamic, kwargs))
        dims = [mapped_dim(x, axis) for x, axis in zip(leaves, axes, strict=True)]
        size = self._mapped_size(leaves, dims)
        mesh = self._mesh(size, leaves)
        context = abstract_mesh.value
        if context is not None and context != mesh.abstract_mesh:
            raise ValueError(
                message(
                    "pmap",
                    f"a call under the mesh {context}",
                    f"no mesh in context: its own, {mesh.abstract_mesh}, should match the mesh in "
                    "context",
                    "Call it outside of set_mesh and of other maps, or use shard_map.",
                )
            )
        key = (in_tree, tuple(dims), tuple(static.items()), mesh)
        run = self.programs.get(key)
        if run is None:
            run = self.programs[key] = self._program(in_tree, dims, static, len(args), mesh)
        return run, tuple(leaves)

    def _static_values(self, args: tuple[Any, ...]) -> dict[int, Any]:
        static: dict[int, Any] = {}
        for i in self.static:
            position = i + len(args) if i < 0 else i
            if not 0 <= position < len(args):
                raise ValueError(
                    message(
                        "pmap",
                        f"static_broadcasted_argnums={self.static} in a call with {len(args)} "
                        "positional arguments",
                        "all static arguments passed by position",
                        "Pass them before the keyword arguments.",
                    )
                )
            try:
                hash(args[position])
            except TypeError:
                raise ValueError(
                    message(
                        "pmap",
                        f"a static argument {position} of type {type(args[position]).__name__}, "
                        "which has no hash",
                        "hashable static arguments",
                        "Pass a tuple instead of a list, and arrays as dynamic arguments.",
                    )
                ) from None
            static[position] = args[position]
        return static

    def _flat_axes(
        self, dynamic: Any, kwargs: Any, count: int, static: dict[int, Any]
    ) -> list[int | None]:
        axes = self.in_axes
        if isinstance(axes, tuple):
            if len(axes) != count:
                raise ValueError(
                    message(
                        "pmap",
                        f"in_axes={axes!r} for {count} positional arguments",
                        "one entry per positional argument",
                        "Give one for each, also for static ones.",
                    )
                )
            axes = tuple(a for i, a in enumerate(axes) if i not in static)
        found = spread("in_axes", axes, dynamic)
        return [*found, *[0] * len(tree.leaves(kwargs))]

    def _mapped_size(self, leaves: Sequence[Value], dims: Sequence[int | None]) -> int:
        sizes = {typeof(x).shape[d] for x, d in zip(leaves, dims, strict=True) if d is not None}
        if not sizes:
            raise ValueError(
                message(
                    "pmap",
                    f"in_axes={self.in_axes!r}, which maps nothing",
                    "at least one argument with a mapped axis",
                    "Map an argument, or use jit.",
                )
            )
        if len(sizes) > 1:
            shapes = [typeof(x).str_short() for x in leaves]
            raise IndivisibleError(
                message(
                    "pmap",
                    f"mapped axes of sizes {sorted(sizes)} in the jit arguments {shapes}",
                    "one size",
                    "Use in_axes=None for arguments that are not mapped.",
                )
            )
        (size,) = sizes
        if not size:
            raise ValueError(
                message(
                    "pmap",
                    "mapped axes of size 0",
                    "one element or more, each for a device",
                    "Leave the call out when there is nothing to map.",
                )
            )
        return size

    def _mesh(self, size: int, leaves: Sequence[Value]) -> Mesh:
        pool = list(all_devices(self.backend) if self.devices is None else self.devices)
        if process_count(self.backend) > 1:
            mesh = line_of(pool, self.name)
            if mesh.is_multi_process:
                check_own_elements(mesh, leaves, size, self.size)
                return mesh
        if self.size is not None and size != self.size:
            raise ValueError(
                message(
                    "pmap",
                    f"axis_size={self.size} and mapped axes of size {size}",
                    "one size",
                    "Leave axis_size out.",
                )
            )
        if size > len(pool):
            raise IndivisibleError(
                message(
                    "pmap",
                    f"mapped axes of size {size} in the jit arguments, and {len(pool)} devices",
                    "at most one element per device",
                    "Use vmap inside for more elements, or shard_map.",
                )
            )
        return line_of(pool[:size], self.name)

    def _program(
        self,
        in_tree: Any,
        dims: Sequence[int | None],
        static: dict[int, Any],
        count: int,
        mesh: Mesh,
    ) -> Callable[..., Any]:
        name = self.name
        out_specs: list[PartitionSpec] = []
        out_tree: list[Any] = []

        def element(*parts: Value) -> list[Value]:
            own = [x if d is None else squeeze(x, (d,)) for x, d in zip(parts, dims, strict=True)]
            dynamic, kwargs = tree.unflatten(in_tree, own)
            rest = iter(dynamic)
            args = [static[i] if i in static else next(rest) for i in range(count)]
            outs, found = tree.flatten(self.fun(*args, **kwargs))
            full = tree.unflatten(found, list(range(len(outs))))
            axes = spread("out_axes", self.out_axes, full)
            ranks = [typeof(x).ndim + 1 for x in outs]
            settled = [result_dim(a, r) for a, r in zip(axes, ranks, strict=True)]
            out_tree[:] = [found]
            out_specs[:] = [spec_of_dim(d, name) for d in settled]
            return [
                x if d is None else expand_dims(x, (d,)) for x, d in zip(outs, settled, strict=True)
            ]

        def mapped(*leaves: Value) -> Any:
            # The specs of results are known, and read, once the function has run.
            outs = shard_map(
                element,
                mesh=mesh,
                in_specs=tuple(spec_of_dim(d, name) for d in dims),
                out_specs=out_specs,
                check_vma=False,
            )(*leaves)
            return tree.unflatten(out_tree[0], outs)

        mapped.__name__ = mapped.__qualname__ = name_of(self.fun)
        compiled = jit(mapped, donate_argnums=self._donated(in_tree, static))
        if mesh.is_multi_process:
            return SharedProgram(compiled, mesh, dims)
        shardings = [named_sharding(mesh, spec_of_dim(d, name)) for d in dims]

        @functools.wraps(mapped)
        def run(*leaves: Value) -> Any:
            pairs = zip(leaves, shardings, strict=True)
            placed = [x if isinstance(x, Tracer) else device_put(x, s) for x, s in pairs]
            return compiled(*placed)

        run.lower = compiled.lower  # pyright: ignore[reportAttributeAccessIssue]
        return run

    def _donated(self, in_tree: Any, static: dict[int, Any]) -> tuple[int, ...]:
        """Return the positions of donated leaves."""
        if not self.donated:
            return ()
        args, kwargs = tree.unflatten(in_tree, list(range(in_tree.num_leaves)))
        del kwargs
        positions = [i for i in range(len(args) + len(static)) if i not in static]
        return tuple(
            leaf
            for i, arg in zip(positions, args, strict=True)
            if i in self.donated
            for leaf in tree.leaves(arg)
        )
