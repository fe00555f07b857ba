"""Type rule of jit: that of its body."""

from typing import Any, Final

from tans_core.rules import Typed
from tans_xla.jit.primitive import jit_p


def _jit_types(*in_avals: Any, jaxpr: Any, **_: Any) -> Typed:
    return Typed(jaxpr.out_avals, jaxpr.effects)


TYPES: Final = {jit_p: _jit_types}
