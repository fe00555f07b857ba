"""RMS normalisation by a C++ kernel that differentiates, batches and works on sharded arrays.

Three layers: `Norm` has the derivatives; `Forward` and `Backward` are small primitives around the
raw calls that own batching and sharding, because the derivatives call them too.
"""

import ctypes
from pathlib import Path

import numpy as np

import tans as jax
import tans.numpy as jnp
from tans.experimental import hijax as hj


def load(library: Path, platform: str = "cpu", suffix: str = "") -> None:
    """Register the kernels of a built library; the CUDA one has the suffix "Cuda"."""
    functions = ctypes.cdll.LoadLibrary(str(library))
    for name in ("Forward", "Backward"):
        handler = getattr(functions, f"RmsNorm{name}{suffix}")
        jax.ffi.register_ffi_target(
            f"rms_norm_{name.lower()}", jax.ffi.pycapsule(handler), platform=platform
        )


def _per_device(local, avals, out_avals, *args):
    """Run a call on each device's rows; no data moves."""
    if avals[0].sharding.mesh.empty:
        return local(*args)
    specs = tuple(a.sharding.spec for a in out_avals)
    return jax.shard_map(local, out_specs=specs if len(specs) > 1 else specs[0])(*args)


def _without_last(t):
    sharding = t.sharding.update(spec=jax.P(*t.sharding.spec[:-1]))
    return t.update(shape=t.shape[:-1], sharding=sharding)


class Forward(hj.HiPrim):
    """``(y, 1 / rms)``."""

    def __init__(self, t, eps):
        self.in_avals, self.out_aval = (t,), (t, _without_last(t))
        self.params = {"eps": np.float32(eps)}
        super().__init__()

    def expand(self, x):
        def local(x):
            t = jax.typeof(x)
            results = (t, jax.ShapeDtypeStruct(t.shape[:-1], t.dtype))
            return tuple(jax.ffi.ffi_call("rms_norm_forward", results)(x, eps=self.eps))

        return _per_device(local, self.in_avals, self.out_aval, x)

    def batch(self, axis_data, args, dims):
        return forward(jnp.moveaxis(args[0], dims[0], 0), self.eps), (0, 0)


class Backward(hj.HiPrim):
    """Cotangent of x; also its tangent map, because the Jacobian is symmetric."""

    def __init__(self, k, t):
        self.in_avals, self.out_aval, self.params = (k, t, t), t, {}
        super().__init__()

    def expand(self, k, x, g):
        def local(k, x, g):
            return jax.ffi.ffi_call("rms_norm_backward", jax.typeof(x))(k, x, g)

        return _per_device(local, self.in_avals, (self.out_aval,), k, x, g)

    def batch(self, axis_data, args, dims):
        return backward(*hj.bdims_at_front(axis_data, args, dims)), 0


class Norm(hj.HiPrim):
    """x / sqrt(mean(x^2) + eps) along the last axis."""

    def __init__(self, t, eps):
        self.in_avals, self.out_aval, self.params = (t,), t, {"eps": float(eps)}
        super().__init__()

    def expand(self, x):
        return forward(x, self.eps)[0]

    def vjp_fwd(self, nzs_in, x):
        y, k = forward(x, self.eps)
        return y, (k, x)

    def vjp_bwd_retval(self, res, g):
        return (backward(*res, g),)

    def jvp(self, primals, tangents):
        y, k = forward(primals[0], self.eps)
        return y, backward(k, primals[0], hj.instantiate_zeros(tangents[0]))

    def batch(self, axis_data, args, dims):
        return rms_norm(jnp.moveaxis(args[0], dims[0], 0), self.eps), 0


def forward(x, eps):
    return Forward(jax.typeof(x), eps)(x)


def backward(k, x, g):
    return Backward(jax.typeof(k), jax.typeof(x))(k, x, g)


def rms_norm(x, eps=1e-5):
    """Normalise rows: float32 ``[..., n]`` to the same shape."""
    return Norm(jax.typeof(x).strip_weak_type(), eps)(x)
