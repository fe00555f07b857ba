"""Type rules of linear maps."""

from typing import Any, Final

from tans_autodiff.linear_maps import custom_linear_solve_p, linear_call_p
from tans_core.rules import Typed


def _linear_call_types(*in_avals: Any, jaxpr: Any, **_: Any) -> Typed:
    return Typed(jaxpr.out_avals, jaxpr.effects)


def _solve_types(*in_avals: Any, solve: Any, **_: Any) -> Typed:
    return Typed(solve.out_avals, solve.effects)


TYPES: Final = {linear_call_p: _linear_call_types, custom_linear_solve_p: _solve_types}
