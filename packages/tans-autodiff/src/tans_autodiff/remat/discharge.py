"""Checkpointed calls on refs: a call of the pure program."""

from typing import Any, Final

from tans_autodiff.remat import remat_p
from tans_xla.discharge import body_rule

DISCHARGE: Final[dict[Any, Any]] = {remat_p: body_rule(remat_p, "jaxpr")}
