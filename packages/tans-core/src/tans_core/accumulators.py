"""Accumulators: what transposition collects cotangents in, and rules that push into them.

An ordinary transpose row returns one cotangent per linear operand. An `AccumRule` is given an
accumulator in place of each linear operand and pushes into it; so a row of slicing can add to a
part of a ref, and a row of a call can hand refs on to its body.
"""

from collections.abc import Callable
from typing import Any, ClassVar, Literal

from tans_core.rules import ContextRule
from tans_core.types import AbstractValue

type Kind = Literal["value", "ref", "null"]


class GradAccum:
    """Collects the cotangents of one value during transposition.

    Attributes:
      aval: the cotangent type of the value; of a ref, its contents' cotangent type.
      kind: "value" sums functionally, "ref" adds in place into `ref`, "null" drops everything.
    """

    __slots__ = ("aval",)
    kind: ClassVar[Kind] = "value"

    def __init__(self, aval: AbstractValue) -> None:
        self.aval = aval

    def accum(self, ct: Any) -> None:
        """Add a cotangent of the whole value; None and symbolic zeros add nothing."""
        raise NotImplementedError

    def accum_at(self, index: Any, ct: Any, expand: Callable[[Any], Any]) -> None:
        """Add a cotangent of a part of the value.

        Args:
          index: ``(transforms, indices)``, as `tans_core.refs.addupdate_p` has them.
          ct: cotangent of the part.
          expand: maps `ct` to a cotangent of the whole; called by who can't add to a part.
        """
        self.accum(expand(ct))

    def freeze(self) -> Any:
        """Return the sum: a value, or a symbolic zero when nothing was added. Ends a ref."""
        raise NotImplementedError


class AccumRule(ContextRule[Callable[..., Any]]):
    """A transpose row ``rule(ctx, ct, *operands, **params)``; linear operands are accumulators.

    It pushes cotangents into them, and returns None or a dict of backward-pass logs. Of a result
    that is a ref, `ct` is the frozen contents of its accumulator.
    """

    __slots__ = ()
