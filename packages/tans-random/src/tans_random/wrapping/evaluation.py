"""Evaluation on concrete values: put the words into a `KeyArray`, or take them out."""

from typing import Any, Final

from tans_random.wrapping import random_unwrap_p, random_wrap_p


def _wrap(words: Any, *, dtype: Any) -> Any:
    return dtype.wrap(words)


def _unwrap(keys: Any) -> Any:
    return keys.dtype.unwrap(keys)


EVALUATION: Final = {random_wrap_p: _wrap, random_unwrap_p: _unwrap}
