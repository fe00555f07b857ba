"""Lowering: the rejection loop, for all elements at once."""

from typing import Any, Final

from tans_random.random_gamma import random_gamma_p
from tans_random.random_gamma.rejection import sample_all
from tans_xla.lowering import lower_as

LOWERING: Final[dict[Any, Any]] = {random_gamma_p: lower_as(sample_all)}
