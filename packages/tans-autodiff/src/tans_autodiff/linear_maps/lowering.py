"""Lowering of linear maps: the forward program in place."""

from collections.abc import Sequence
from typing import Any, Final

from tans_autodiff.linear_maps import custom_linear_solve_p, linear_call_p


def _linear_call_lower(ctx: Any, *operands: Any, jaxpr: Any, **_: Any) -> Any:
    return ctx.inline(jaxpr, *operands)


def _solve_lower(ctx: Any, *operands: Any, solve: Any, lengths: Sequence[int], **_: Any) -> Any:
    first, b = lengths[0], sum(lengths)
    return ctx.inline(solve, *operands[first : first + lengths[1]], *operands[b:])


LOWERING: Final = {linear_call_p: _linear_call_lower, custom_linear_solve_p: _solve_lower}
