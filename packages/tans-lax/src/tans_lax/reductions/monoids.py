"""The named folds: for each its StableHLO operation, its identity and the lax function it is."""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np

import tans_lax as lax
from tans_core import Array, ShapedArray, typeof
from tans_core.dtype_queries import finfo, iinfo, issubdtype
from tans_core.promotion import join


class Monoid(NamedTuple):
    """An associative operation with an identity.

    Attributes:
      operation: name of the StableHLO operation.
      identity: from a dtype to the identity, a Python or NumPy scalar.
      function: the public function that computes it.
    """

    operation: str
    identity: Callable[[Any], Any]
    function: Callable[[Any, Any], Any]


def _has_infinity(dtype: Any) -> bool:
    with np.errstate(all="ignore"):
        return bool(np.isinf(np.asarray(np.inf).astype(dtype).astype(np.complex128)))


def least(dtype: Any) -> Any:
    """Return the least value of a dtype: minus infinity where there is one."""
    if issubdtype(dtype, np.inexact):
        return -np.inf if _has_infinity(dtype) else finfo(dtype).min
    return False if dtype == np.bool_ else iinfo(dtype).min


def greatest(dtype: Any) -> Any:
    """Return the greatest value of a dtype: infinity where there is one."""
    if issubdtype(dtype, np.inexact):
        return np.inf if _has_infinity(dtype) else finfo(dtype).max
    return True if dtype == np.bool_ else iinfo(dtype).max


def all_ones(dtype: Any) -> Any:
    """Return the value of an integer or bool dtype with every bit set."""
    if dtype == np.bool_:
        return True
    return iinfo(dtype).max if issubdtype(dtype, np.unsignedinteger) else -1


MONOIDS: Final[dict[str, Monoid]] = {
    "sum": Monoid("add", lambda _: 0, lax.add),
    "prod": Monoid("multiply", lambda _: 1, lax.mul),
    "max": Monoid("maximum", least, lax.max),
    "min": Monoid("minimum", greatest, lax.min),
    "and": Monoid("and", all_ones, lax.bitwise_and),
    "or": Monoid("or", lambda _: 0, lax.bitwise_or),
    "xor": Monoid("xor", lambda _: 0, lax.bitwise_xor),
}


def named_fold(
    computation: Callable[..., Any], inits: list[Any], avals: list[ShapedArray]
) -> tuple[str | None, list[Any]]:
    """Return the monoid that folds one operand, or None, and the initial values.

    A weak number that is the monoid's identity gets the dtype of the operand.
    """
    if not len(inits) == len(avals) == 1:
        return None, inits
    name = matching_monoid(computation, inits[0], avals[0])
    if name is None:
        return None, inits
    (init,), (aval,) = inits, avals
    dtype = typeof(init).dtype
    if typeof(init).weak_type and join((dtype, True), (aval.dtype, False))[0] == aval.dtype:
        return name, [aval.dtype.type(init)]
    return name, inits


def matching_monoid(
    computation: Callable[..., Any], init_value: Any, aval: ShapedArray
) -> str | None:
    """Return the name of the monoid that `computation` and `init_value` are, or None.

    Args:
      computation: the function of two scalars that the user gave.
      init_value: the scalar the fold starts from.
      aval: type of the operand.
    """
    name = next((n for n, monoid in MONOIDS.items() if computation is monoid.function), None)
    if name is None:
        return None
    is_logical = name in ("and", "or", "xor")
    numeric = issubdtype(aval.dtype, np.number)
    integral = aval.dtype == np.bool_ or issubdtype(aval.dtype, np.integer)
    fits = integral if is_logical else numeric or name in ("max", "min")
    return (
        name if fits and _is_scalar_equal(init_value, MONOIDS[name].identity(aval.dtype)) else None
    )


def _is_scalar_equal(value: Any, identity: Any) -> bool:
    # A concrete array may still be computing; reading it here would wait for the device.
    if isinstance(value, Array) or np.ndim(value):
        return False
    return bool(np.asarray(value) == identity)
