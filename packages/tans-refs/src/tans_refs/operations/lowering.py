"""Lowering: refs are values by then, so an operation that is met here was hidden from discharge."""

from collections.abc import Callable
from typing import Any, Final, NoReturn

from tans_core.primitive import Primitive
from tans_refs.operations import (
    addupdate_p,
    empty_ref_p,
    free_ref_p,
    freeze_p,
    get_p,
    new_ref_p,
    swap_p,
)


def _hidden(primitive: Primitive) -> Callable[..., NoReturn]:
    def rule(ctx: Any, *operands: Any, **params: Any) -> NoReturn:
        del ctx, operands, params
        raise NotImplementedError(
            f"{primitive.name}: given a program to lower that still holds refs; expected a pure "
            "one. Give the primitive around it a discharge rule, or pass the refs' values."
        )

    return rule


LOWERING: Final = {
    p: _hidden(p)
    for p in (new_ref_p, empty_ref_p, get_p, swap_p, addupdate_p, freeze_p, free_ref_p)
}
