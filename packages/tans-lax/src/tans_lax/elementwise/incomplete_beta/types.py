"""Type rule of the incomplete beta function."""

from typing import Final

from tans_core import Primitive
from tans_lax.elementwise.incomplete_beta import regularized_incomplete_beta_p
from tans_lax.elementwise.signatures import FLOATING, TypeRule, nary

TYPES: Final[dict[Primitive, TypeRule]] = {regularized_incomplete_beta_p: nary("betainc", FLOATING)}
