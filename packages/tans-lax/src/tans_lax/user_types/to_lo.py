"""Operations on user types in low programs: each part is worked on."""

from typing import Any, Final

from tans_core.hi_types import lower_value
from tans_core.rules import ContextRule
from tans_core.values import typeof
from tans_lax.rows import zeros_like_aval
from tans_lax.user_types import PerPart, choose_p, filler_p, rearrange_p
from tans_lax.user_types.parts import moved, selected


def _choose(ctx: Any, index: Any, *choices: Any, axes: PerPart, **_: Any) -> Any:
    aval = typeof(choices[0])
    by_part = zip(*(lower_value(aval, x) for x in choices), strict=True)
    parts = [selected(index, list(xs), own) for xs, own in zip(by_part, axes, strict=True)]
    return ctx.raised([aval], parts)[0]


def _rearrange(ctx: Any, x: Any, *, aval: Any, moves: PerPart, **_: Any) -> Any:
    rows = zip(lower_value(typeof(x), x), moves, aval.lo_types(), strict=True)
    return ctx.raised([aval], [moved(part, own, lo.shape) for part, own, lo in rows])[0]


def _filler(ctx: Any, *, aval: Any) -> Any:
    return ctx.raised([aval], [zeros_like_aval(lo) for lo in aval.lo_types()])[0]


TO_LO: Final = {
    choose_p: ContextRule(_choose),
    rearrange_p: ContextRule(_rearrange),
    filler_p: ContextRule(_filler),
}
