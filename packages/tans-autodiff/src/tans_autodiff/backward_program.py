"""The static part of a VJP object: its linear program, and where the program's inputs come from."""

import dataclasses
import pickle
from typing import NoReturn

from tans_autodiff.structured import Structure
from tans_core.context import Mask
from tans_core.errors import message
from tans_core.jaxpr import ClosedJaxpr
from tans_core.types import AbstractValue


@dataclasses.dataclass(frozen=True, eq=False, slots=True)
class BackwardProgram:
    """The static part of a VJP object.

    Attributes:
      name: the differentiated function.
      place: prints as its file and line, or as an empty string.
      linear: ``(*residuals, *structured, *nonzero_tangents) -> (*nonzero_out_tangents)``, without
        constants.
      sources: per residual the flat argument that it is, or None for an opaque residual.
      in_avals: types of the arguments.
      nonzero_in: which arguments have a tangent.
      out_avals: types of the outputs.
      nonzero_out: which outputs have a tangent.
      structure: where the structured residuals are in the user's tree; None without any.
    """

    name: str
    place: object
    linear: ClosedJaxpr
    sources: tuple[int | None, ...]
    in_avals: tuple[AbstractValue, ...]
    nonzero_in: Mask
    out_avals: tuple[AbstractValue, ...]
    nonzero_out: Mask
    structure: Structure | None = None

    @property
    def residual_avals(self) -> tuple[AbstractValue, ...]:
        """Types of the residuals, as the program expects them."""
        return tuple(self.linear.in_avals[: len(self.sources)])

    def __repr__(self) -> str:
        return f"BackwardProgram({described(self)})"

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled; what serialises programs replaces this by a `copyreg` reducer."""
        raise pickle.PicklingError(
            message(
                f"VJP object of {self.name}",
                "pickling of its backward program, which is code",
                "values only",
                "Pickle tree.leaves(f_vjp), and unflatten them with the structure of an equal VJP "
                "object made in the other process.",
            )
        )


def described(program: BackwardProgram) -> str:
    """Return the function with its place, as messages show it."""
    place = str(program.place)
    return f"{program.name} at {place}" if place else program.name
