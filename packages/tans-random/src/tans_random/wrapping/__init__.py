"""The primitives between keys and their words, and the marks that the check of key reuse reads."""

from typing import Any, Final

from tans_core import Primitive

random_wrap_p: Final = Primitive("random_wrap", family=__name__)
random_unwrap_p: Final = Primitive("random_unwrap", family=__name__)
# In programs only while the flag debug_key_reuse is on.
random_consume_p: Final = Primitive("random_consume", family=__name__)
random_clone_p: Final = Primitive("random_clone", family=__name__)


def wrap(words: Any, dtype: Any) -> Any:
    """Return the keys with the given words, uint32 [..., *key_shape]."""
    return random_wrap_p.bind(words, dtype=dtype)


def unwrap(keys: Any) -> Any:
    """Return the words of keys."""
    return random_unwrap_p.bind(keys)


def consume(keys: Any, used_by: str) -> Any:
    """Return the words of keys, as one that uses them up."""
    return random_consume_p.bind(keys, used_by=used_by)


def fresh(keys: Any) -> Any:
    """Return the keys as unused ones."""
    return random_clone_p.bind(keys)
