"""Recording of `axis_index`, whose type also depends on whether varying values are checked."""

from typing import Any, Final

from tans_core import Primitive
from tans_core.staging import infer
from tans_lax.collectives.primitives import axis_index_p


def _axis_index_stage(trace: Any, *, axis_name: Any) -> Any:
    return trace.append(infer(axis_index_p, (), {"axis_name": axis_name}), [])


STAGING: Final[dict[Primitive, Any]] = {
    axis_index_p: _axis_index_stage,
}
