"""Suggests the nearest known names for a misspelt one; every error that rejects a name uses it."""

import difflib
from collections.abc import Iterable


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return " (did you mean 'a' or 'b'?)", or "" when nothing is near.

    Args:
      word: what the user wrote.
      known: the accepted names; upper and lower case count as the same.

    Example:
      >>> did_you_mean("enable_x46", ["enable_x64", "debug_nans"])
      " (did you mean 'enable_x64'?)"
    """
    folded = {name.casefold(): name for name in known}
    near = difflib.get_close_matches(word.casefold(), list(folded), n=2, cutoff=0.6)
    if not near:
        return ""
    return f" (did you mean {' or '.join(repr(folded[name]) for name in near)}?)"
