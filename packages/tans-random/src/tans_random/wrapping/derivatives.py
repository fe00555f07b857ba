"""Keys have no derivative."""

from typing import Final

from tans_lax.rows import not_linear, zero_derivative
from tans_random.wrapping import random_unwrap_p, random_wrap_p

JVP: Final = {p: zero_derivative(p) for p in (random_wrap_p, random_unwrap_p)}
TRANSPOSE: Final = {random_wrap_p: not_linear, random_unwrap_p: not_linear}
