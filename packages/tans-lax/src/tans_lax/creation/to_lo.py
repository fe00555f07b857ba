"""Arrays of an extended dtype made from a shape, in their physical form."""

from collections.abc import Callable
from typing import Any, Final

from tans_core import Primitive
from tans_lax.creation import empty_p


def _empty_to_lo(logical: tuple[()], physical: tuple[()], **params: Any) -> dict[str, Any]:
    # The lowering reads the type of the result, not the params.
    del logical, physical
    return params


TO_LO: Final[dict[Primitive, Callable[..., dict[str, Any]]]] = {
    empty_p: _empty_to_lo,
}
