"""Calls of functions that see mesh axes with other types: Auto ones as Explicit, or the reverse.

Values keep where they lie. What changes is who decides for the operations inside: on Explicit axes
the types, on Auto axes the compiler. Types outside and inside of such a call are over meshes that
differ in their axis types only.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

from tans_core import Primitive, hoist_consts, trace_to_jaxpr, typeof
from tans_core.config import abstract_mesh
from tans_core.explicit_mode import spec_of, type_sharding
from tans_core.jaxpr import ClosedJaxpr
from tans_core.mesh import AbstractMesh
from tans_core.partition_spec import PartitionSpec
from tans_core.sharding import NamedSharding, named_sharding

type Value = Any

axes_call_p: Final = Primitive("axes_call", family=__name__, multiple_results=True, call_like=True)
"""Params: jaxpr (its types are over `mesh`), mesh, outer_mesh, out_shardings (one per result: a
`NamedSharding` over `outer_mesh`, or None for a result that keeps the type it has inside)."""


class mesh_context:  # noqa: N801  (a context manager in the form of a function)
    """Context manager: trace with an abstract mesh in context."""

    __slots__ = ("_before", "_mesh")

    def __init__(self, mesh: AbstractMesh) -> None:
        self._mesh = mesh

    def __enter__(self) -> None:
        self._before = abstract_mesh.swap_local(self._mesh)

    def __exit__(self, *_: object) -> None:
        abstract_mesh.set_local(self._before)


def type_inside(aval: Any, mesh: AbstractMesh, spec: PartitionSpec | None = None) -> Any:
    """Return the type of a value over a mesh with other axis types.

    Args:
      aval: its type outside.
      mesh: the mesh inside.
      spec: its spec inside; the same as outside when left out. Axes that are not Explicit inside
        are dropped.

    Raises:
      NotImplementedError: the value is unreduced along an axis that is Auto inside.
    """
    if not hasattr(aval, "_sharding"):
        return aval
    spec = spec_of(aval) if spec is None else spec.padded(aval.ndim)
    explicit = frozenset(mesh.explicit_axes)
    if spec.unreduced - explicit:
        raise NotImplementedError(
            f"auto_axes: given an argument of type {aval.str_short()}, which is unreduced along "
            f"{sorted(map(str, spec.unreduced - explicit))}; expected arguments whose addends are "
            "summed along axes that become Auto. Call reshard(x, P()) first."
        )
    if spec.reduced - explicit:
        spec = spec.update(reduced=spec.reduced & explicit)
    return aval.update(sharding=type_sharding(mesh, spec, aval.ndim))


def type_outside(aval: Any, sharding: NamedSharding | None) -> Any:
    """Return the type of a result: that inside, or the one that `sharding` says."""
    if sharding is None or not hasattr(aval, "_sharding"):
        return aval
    return aval.update(sharding=type_sharding(sharding.mesh, sharding.spec, aval.ndim))


def sharding_outside(aval: Any, mesh: AbstractMesh) -> NamedSharding | None:
    """Return the sharding over the outer mesh that a type outside says."""
    if not hasattr(aval, "_sharding"):
        return None
    if aval._sharding is not None:
        return aval._sharding
    return named_sharding(mesh, PartitionSpec(*(None,) * aval.ndim))


def call(
    fun: Callable[..., Sequence[Value]],
    args: Sequence[Value],
    meshes: tuple[AbstractMesh, AbstractMesh],
    in_specs: Sequence[PartitionSpec | None],
    out_shardings: Callable[[Sequence[Any]], Sequence[NamedSharding]],
) -> list[Value]:
    """Call a function that sees other axis types.

    Args:
      fun: takes and returns flat lists of values.
      args: its arguments.
      meshes: the mesh outside and inside.
      in_specs: spec of each argument inside, or None for that outside.
      out_shardings: from types of the results inside to shardings over the mesh outside.
    """
    outer, inner = meshes
    avals = [type_inside(typeof(x), inner, s) for x, s in zip(args, in_specs, strict=True)]
    with mesh_context(inner):
        closed = trace_to_jaxpr(fun, avals)
    return bind(closed, args, inner, outer, out_shardings(closed.out_avals))


def bind(
    closed: ClosedJaxpr,
    args: Sequence[Value],
    mesh: AbstractMesh,
    outer_mesh: AbstractMesh,
    out_shardings: Sequence[NamedSharding | None],
    to: Callable[..., list[Value]] = axes_call_p.bind,
) -> list[Value]:
    """Bind the call of a body; constants become leading operands."""
    if not closed.out_avals and not closed.effects:
        return []
    body, consts = hoist_consts(closed)
    return to(
        *consts,
        *args,
        jaxpr=body,
        mesh=mesh,
        outer_mesh=outer_mesh,
        out_shardings=tuple(out_shardings),
    )
