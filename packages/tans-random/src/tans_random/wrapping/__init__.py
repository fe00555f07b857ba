"""The primitives between keys and their words."""

from typing import Any, Final

from tans_core import Primitive

random_wrap_p: Final = Primitive("random_wrap", family=__name__)
random_unwrap_p: Final = Primitive("random_unwrap", family=__name__)


def wrap(words: Any, dtype: Any) -> Any:
    """Return the keys with the given words, uint32 [..., *key_shape]."""
    return random_wrap_p.bind(words, dtype=dtype)


def unwrap(keys: Any) -> Any:
    """Return the words of keys."""
    return random_unwrap_p.bind(keys)
