"""Tokens: values without data, which order the operations that take and give them.

In memory a token is an array without elements.
"""

from typing import Any, Final, override

import numpy as np

from tans_core import Primitive, ShapedArray, register_value_type, typeof
from tans_core.dtypes import extended
from tans_core.tree_registry import dispatch_registry

create_token_p: Final = Primitive("create_token", family=__name__)
after_all_p: Final = Primitive("after_all", family=__name__)


class TokenDtype:
    """Dtype of tokens, printed as ``token``; there is one instance."""

    __slots__ = ()

    type = extended
    kind = "V"
    name = "token"
    itemsize = 0
    tangent_dtype = None
    element_dtype = np.dtype(np.bool_)
    element_shape = (0,)

    def zeros(self, shape: tuple[int, ...]) -> Any:
        """Return a token; `shape` is ()."""
        del shape
        return create_token()

    def wrap(self, physical: Any) -> "Token":
        """Return the token of an array without elements."""
        return Token(physical)

    def unwrap(self, value: "Token") -> Any:
        """Return the array without elements of a token."""
        return value._empty

    @override
    def __repr__(self) -> str:
        return self.name

    @override
    def __reduce__(self) -> str:
        return "token_dtype"


token_dtype: Final = TokenDtype()
token_type: Final = ShapedArray((), token_dtype)


class Token:
    """A concrete token; `create_token` makes one."""

    __slots__ = ("__weakref__", "_empty")

    def __init__(self, empty: Any) -> None:
        self._empty = empty

    @property
    def aval(self) -> ShapedArray:
        """The type of tokens."""
        return token_type

    def block_until_ready(self) -> "Token":
        """Wait for what gives the token."""
        self._empty.block_until_ready()
        return self

    @override
    def __repr__(self) -> str:
        return "Token()"


register_value_type(Token, lambda token: token.aval)
dispatch_registry.register_node(
    Token, lambda token: ((token._empty,), None), lambda _, empty: Token(*empty)
)


def create_token(_: Any = None) -> Any:
    """Return a new token, which comes after nothing.

    Example:
      >>> create_token()
      Token()
    """
    return create_token_p.bind()


def after_all(*operands: Any) -> Any:
    """Return a token that comes after all given tokens.

    Args:
      operands: tokens.

    Raises:
      TypeError: an operand is not a token.

    Example:
      >>> after_all(create_token(), create_token())
      Token()
    """
    for i, operand in enumerate(operands):
        aval = typeof(operand)
        if getattr(aval, "dtype", None) is not token_dtype:
            raise TypeError(
                f"after_all: given operand {i} of type {aval.str_short()}, expected a token. Make "
                "one with create_token()."
            )
    return after_all_p.bind(*operands)
