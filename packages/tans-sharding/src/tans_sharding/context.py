"""The mesh in context: what a bare `PartitionSpec` refers to, per thread."""

from types import TracebackType
from typing import Any

from tans_core import is_evaluating
from tans_core.config import abstract_mesh, concrete_mesh
from tans_core.mesh import EMPTY_ABSTRACT_MESH, EMPTY_MESH, AbstractMesh, AxisType, Mesh


class set_mesh:  # noqa: N801  (a context manager in the form of a function)
    """Make a mesh the context of this thread, from now on or inside a ``with`` block.

    Args:
      mesh: the mesh that specs without a mesh refer to; None clears the context.

    Raises:
      ValueError: not a `Mesh`, a mesh with manual axes, or a call while tracing.

    Example:
      >>> with set_mesh(None):
      ...     get_abstract_mesh().empty
      True
    """

    __slots__ = ("_before",)

    def __init__(self, mesh: Mesh | None) -> None:
        if not is_evaluating():
            raise ValueError(
                "set_mesh: called while a function is traced; expected a call outside of `jax.jit` "
                "and other transformations. Set the mesh around the call of the function."
            )
        if mesh is not None and not isinstance(mesh, Mesh):
            raise ValueError(
                f"set_mesh: given {mesh!r} of type {type(mesh).__name__}, expected a Mesh or None. "
                "Make one with make_mesh(sizes, names)."
            )
        if mesh is not None and AxisType.Manual in mesh.axis_types:
            raise ValueError(
                f"set_mesh: given {mesh}, expected Auto or Explicit axes. Manual axes are made by "
                "shard_map."
            )
        self._before = (abstract_mesh.get_local(), concrete_mesh.get_local())
        empty = mesh is None or mesh.empty
        abstract_mesh.set_local(None if empty else mesh.abstract_mesh)
        concrete_mesh.set_local(None if empty else mesh)

    def __enter__(self) -> None:
        return None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        abstract, concrete = self._before
        abstract_mesh.set_local(abstract)
        concrete_mesh.set_local(concrete)


class use_abstract_mesh:  # noqa: N801  (a context manager in the form of a function)
    """Context manager: trace for a mesh without devices.

    Args:
      mesh: the abstract mesh; its size is that of the mesh in context, if there is one.

    Raises:
      ValueError: not an `AbstractMesh`, or another size.
    """

    __slots__ = ("_before", "_mesh")

    def __init__(self, mesh: AbstractMesh) -> None:
        if not isinstance(mesh, AbstractMesh):
            raise ValueError(
                f"use_abstract_mesh: given {mesh!r} of type {type(mesh).__name__}, expected an "
                "AbstractMesh. Take mesh.abstract_mesh of a Mesh, or use set_mesh."
            )
        current = abstract_mesh.value
        if current is not None and not mesh.empty and mesh.size != current.size:
            raise ValueError(
                f"use_abstract_mesh: given {mesh} of size {mesh.size} inside of {current}; "
                f"expected a mesh of size {current.size}. Leave the other mesh's context first."
            )
        self._mesh = mesh

    def __enter__(self) -> None:
        self._before = abstract_mesh.get_local()
        abstract_mesh.set_local(None if self._mesh.empty else self._mesh)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        abstract_mesh.set_local(self._before)


def get_abstract_mesh() -> AbstractMesh:
    """Return the abstract mesh in context, also in traced code; the empty mesh if there is none."""
    mesh: Any = abstract_mesh.value
    return EMPTY_ABSTRACT_MESH if mesh is None else mesh


def get_mesh() -> Mesh:
    """Return the mesh with devices in context; the empty mesh if there is none.

    Raises:
      ValueError: called while tracing, when devices are not known.
    """
    if not is_evaluating():
        raise ValueError(
            "get_mesh: called while a function is traced; expected a call outside of "
            "transformations. Use get_abstract_mesh, which works everywhere."
        )
    mesh: Any = concrete_mesh.value
    return EMPTY_MESH if mesh is None else mesh
