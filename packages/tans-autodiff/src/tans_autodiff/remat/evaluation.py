"""Evaluation of checkpointed calls on concrete arrays: operation by operation."""

from typing import Any, Final

from tans_autodiff.remat import name_p, phase_p, remat_p
from tans_core.jaxpr import eval_closed


def _remat(*args: Any, jaxpr: Any, **_: Any) -> list[Any]:
    return eval_closed(jaxpr, *args)


def _name(x: Any, *, name: str) -> Any:
    return x


def _phase(x: Any, again: Any) -> Any:
    return x


EVALUATION: Final = {remat_p: _remat, name_p: _name, phase_p: _phase}
