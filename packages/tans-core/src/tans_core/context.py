"""Protocols between call-like primitives and the transformations that they serve.

A rule of scan, cond or jit never imports a transformation: it receives one of these objects. The
transformations' packages implement them.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from tans_core.accumulators import Kind
from tans_core.jaxpr import ClosedJaxpr
from tans_core.primitive import Primitive

type Mask = tuple[bool, ...]
type Dims = tuple[int | None, ...]


class AxisData(NamedTuple):
    """One mapped axis.

    Attributes:
      size: number of elements.
      name: the user's axis name, or a private sentinel.
      spmd_name: mesh axes over which the mapped axis is sharded, or None.
      explicit_mesh_axis: mesh axes of an explicitly sharded mapped axis, or None.
      explicit_mesh: the abstract mesh that they are axes of, or None.
      varies_along: manual mesh axes over which the mapped axis is spread: elements vary along them.
    """

    size: int
    name: Any = None
    spmd_name: Any = None
    explicit_mesh_axis: Any = None
    explicit_mesh: Any = None
    varies_along: frozenset[Any] = frozenset()


class Linearized(NamedTuple):
    """A program split into its primal and its linear part.

    Attributes:
      primal: ``(*ins) -> (*outs, *residuals)``; only residuals that are not forwarded.
      linear: ``(*residuals, *nonzero_tangents) -> (*nonzero_out_tangents)``.
      nonzero_out: which outputs have a tangent.
      forwards: per residual of `linear`, the primal input that it equals, or None.
    """

    primal: ClosedJaxpr
    linear: ClosedJaxpr
    nonzero_out: Mask
    forwards: tuple[int | None, ...]


class Split(NamedTuple):
    """A program split into the part that needs no unknown input, and the rest.

    Attributes:
      known: ``(*known_ins) -> (*known_outs, *residuals)``.
      unknown: ``(*residuals, *unknown_ins) -> (*unknown_outs)``.
      unknown_out: which outputs depend on an unknown input.
    """

    known: ClosedJaxpr
    unknown: ClosedJaxpr
    unknown_out: Mask


class Transposed(NamedTuple):
    """A transposed body that serves accumulators.

    Attributes:
      program: ``(*nonlinear_ins, *refs, *nonzero_cts) -> (*cts, *logs)``: the refs to add in, and
        the nonzero cotangents of the inputs of kind "value".
      nonzero: which of those inputs (in order) have a cotangent.
      logs: structure of the backward-pass logs, a dict; without leaves when there are none.
    """

    program: ClosedJaxpr
    nonzero: Mask
    logs: Any


class JVPContext(Protocol):
    """What a JVP row of a call-like primitive may ask for."""

    def jvp_jaxpr(
        self, body: ClosedJaxpr, nonzero: Mask, instantiate: bool | Mask = False
    ) -> tuple[ClosedJaxpr, Mask]:
        """Return ``(*primals, *nonzero_tangents) -> (*outs, *nonzero_out_tangents)``."""
        ...


class LinearizeContext(JVPContext, Protocol):
    """What a linearize row may ask for."""

    def linearize_jaxpr(
        self, body: ClosedJaxpr, nonzero: Mask, instantiate: bool | Mask = False
    ) -> Linearized:
        """Split a body into its primal and its linear part."""
        ...


class TransposeContext(Protocol):
    """What a transpose row may ask for."""

    def transpose_jaxpr(
        self, body: ClosedJaxpr, linear: Mask, ct_nonzero: Mask
    ) -> tuple[ClosedJaxpr, Mask]:
        """Return ``(*nonlinear_ins, *nonzero_cts) -> (*nonzero cotangents of linear ins)``.

        The mask says which linear inputs (in order) have a cotangent.
        """
        ...

    def transpose_into(
        self, body: ClosedJaxpr, linear: Mask, ct_nonzero: Mask, kinds: tuple[Kind, ...]
    ) -> Transposed:
        """Transpose a body for accumulators; `kinds` has one entry per linear input."""
        ...


class SplitContext(Protocol):
    """What a partial-evaluation row may ask for."""

    def split_jaxpr(
        self, body: ClosedJaxpr, unknown: Mask, instantiate: bool | Mask = False
    ) -> Split:
        """Split a body by what depends on unknown inputs."""
        ...

    def record(self, primitive: Primitive, *args: Any, **params: Any) -> Any:
        """Record one equation in the unknown program."""
        ...

    def is_unknown(self, x: Any) -> bool:
        """Whether `x` is a value of the unknown program."""
        ...


class BatchContext(Protocol):
    """What a batching row may ask for."""

    def batch_jaxpr(
        self, body: ClosedJaxpr, axis: AxisData, dims_in: Dims, dims_out: Dims | None = None
    ) -> tuple[ClosedJaxpr, Dims]:
        """Return the body mapped over `axis`; `dims_out` forces the outputs' dimensions."""
        ...


def merge(mask: Sequence[bool], where_false: Sequence[Any], where_true: Sequence[Any]) -> list[Any]:
    """Interleave two lists by a mask."""
    false, true = iter(where_false), iter(where_true)
    return [next(true) if m else next(false) for m in mask]


def partition(mask: Sequence[bool], values: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Split a list by a mask into (where False, where True)."""
    false: list[Any] = []
    true: list[Any] = []
    for m, value in zip(mask, values, strict=True):
        (true if m else false).append(value)
    return false, true
