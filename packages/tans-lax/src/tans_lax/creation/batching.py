"""Batching of arrays made from a shape: without operands nothing is mapped."""

from typing import Any, Final

from tans_core import Primitive
from tans_lax.creation import empty_p, iota_p
from tans_lax.rows import Rule


def _unmapped(primitive: Primitive) -> Rule:
    def rule(axis: Any, args: tuple[()], dims: tuple[()], **params: Any) -> tuple[Any, None]:
        del axis, args, dims
        return primitive.bind(**params), None

    return rule


BATCHING: Final[dict[Primitive, Rule]] = {
    iota_p: _unmapped(iota_p),
    empty_p: _unmapped(empty_p),
}
