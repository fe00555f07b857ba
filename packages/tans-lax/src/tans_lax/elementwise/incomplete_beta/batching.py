"""Batching of the incomplete beta function."""

from typing import Final

from tans_core import Primitive
from tans_lax.elementwise.incomplete_beta import regularized_incomplete_beta_p
from tans_lax.rows import Rule, elementwise_batching

BATCHING: Final[dict[Primitive, Rule]] = {
    regularized_incomplete_beta_p: elementwise_batching(regularized_incomplete_beta_p)
}
