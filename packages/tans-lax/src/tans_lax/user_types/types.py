"""Types: that of the choices, or the one that is given."""

from typing import Any, Final

from tans_core.types import same_type
from tans_lax.user_types import choose_p, filler_p, rearrange_p


def _choose(index: Any, *choices: Any, **_: Any) -> Any:
    first = choices[0]
    if not all(same_type(first, c) for c in choices):
        types = ", ".join(c.str_short(False) for c in choices)
        raise TypeError(
            f"vmap: given values of types {types} to choose from lane by lane; expected equal "
            "types. Let inc_rank and dec_rank of the user type undo each other."
        )
    return first


def _given(*_: Any, aval: Any, **__: Any) -> Any:
    return aval


TYPES: Final = {choose_p: _choose, rearrange_p: _given, filler_p: _given}
