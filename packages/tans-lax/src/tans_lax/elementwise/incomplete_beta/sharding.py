"""Sharding rule of the incomplete beta function."""

from typing import Final

from tans_core.primitive import Primitive
from tans_lax.elementwise.incomplete_beta import regularized_incomplete_beta_p
from tans_lax.propagation import Rule, nary

SHARDING: Final[dict[Primitive, Rule]] = {
    regularized_incomplete_beta_p: nary,
}
