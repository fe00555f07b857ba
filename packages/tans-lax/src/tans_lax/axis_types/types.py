"""Type rule: results have the types of the body's results, over the mesh outside."""

from typing import Any, Final

from tans_core.rules import Typed
from tans_lax.axis_types import axes_call_p, type_outside


def _types(*in_avals: Any, jaxpr: Any, out_shardings: Any, **_: Any) -> Typed:
    del in_avals
    outs = [type_outside(a, s) for a, s in zip(jaxpr.out_avals, out_shardings, strict=True)]
    return Typed(tuple(outs), jaxpr.effects)


TYPES: Final = {axes_call_p: _types}
