"""Lowering of the incomplete beta function: a program."""

from typing import Any, Final

from tans_core import Primitive
from tans_lax.elementwise.emit_wide import program
from tans_lax.elementwise.incomplete_beta import regularized_incomplete_beta_p
from tans_lax.elementwise.incomplete_beta.fraction import incomplete_beta

LOWERING: Final[dict[Primitive, Any]] = {regularized_incomplete_beta_p: program(incomplete_beta)}
