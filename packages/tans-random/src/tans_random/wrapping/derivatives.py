"""Keys have no derivative."""

from typing import Final

from tans_lax.rows import not_linear, zero_derivative
from tans_random.wrapping import (
    random_clone_p,
    random_consume_p,
    random_unwrap_p,
    random_wrap_p,
)

_ALL: Final = (random_wrap_p, random_unwrap_p, random_consume_p, random_clone_p)

JVP: Final = {p: zero_derivative(p) for p in _ALL}
TRANSPOSE: Final = dict.fromkeys(_ALL, not_linear)
