"""A product type: every method delegates to the types of the two components."""

from dataclasses import dataclass
from typing import Any

import tans as jax
from tans.experimental import hijax as hj


@dataclass(frozen=True)
class Pair:
    first: Any
    second: Any


@dataclass(frozen=True)
class PairSpec(hj.MappingSpec):
    """How each component is mapped: an axis, None, or a spec of its own type."""

    first: Any
    second: Any


@dataclass(frozen=True)
class PairPspec(hj.HiPspec):
    """A partition spec per component."""

    first: Any
    second: Any

    def to_lo(self):
        return (self.first, self.second)

    def to_tangent_spec(self):
        return self

    def to_ct_spec(self):
        return self


@dataclass(frozen=True)
class PairType(hj.HiType):
    first: Any
    second: Any

    def _map(self, method, *args):
        return PairType(getattr(self.first, method)(*args), getattr(self.second, method)(*args))

    def lo_ty(self):
        return [*self.first.lo_ty(), *self.second.lo_ty()]

    def lower_val(self, value):
        return [*self.first.lower_val(value.first), *self.second.lower_val(value.second)]

    def raise_val(self, *los):
        n = len(self.first.lo_ty())
        return Pair(self.first.raise_val(*los[:n]), self.second.raise_val(*los[n:]))

    def to_tangent_aval(self):
        return self._map("to_tangent_aval")

    def to_ct_aval(self):
        return self._map("to_ct_aval")

    def vspace_zero(self):
        zeros = (hj.instantiate_zeros(hj.Zero(t)) for t in (self.first, self.second))
        return pair(*zeros)

    def vspace_add(self, x, y):
        return pair(first(x) + first(y), second(x) + second(y))

    def dec_rank(self, size, spec):
        return PairType(
            self.first.dec_rank(size, spec.first), self.second.dec_rank(size, spec.second)
        )

    def inc_rank(self, size, spec):
        return PairType(
            self.first.inc_rank(size, spec.first), self.second.inc_rank(size, spec.second)
        )

    def leading_axis_spec(self):
        return PairSpec(self.first.leading_axis_spec(), self.second.leading_axis_spec())

    def shard(self, mesh, manual_axes, check_vma, spec):
        return PairType(
            self.first.shard(mesh, manual_axes, check_vma, spec.first),
            self.second.shard(mesh, manual_axes, check_vma, spec.second),
        )

    def unshard(self, mesh, check_vma, spec):
        return PairType(
            self.first.unshard(mesh, check_vma, spec.first),
            self.second.unshard(mesh, check_vma, spec.second),
        )

    def nospec(self, mesh, check_vma, all_names):
        return PairPspec(
            self.first.nospec(mesh, check_vma, all_names),
            self.second.nospec(mesh, check_vma, all_names),
        )

    def str_short(self, short_dtypes=False, mesh_axis_types=False):
        parts = (t.str_short(short_dtypes) for t in (self.first, self.second))
        return f"Pair<{','.join(parts)}>"


def type_of(p):
    """Return the type of a pair; weak types count in the fields of a type, so they are stripped."""
    return PairType(*(jax.typeof(x).strip_weak_type() for x in (p.first, p.second)))


hj.register_hitype(Pair, type_of)


class Make(hj.HiPrim):
    def __init__(self, a, b):
        self.in_avals, self.params = (a, b), {}
        self.out_aval = PairType(a.strip_weak_type(), b.strip_weak_type())
        super().__init__()

    def expand(self, a, b):
        return Pair(a, b)

    def vjp_fwd(self, nzs_in, a, b):
        return self(a, b), None

    def vjp_bwd_retval(self, res, ct):
        ct = hj.instantiate_zeros(ct)
        return first(ct), second(ct)

    def jvp(self, primals, tangents):
        return self(*primals), pair(*map(hj.instantiate_zeros, tangents))

    lin, linearized = hj.linearize_from_jvp

    def transpose(self, ct, a, b):
        for x, part in ((a, first), (b, second)):
            if hj.is_undefined_primal(x):
                x.accum(part(ct))

    def batch(self, axis_data, args, dims):
        return pair(*args), PairSpec(*dims)


class Get(hj.HiPrim):
    def __init__(self, t, i):
        self.in_avals, self.params = (t,), {"i": i}
        self.out_aval = t.second if i else t.first
        super().__init__()

    def expand(self, p):
        return p.second if self.i else p.first

    def _only(self, x):
        """Return the pair with `x` in this place and zero in the other."""
        t = self.in_avals[0].to_ct_aval()
        other = hj.instantiate_zeros(hj.Zero(t.first if self.i else t.second))
        return pair(other, x) if self.i else pair(x, other)

    def vjp_fwd(self, nzs_in, p):
        return self(p), None

    def vjp_bwd_retval(self, res, ct):
        return (self._only(ct),)

    def jvp(self, primals, tangents):
        return self(*primals), get(tangents[0], self.i)

    lin, linearized = hj.linearize_from_jvp

    def transpose(self, ct, p):
        p.accum(self._only(ct))

    def batch(self, axis_data, args, dims):
        return get(args[0], self.i), dims[0].second if self.i else dims[0].first


def pair(a, b):
    """Return the pair of two values."""
    return Make(jax.typeof(a), jax.typeof(b))(a, b)


def get(p, i):
    """Return component `i` of a pair."""
    return Get(jax.typeof(p), i)(p)


def first(p):
    return get(p, 0)


def second(p):
    return get(p, 1)


def swap(p):
    return pair(second(p), first(p))
