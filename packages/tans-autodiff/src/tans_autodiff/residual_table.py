"""What a backward pass reads, as a table to print."""

from typing import Any, NamedTuple

from tans_autodiff.backward_program import BackwardProgram, described
from tans_autodiff.residuals import argument_path
from tans_core.debug_info import user_line
from tans_core.jaxpr import Jaxpr
from tans_core.types import AbstractValue
from tans_core.values import typeof

type Pytree = Any


class Residual(NamedTuple):
    """One saved value.

    Attributes:
      origin: the argument it is, such as ``args[0]['w']``, or the source line it is saved for.
      type: its type, such as ``f32[2,3]``.
      nbytes: its size in bytes.
      reader: the first operation of the backward pass that reads it.
    """

    origin: str
    type: str
    nbytes: int
    reader: str


class ResidualTable(tuple[Residual, ...]):
    """Saved values in the order of the backward program's inputs; prints as a table."""

    __slots__ = ()

    @classmethod
    def of(cls, program: BackwardProgram, in_tree: Any) -> "ResidualTable":
        """Make the table of a backward program."""
        jaxpr = program.linear.jaxpr
        return cls(
            Residual(
                f"args{argument_path(in_tree, source)}" if source is not None else line,
                var.aval.str_short(),
                bytes_of_type(var.aval),
                reader,
            )
            for var, source in zip(jaxpr.invars, program.sources, strict=False)
            for reader, line in [_reader(jaxpr, var, described(program))]
        )

    @property
    def nbytes(self) -> int:
        """Bytes of all rows together."""
        return sum(row.nbytes for row in self)

    def __str__(self) -> str:
        rows = sorted(self, key=lambda row: -row.nbytes)
        cells = [("bytes", "type", "value", "read by")]
        cells += [(str(r.nbytes), r.type, r.origin, r.reader) for r in rows]
        cells.append((str(self.nbytes), "", "total", ""))
        widths = [max(len(row[i]) for row in cells) for i in range(3)]
        return "\n".join(
            f"{size:>{widths[0]}}  {kind:<{widths[1]}}  {value:<{widths[2]}}  {reader}".rstrip()
            for size, kind, value, reader in cells
        )


def _reader(jaxpr: Jaxpr, var: Any, default: str) -> tuple[str, str]:
    """Return the first operation that reads a variable, and its source line."""
    for eqn in jaxpr.eqns:
        if any(v is var for v in eqn.invars):
            return eqn.primitive.name, user_line(eqn.traceback) or default
    return "output", default


def bytes_of(x: Any) -> int:
    """Return the size of a value in bytes."""
    return bytes_of_type(typeof(x))


def bytes_of_type(aval: AbstractValue) -> int:
    """Return the size in bytes of a value of a type; 0 for what is no array."""
    size, dtype = getattr(aval, "size", 0), getattr(aval, "dtype", None)
    return size * dtype.itemsize if dtype is not None else 0
