"""Evaluation of linear maps on concrete arrays: operation by operation."""

from collections.abc import Sequence
from typing import Any, Final

from tans_autodiff.linear_maps import custom_linear_solve_p, linear_call_p
from tans_core.jaxpr import eval_closed


def _linear_call(*args: Any, jaxpr: Any, **_: Any) -> list[Any]:
    return eval_closed(jaxpr, *args)


def _solve(*args: Any, solve: Any, lengths: Sequence[int], **_: Any) -> list[Any]:
    first, b = lengths[0], sum(lengths)
    return eval_closed(solve, *args[first : first + lengths[1]], *args[b:])


EVALUATION: Final = {linear_call_p: _linear_call, custom_linear_solve_p: _solve}
