"""What happens inside a backward pass: norms of cotangents, and a sentinel for NaN.

Both are identities, so they change neither the result nor the gradient. They report through the log
of the backward pass, stacked by scan so that entry i is layer i; `warn_nan` prints as well.
"""

import numpy as np

import tans as jax
import tans.numpy as jnp
from tans.experimental import hijax as hj


class Tap(hj.HiPrim):
    """Log the norm of the cotangent under the key `tag`."""

    def __init__(self, t, tag):
        self.in_avals, self.out_aval, self.params = (t,), t, {"tag": tag}
        super().__init__()

    def expand(self, x):
        return x

    def vjp_fwd(self, nzs_in, x):
        return self(x), None

    def vjp_bwd(self, res, ct, accum):
        accum.accum(ct)
        return {self.tag: jnp.sqrt(jnp.sum(ct * ct))}

    def batch(self, axis_data, args, dims):
        return tap(args[0], self.tag), dims[0]


class Sentinel(hj.HiPrim):
    """Log whether the cotangent has a NaN, and print the layer and the step when it has."""

    def __init__(self, t, i, tag):
        self.in_avals, self.out_aval, self.params = (t, i, i), t, {"tag": tag}
        super().__init__()

    def expand(self, x, layer, step):
        return x

    def vjp_fwd(self, nzs_in, x, layer, step):
        return self(x, layer, step), (layer, step)

    def vjp_bwd(self, res, ct, accum, *_):
        accum.accum(ct)
        layer, step = res
        bad = jnp.any(jnp.isnan(ct))
        jax.debug.callback(_report, bad, layer, step, tag=self.tag)
        return {self.tag: bad}

    def batch(self, axis_data, args, dims):
        x, layer, step = hj.bdims_at_front(axis_data, args, dims)
        return warn_nan(x, layer[0], step[0], self.tag), 0


def _report(bad, layer, step, tag):
    if bad:
        print(f"{tag}: NaN in the cotangent of layer {int(layer)} at step {int(step)}")


def tap(x, tag):
    """Return `x`; in the backward pass log the norm of its cotangent."""
    return Tap(jax.typeof(x), tag)(x)


def warn_nan(x, layer, step, tag="nan"):
    """Return `x`; in the backward pass report a NaN in its cotangent with layer and step."""
    layer, step = jnp.int32(layer), jnp.int32(step)
    return Sentinel(jax.typeof(x), jax.typeof(layer), tag)(x, layer, step)


def first_bad_layer(flags):
    """Return the layer nearest to the output whose cotangent has a NaN, or None.

    The backward pass goes from the last layer to the first, so this is where the NaN arose.
    """
    found = np.flatnonzero(np.asarray(flags))
    return int(found[-1]) if found.size else None
