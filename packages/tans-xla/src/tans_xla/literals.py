"""Scalars that are written into equations: as parts of keys, and as constants of the module."""

from collections.abc import Hashable
from typing import Any

import numpy as np

from tans_core import Literal
from tans_xla import hlo


def literal_key(literal: Literal) -> Hashable:
    """Return what a literal is told apart by from others of its type."""
    value: Any = literal.val
    if isinstance(value, np.ndarray):
        value = value[()]
    # 0.0 and -0.0 are equal, also as parts of complex numbers, and NaN is not equal to itself.
    odd = not value or value != value or isinstance(value, complex | np.complexfloating)
    return repr(value) if odd else value


def constant_of(literal: Literal) -> Any:
    """Emit a literal as a constant; return its value."""
    return hlo.constant(np.asarray(literal.val), literal.aval)
