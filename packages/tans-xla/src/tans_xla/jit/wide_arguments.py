"""Arrays of 64-bit types, made while x64 was on, as arguments while it is off.

A jitted or NumPy-level function narrows them, as it narrows 64-bit NumPy arrays. A single operation
keeps them: it is traced as if x64 were on, so that the constants beside them fit.
"""

from typing import Any

import numpy as np

from tans_core import ArrayImpl, dtypes, state
from tans_core.config import enable_x64
from tans_core.trace import eval_trace
from tans_core.tree import registry

_KINDS = frozenset("fiuc")


def holds_wide(args: tuple, kwargs: dict) -> bool:
    """Whether a leaf is a concrete array that the current setting of x64 has no type for."""
    if enable_x64.value or state.trace is not eval_trace:
        return False
    return any(map(_is_wide, registry.flatten((args, kwargs))[0]))


def _is_wide(x: Any) -> bool:
    if type(x) is not ArrayImpl:
        return False
    dtype = x.aval.dtype
    return dtype.itemsize >= 8 and dtype.kind in _KINDS and dtypes.canonicalize(dtype) != dtype


def narrowed(args: tuple, kwargs: dict) -> tuple[tuple, dict]:
    """Return the arguments with such arrays converted."""
    leaves, treedef = registry.flatten((args, kwargs))
    return treedef.unflatten([_narrow(x) if _is_wide(x) else x for x in leaves])


def _narrow(x: Any) -> np.ndarray:
    return np.asarray(x).astype(dtypes.canonicalize(x.aval.dtype))
