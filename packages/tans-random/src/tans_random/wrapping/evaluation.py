"""Evaluation on concrete values: put the words into a `KeyArray`, or take them out."""

from typing import Any, Final

from tans_random.wrapping import (
    random_clone_p,
    random_consume_p,
    random_unwrap_p,
    random_wrap_p,
)


def _wrap(words: Any, *, dtype: Any) -> Any:
    return dtype.wrap(words)


def _unwrap(keys: Any) -> Any:
    return keys.dtype.unwrap(keys)


def _consume(keys: Any, *, used_by: str) -> Any:
    keys.use(used_by)
    return keys.dtype.unwrap(keys)


def _clone(keys: Any) -> Any:
    return keys.dtype.wrap(keys.dtype.unwrap(keys))


EVALUATION: Final = {
    random_wrap_p: _wrap,
    random_unwrap_p: _unwrap,
    random_consume_p: _consume,
    random_clone_p: _clone,
}
