"""Tokens have no derivative."""

from typing import Any, Final

from tans_core import Primitive
from tans_lax.rows import not_linear, zero_derivative
from tans_lax.tokens import after_all_p, create_token_p

_ALL: Final = (create_token_p, after_all_p)
JVP: Final[dict[Primitive, Any]] = {p: zero_derivative(p) for p in _ALL}
TRANSPOSE: Final[dict[Primitive, Any]] = dict.fromkeys(_ALL, not_linear)
