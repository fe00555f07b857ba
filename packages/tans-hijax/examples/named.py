"""Arrays whose axes have names; operations on arrays of other names are refused while tracing."""

from dataclasses import dataclass
from typing import Any

import tans as jax
from tans.experimental import hijax as hj


@dataclass(frozen=True)
class Named:
    """A value: `array` with one name per axis."""

    array: Any
    names: tuple[str, ...]

    def __add__(self, other):
        return add(self, other)


@dataclass(frozen=True)
class NamedType(hj.HiType):
    array: Any
    names: tuple[str, ...]

    def lo_ty(self):
        return [self.array]

    def lower_val(self, value):
        return [value.array]

    def raise_val(self, array):
        return Named(array, self.names)

    def to_tangent_aval(self):
        return NamedType(self.array.to_tangent_aval(), self.names)

    def vspace_zero(self):
        return name(hj.instantiate_zeros(hj.Zero(self.array)), *self.names)

    def vspace_add(self, x, y):
        return add(x, y)

    def str_short(self, short_dtypes=False, mesh_axis_types=False):
        dims = zip(self.names, self.array.shape, strict=True)
        return f"named[{','.join(f'{name}:{size}' for name, size in dims)}]"

    # What traced values offer.
    def _add(x, y):
        return add(x, y)

    @hj.aval_method
    def size_of(self, axis):
        return self.aval.array.shape[self.aval.names.index(axis)]

    @hj.aval_property
    def axes(self):
        return self.aval.names


hj.register_hitype(Named, lambda v: NamedType(jax.typeof(v.array).strip_weak_type(), v.names))


class Name(hj.HiPrim):
    def __init__(self, t, names):
        self.in_avals, self.params = (t,), {"names": names}
        self.out_aval = NamedType(t.strip_weak_type(), names)
        super().__init__()

    def expand(self, x):
        return Named(x, self.names)

    def vjp_fwd(self, nzs_in, x):
        return self(x), None

    def vjp_bwd_retval(self, res, ct):
        return (unname(ct),)


class Unname(hj.HiPrim):
    def __init__(self, t):
        self.in_avals, self.out_aval, self.params = (t,), t.array, {}
        super().__init__()

    def expand(self, x):
        return x.array

    def vjp_fwd(self, nzs_in, x):
        return self(x), None

    def vjp_bwd_retval(self, res, ct):
        return (name(ct, *self.in_avals[0].names),)


class Add(hj.HiPrim):
    def __init__(self, t, u):
        if t.names != u.names:
            raise TypeError(f"add: given axes {t.names} and {u.names}; expected the same names")
        self.in_avals, self.out_aval, self.params = (t, u), t, {}
        super().__init__()

    def expand(self, x, y):
        return Named(x.array + y.array, x.names)

    def vjp_fwd(self, nzs_in, x, y):
        return self(x, y), None

    def vjp_bwd_retval(self, res, ct):
        return ct, ct


def name(x, *names):
    """Give the axes of an array names."""
    return Name(jax.typeof(x), names)(x)


def unname(x):
    return Unname(jax.typeof(x))(x)


def add(x, y):
    return Add(jax.typeof(x), jax.typeof(y))(x, y)
