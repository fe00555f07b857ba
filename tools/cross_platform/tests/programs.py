"""Programs that every platform has to compile: (function, types of its arguments) by name."""

from collections.abc import Callable
from typing import Any

import numpy as np

import tans
import tans.numpy as jnp
from tans.experimental.xla_metadata import set_xla_metadata, xla_metadata_call
from tans.sharding import Mesh, NamedSharding

F32, BF16 = np.float32, jnp.bfloat16
P = tans.P
Struct = tans.ShapeDtypeStruct

type Case = tuple[Callable[..., Any], tuple[Any, ...]]


def on_one(device: Any) -> dict[str, Case]:
    """Return programs for one device."""
    sharding = tans.sharding.make_single_device_sharding(device)

    def arg(*shape: int, dtype: Any = F32) -> Any:
        return Struct(shape, dtype, sharding=sharding)

    def mlp(params: Any, x: Any) -> Any:
        return jnp.sum(jnp.tanh(x @ params["a"]) @ params["b"])

    params = {"a": arg(64, 128), "b": arg(128, 8)}

    def looped(x: Any, w: Any) -> Any:
        return tans.lax.scan(lambda c, _: (jnp.tanh(c @ w), c.sum()), x, None, length=5)

    def tagged(x: Any) -> Any:
        return xla_metadata_call(lambda y: jnp.sin(y) * jnp.cos(y), tag="block")(x)

    def scoped(x: Any) -> Any:
        with set_xla_metadata(stage="embed"):
            return jnp.sin(x) * 2

    return {
        "forward": (mlp, (params, arg(32, 64))),
        "gradient": (tans.grad(mlp), (params, arg(32, 64))),
        "scan": (looped, (arg(16, 16), arg(16, 16))),
        "gradient of scan": (
            tans.grad(lambda x, w: looped(x, w)[0].sum()),
            (arg(16, 16), arg(16, 16)),
        ),
        "vmap": (tans.vmap(lambda x: jnp.sort(x)[::-1]), (arg(4, 33),)),
        "while": (
            lambda x: tans.lax.while_loop(lambda c: c.sum() < 100, lambda c: c * 2, x),
            (arg(8),),
        ),
        "sort and top_k": (lambda x: (jnp.sort(x), tans.lax.top_k(x, 3)), (arg(128),)),
        "fft": (lambda x: jnp.abs(jnp.fft.fft(x)), (arg(64),)),
        "random": (lambda: tans.random.normal(tans.random.key(0), (8,)), ()),
        "gather": (lambda x, i: x[i], (arg(32, 4), arg(5, dtype=np.int32))),
        "convolution": (
            lambda x, k: tans.lax.conv(x, k, (1, 1), "SAME"),
            (arg(2, 4, 16, 16), arg(8, 4, 3, 3)),
        ),
        "checkpoint": (tans.grad(tans.checkpoint(mlp)), (params, arg(32, 64))),
        "metadata": (tagged, (arg(256),)),
        "metadata of a block": (scoped, (arg(256),)),
        "linear algebra": (lambda x: (jnp.linalg.cholesky(x), jnp.linalg.qr(x)), (arg(8, 8),)),
    }


def on_four(mesh: Mesh) -> dict[str, Case]:
    """Return programs for a mesh of 2 x 2 with axes x and y."""

    def arg(shape: tuple[int, ...], *spec: Any, dtype: Any = F32) -> Any:
        return Struct(shape, dtype, sharding=NamedSharding(mesh, P(*spec)))

    def loss(w: Any, x: Any) -> Any:
        return jnp.sum(jnp.tanh(x @ w).astype(F32))

    def step(w: Any, x: Any) -> Any:
        return w - 0.125 * tans.grad(loss)(w, x)

    def mapped(x: Any) -> Any:
        return tans.shard_map(
            lambda part: tans.lax.psum(part, "x"),
            mesh=mesh,
            in_specs=P("x", "y"),
            out_specs=P(None, "y"),
        )(x)

    return {
        "step": (step, (arg((512, 512), None, "y"), arg((1024, 512), "x", None))),
        "shard_map": (mapped, (arg((8, 8), "x", "y"),)),
        "accumulation": (accumulate, (arg((64, 32), None, None), arg((4, 8, 64), None, "x", None))),
    }


def accumulate(w: Any, batches: Any) -> Any:
    """Return the sum of gradients over the leading axis of the batches."""

    def add(total: Any, x: Any) -> Any:
        return total + tans.grad(lambda w: jnp.sum(jnp.tanh(x @ w)))(w), None

    return tans.lax.scan(add, jnp.zeros_like(w), batches)[0]
