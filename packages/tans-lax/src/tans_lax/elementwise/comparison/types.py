"""Type rules of comparisons."""

from typing import Final

import numpy as np

from tans_core import Primitive, dtypes
from tans_lax.elementwise.comparison import (
    eq_p,
    eq_to_p,
    ge_p,
    gt_p,
    le_p,
    le_to_p,
    lt_p,
    lt_to_p,
    ne_p,
)
from tans_lax.elementwise.signatures import ANY, ORDERED, TypeRule, always, nary

_BOOL: Final = always(np.dtype(bool))
_EQUALITY: Final = (*ANY, dtypes.extended)


def _comparison(name: str, promoting: str) -> TypeRule:
    return nary(name, ORDERED, _BOOL, promoting)


TYPES: Final[dict[Primitive, TypeRule]] = {
    eq_p: nary("eq", _EQUALITY, _BOOL, "equal"),
    ne_p: nary("ne", _EQUALITY, _BOOL, "not_equal"),
    lt_p: _comparison("lt", "less"),
    le_p: _comparison("le", "less_equal"),
    gt_p: _comparison("gt", "greater"),
    ge_p: _comparison("ge", "greater_equal"),
    eq_to_p: nary("eq_to", ANY, _BOOL),
    lt_to_p: nary("lt_to", ORDERED, _BOOL),
    le_to_p: nary("le_to", ORDERED, _BOOL),
}
