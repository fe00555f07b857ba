"""Type rules of checkpointing."""

from typing import Any, Final

from tans_autodiff.remat import name_p, phase_p, remat_p
from tans_core.rules import Typed


def _remat_types(*in_avals: Any, jaxpr: Any, **_: Any) -> Typed:
    return Typed(jaxpr.out_avals, jaxpr.effects)


def _name_types(aval: Any, *, name: str) -> Any:
    return aval


def _phase_types(aval: Any, again: Any) -> Any:
    return aval


TYPES: Final = {remat_p: _remat_types, name_p: _name_types, phase_p: _phase_types}
