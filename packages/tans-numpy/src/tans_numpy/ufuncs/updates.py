"""Updates of ufuncs: ``f.at(a, indices, b)``, once for each mention of a place."""

from typing import Any, Final

import numpy as np

import tans_lax as lax
from tans_core import typeof
from tans_lax.conversion import as_type
from tans_numpy.creation import asarray
from tans_numpy.manipulation import broadcast_to, ravel, reshape
from tans_numpy.methods import astype
from tans_numpy.operands import check_arraylike, dtype_and_weak
from tans_numpy.ranges import arange
from tans_numpy.ufuncs.universal import ufunc
from tans_xla import composite

type Array = Any

_METHODS: Final = {
    "add": "add", "subtract": "subtract", "multiply": "multiply", "maximum": "max",
    "minimum": "min",
}  # fmt: skip


def at(f: ufunc, a: Any, indices: Any, b: Any) -> Array:
    """Implement `ufunc.at` without writing to `a`.

    Raises:
      TypeError: `b` is missing for a function of two operands, or given for one of one.
    """
    name = f"{f.__name__}.at"
    operands = (a,) if b is None else (a, b)
    check_arraylike(name, *operands)
    if len(operands) != f.nargs:
        raise TypeError(
            f"{name}: given {len(operands)} operands, expected {f.nargs}. "
            f"{'Give b.' if b is None else 'Leave out b.'}"
        )
    if f._own["at"] is not None:
        return f._own["at"](a, indices, b)
    a = asarray(a)
    if f.__name__ in _METHODS and f.is_builtin:
        name = _METHODS[f.__name__]
        if a.dtype == np.bool_:  # sums of booleans are `or`, products `and`
            name = {"add": "max", "multiply": "min"}.get(name, name)
        return getattr(a.at[indices], name)(b)
    # The places are found by indexing the positions; those outside get the position `size`.
    positions = reshape(arange(a.size), a.shape)
    places = positions.at[indices].get(mode="fill", fill_value=a.size)
    return _at(a, places, b, f=f)


@composite(static_argnames=("f",))
def _at(a: Array, places: Array, b: Any, *, f: ufunc) -> Array:
    others = None if b is None else ravel(broadcast_to(b, typeof(places).shape))
    flat = ravel(a)
    zero = lax.full((), 0, typeof(a).dtype)
    extra = () if b is None else (as_type(lax.full_like(b, 0, shape=()), *dtype_and_weak(b)),)
    flat = astype(flat, typeof(f.inline(zero, *extra)).dtype)

    def step(values: Any, operands: Any) -> Any:
        place, other = operands
        read = values.at[place].get(mode="clip")
        new = f.inline(read) if other is None else f.inline(read, other)
        return values.at[place].set(astype(asarray(new), typeof(values).dtype), mode="drop"), None

    return reshape(lax.scan(step, flat, (ravel(places), others))[0], typeof(a).shape)
