"""A matrix of int8 with one scale per row, whose gradient is a float matrix.

The type stores the shape and the sharding; it is made of an int8 payload and float32 scales.
"""

from dataclasses import dataclass
from typing import Any

import tans as jax
import tans.numpy as jnp
from tans.experimental import hijax as hj


@dataclass(frozen=True)
class Quantised:
    """A value: `payload` int8 ``[..., n]``, `scale` float32 ``[...]``."""

    payload: Any
    scale: Any


@dataclass(frozen=True)
class Rows(hj.MappingSpec):
    """Mapped along the leading axis."""


@dataclass(frozen=True)
class RowSpec(hj.HiPspec):
    """Partition spec of the payload; its last entry is None."""

    spec: jax.P

    def to_lo(self):
        return (self.spec, self.spec)


@dataclass(frozen=True)
class QuantisedType(hj.HiType):
    shape: tuple[int, ...]
    sharding: Any

    def _spec(self, *partitions):
        return self.sharding.update(spec=jax.P(*partitions))

    def lo_ty(self):
        spec = self.sharding.spec
        return [
            hj.ShapedArray(self.shape, jnp.dtype("int8"), sharding=self.sharding),
            hj.ShapedArray(self.shape[:-1], jnp.dtype("float32"), sharding=self._spec(*spec[:-1])),
        ]

    def lower_val(self, value):
        return [value.payload, value.scale]

    def raise_val(self, payload, scale):
        return Quantised(payload, scale)

    def to_tangent_aval(self):
        return hj.ShapedArray(self.shape, jnp.dtype("float32"), sharding=self.sharding)

    def dec_rank(self, size, spec):
        return QuantisedType(self.shape[1:], self._spec(*self.sharding.spec[1:]))

    def inc_rank(self, size, spec):
        return QuantisedType((size, *self.shape), self._spec(None, *self.sharding.spec))

    def leading_axis_spec(self):
        return Rows()

    def shard(self, mesh, manual_axes, check_vma, spec):
        part = self.lo_ty()[0].shard(mesh, manual_axes, check_vma, spec.to_lo()[0])
        return QuantisedType(part.shape, part.sharding)

    def unshard(self, mesh, check_vma, spec):
        whole = self.lo_ty()[0].unshard(mesh, check_vma, spec.to_lo()[0])
        return QuantisedType(whole.shape, whole.sharding)

    def str_short(self, short_dtypes=False, mesh_axis_types=False):
        array = hj.ShapedArray(self.shape, jnp.dtype("int8"), sharding=self.sharding)
        return array.str_short(True).replace("i8", "rq", 1)


hj.register_hitype(
    Quantised, lambda q: QuantisedType(q.payload.shape, jax.typeof(q.payload).sharding)
)


class ToQuantised(hj.HiPrim):
    """Quantise; the derivative is that of the identity (straight through)."""

    def __init__(self, t):
        self.in_avals, self.params = (t,), {}
        self.out_aval = QuantisedType(t.shape, t.sharding)
        super().__init__()

    def expand(self, x):
        scale = jnp.max(jnp.abs(x), axis=-1) / 127
        return Quantised(jnp.round(x / scale[..., None]).astype(jnp.int8), scale)

    def vjp_fwd(self, nzs_in, x):
        return self(x), None

    def vjp_bwd_retval(self, res, ct):
        return (ct,)

    def batch(self, axis_data, args, dims):
        return quantise(jnp.moveaxis(args[0], dims[0], 0)), Rows()


class FromQuantised(hj.HiPrim):
    """The float32 matrix that a quantised one stands for."""

    def __init__(self, t):
        self.in_avals, self.out_aval, self.params = (t,), t.to_tangent_aval(), {}
        super().__init__()

    def expand(self, q):
        return q.payload.astype(jnp.float32) * q.scale[..., None]

    def vjp_fwd(self, nzs_in, q):
        return self(q), None

    def vjp_bwd_retval(self, res, ct):
        return (ct,)

    def batch(self, axis_data, args, dims):
        return dequantise(args[0]), 0


def quantise(x):
    """Return a matrix in int8 with a scale per row."""
    return ToQuantised(jax.typeof(x))(x)


def dequantise(q):
    """Return the matrix in float32."""
    return FromQuantised(jax.typeof(q))(q)
