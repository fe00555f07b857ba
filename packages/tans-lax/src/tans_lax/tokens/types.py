"""Types of tokens."""

from typing import Any, Final

from tans_core import Primitive, ShapedArray
from tans_lax.tokens import after_all_p, create_token_p, token_type


def _token(*tokens: Any) -> ShapedArray:
    del tokens
    return token_type


TYPES: Final[dict[Primitive, Any]] = {create_token_p: _token, after_all_p: _token}
