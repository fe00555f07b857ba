"""Runs the whole stack on a device and compares with NumPy: ``device_check.py --platform cuda``.

Meant for somebody with a GPU or TPU at hand: one command, under 8 minutes, a line per check, and a
summary as JSON with ``--json FILE``. Without ``--platform`` it takes the default backend.
"""

import argparse
import json
import pickle
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from typing import Any, Final

import numpy as np

import tans
import tans.numpy as jnp
from tans import export, profiler
from tans.experimental import serialize_executable
from tans.experimental.xla_metadata import xla_metadata_call

LIMIT: Final = 480  # seconds for all checks
RNG: Final = np.random.default_rng(0)
X: Final = RNG.standard_normal((64, 32)).astype(np.float32)
W: Final = RNG.standard_normal((32, 16)).astype(np.float32) / 6


class Hardware:
    """The devices that are checked."""

    devices: Any = ()


def close(found: Any, expected: Any, tolerance: float = 2e-5) -> None:
    """Compare with NumPy's result in float64."""
    np.testing.assert_allclose(
        np.asarray(found, np.float64), expected, rtol=tolerance, atol=tolerance
    )


def exact_product(a: Any, b: Any) -> Any:
    """Multiply in float32, whatever the platform does by default."""
    return jnp.matmul(a, b, precision="highest")


def loss(w: Any, x: Any) -> Any:
    """Return a loss of one layer."""
    return jnp.mean(jnp.tanh(exact_product(x, w)) ** 2)


def numpy_gradient(w: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return its gradient, by hand, in float64."""
    y = np.tanh(x.astype(np.float64) @ w)
    return x.astype(np.float64).T @ (2 * y * (1 - y**2) / y.size)


def elementwise() -> None:
    """Functions of one array, and a reduction."""
    close(
        tans.jit(lambda x: jnp.sum(jnp.sin(x) * jnp.exp(-x)))(X),
        np.sum(np.sin(X) * np.exp(-X)),
        1e-4,
    )


def products() -> None:
    """Matmul in three precisions."""
    expected = X.astype(np.float64) @ W
    for precision, tolerance in (("highest", 2e-5), ("BF16_BF16_F32_X3", 1e-3), ("default", 5e-2)):
        close(
            tans.jit(lambda a, b, p=precision: jnp.matmul(a, b, precision=p))(X, W),
            expected,
            tolerance,
        )


def gradients() -> None:
    """Reverse mode, forward mode, and remat."""
    expected = numpy_gradient(W, X)
    close(tans.jit(tans.grad(loss))(W, X), expected)
    close(tans.jit(tans.grad(tans.checkpoint(loss)))(W, X), expected)
    close(
        tans.jit(tans.jacfwd(loss))(W[:4, :2] * 1, X[:, :4]),
        numpy_gradient(W[:4, :2], X[:, :4]),
        1e-4,
    )


def loops() -> None:
    """Scan with its gradient, while and cond."""

    def run(x: Any) -> Any:
        return tans.lax.scan(lambda c, _: (jnp.sin(c), None), x, None, length=4)[0].sum()

    c, slope = X.astype(np.float64), np.ones(X.shape)
    for _ in range(4):
        slope, c = slope * np.cos(c), np.sin(c)
    close(tans.jit(tans.grad(run))(X), slope)
    doubled = tans.jit(lambda x: tans.lax.while_loop(lambda c: c.max() < 100, lambda c: c * 2, x))(
        np.float32(3.0)
    )
    close(doubled, 192.0)
    close(tans.jit(lambda x: tans.lax.cond(x > 0, jnp.sin, jnp.cos, x))(np.float32(1)), np.sin(1.0))


def batching() -> None:
    """Vmap of a function with sorting."""
    close(tans.jit(tans.vmap(lambda x: jnp.sort(x)[::-1]))(X), np.sort(X, axis=1)[:, ::-1])


def linear_algebra() -> None:
    """Factorisations, through the libraries of the platform."""
    a = X.T @ X / 64 + np.eye(32, dtype=np.float32)
    lower = np.asarray(tans.jit(jnp.linalg.cholesky)(a), np.float64)
    close(lower @ lower.T, a, 1e-3)
    q, r = map(np.asarray, tans.jit(jnp.linalg.qr)(X))
    close(q @ r, X, 1e-3)
    close(np.sort(tans.jit(jnp.linalg.eigvalsh)(a)), np.linalg.eigvalsh(a.astype(np.float64)), 1e-3)


def convolution_and_fft() -> None:
    """Both, against direct sums."""
    image = X.reshape(1, 1, 64, 32)
    kernel = W[:3, :3].reshape(1, 1, 3, 3)
    with tans.default_matmul_precision("highest"):
        found = np.asarray(
            tans.jit(lambda a, k: tans.lax.conv(a, k, (1, 1), "VALID"))(image, kernel)
        )
    windows = np.lib.stride_tricks.sliding_window_view(image[0, 0].astype(np.float64), (3, 3))
    close(found[0, 0], np.einsum("ijkl,kl->ij", windows, kernel[0, 0]), 1e-3)
    close(tans.jit(lambda x: jnp.abs(jnp.fft.fft(x)))(X), np.abs(np.fft.fft(X)), 1e-3)


def random_numbers() -> None:
    """Keys are the same on every platform, and draws within an ulp or two."""
    bits = tans.jit(lambda: tans.random.bits(tans.random.key(7), (4,)))()
    again = np.asarray(tans.random.bits(tans.random.key(7), (4,)))
    np.testing.assert_array_equal(bits, again)
    draws = np.asarray(tans.jit(lambda: tans.random.normal(tans.random.key(0), (20000,)))())
    assert abs(draws.mean()) < 0.05
    assert abs(draws.std() - 1) < 0.05


def refs_and_donation() -> None:
    """Mutable references, and buffers that are given away."""
    total = tans.new_ref(jnp.zeros(()))

    @tans.jit
    def add(ref: Any, x: Any) -> None:
        ref[...] += x.sum()

    add(total, X)
    add(total, X)
    close(total[...], 2 * X.sum(dtype=np.float64), 1e-3)
    given = jnp.asarray(X)
    close(tans.jit(lambda x: x + 1, donate_argnums=0)(given), X + 1.0)
    assert given.is_deleted()


def callbacks() -> None:
    """Python functions called from compiled programs, where the platform has them."""
    if Hardware.devices[0].platform == "tpu":
        return
    seen: list[float] = []
    tans.jit(lambda x: tans.debug.callback(lambda v: seen.append(float(v)), x.sum()))(X)
    tans.effects_barrier()
    close(seen[0], X.sum(dtype=np.float64), 1e-3)
    shape = tans.ShapeDtypeStruct((), np.float32)
    doubled = tans.jit(lambda x: tans.pure_callback(lambda v: np.float32(2 * v), shape, x))
    close(doubled(np.float32(3)), 6.0)


def sharding() -> None:
    """A data-parallel step over all devices."""
    mesh = tans.make_mesh((len(Hardware.devices),), ("d",), devices=Hardware.devices)
    x = tans.device_put(
        np.tile(X, (len(Hardware.devices), 1)), tans.NamedSharding(mesh, tans.P("d", None))
    )
    with tans.set_mesh(mesh):
        w = tans.device_put(W, tans.NamedSharding(mesh, tans.P(None, None)))
        sums = tans.shard_map(
            lambda part: tans.lax.psum(part.sum(0), "d"), in_specs=tans.P("d"), out_specs=tans.P()
        )
        close(tans.jit(sums)(x), np.asarray(x, np.float64).sum(0), 1e-3)
        found = tans.jit(lambda w, x: jnp.sum(jnp.tanh(jnp.matmul(x, w, precision="highest"))))(
            w, x
        )
    close(found, np.sum(np.tanh(np.asarray(x, np.float64) @ W)), 1e-3)


def written_programs() -> None:
    """Export, compiled programs and VJP objects, written and read."""
    made = export.export(tans.jit(loss))(W, X).serialize(vjp_order=1)
    program = export.deserialize(made).call
    close(tans.grad(program)(W, X), numpy_gradient(W, X))
    compiled = tans.jit(loss).lower(W, X).compile()
    loaded = serialize_executable.deserialize_and_load(*serialize_executable.serialize(compiled))
    close(loaded(W, X), compiled(W, X))
    out, f_vjp = tans.vjp(loss, W, X)
    close(pickle.loads(pickle.dumps(f_vjp))(jnp.ones_like(out))[0], numpy_gradient(W, X))


def reports() -> None:
    """Explanations, metadata and profiles."""
    tagged = xla_metadata_call(loss, tag="block")
    found = tans.explain(tagged, W, X)
    assert found.seconds("run") is not None
    assert found.equations["tanh"] == 1
    with tempfile.TemporaryDirectory() as folder, profiler.trace(folder) as session:
        tans.jit(loss)(W, X).block_until_ready()
    assert session.profile_data is not None


CHECKS: Final[tuple[Callable[[], None], ...]] = (
    elementwise, products, gradients, loops, batching, linear_algebra, convolution_and_fft,
    random_numbers, refs_and_donation, callbacks, sharding, written_programs, reports,
)  # fmt: skip


def run(check: Callable[[], None]) -> dict[str, Any]:
    """Run one check; return its name, seconds and error."""
    start = time.perf_counter()
    try:
        check()
        error = None
    except Exception:
        error = traceback.format_exc()
    return {"name": check.__name__, "seconds": time.perf_counter() - start, "error": error}


def main(arguments: list[str] | None = None) -> int:
    """Run the checks; return the number of failures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--platform", help="cpu, cuda, rocm or tpu")
    parser.add_argument("--json", help="file for the results")
    parser.add_argument("checks", nargs="*", help="names; all by default")
    options = parser.parse_args(arguments)
    if options.platform:
        tans.config.update("jax_platforms", options.platform)
    Hardware.devices = tans.devices()
    kind = f"{len(Hardware.devices)} x {Hardware.devices[0].device_kind}"
    out = sys.stdout.write
    out(f"{tans.default_backend()}: {kind}\n")
    start, results = time.perf_counter(), []
    for check in CHECKS:
        if options.checks and check.__name__ not in options.checks:
            continue
        if time.perf_counter() - start > LIMIT:
            results.append({"name": check.__name__, "seconds": 0.0, "error": "no time left"})
            continue
        results.append(run(check))
        last = results[-1]
        word = "ok  " if last["error"] is None else "FAIL"
        out(f"{word} {last['seconds']:6.1f} s  {last['name']}\n")
        if last["error"]:
            out(last["error"])
    failed = [r["name"] for r in results if r["error"]]
    out(f"{len(results) - len(failed)} of {len(results)} checks passed\n")
    if options.json:
        summary = {"backend": tans.default_backend(), "devices": kind, "checks": results}
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(summary, file, indent=2)
    return len(failed)


if __name__ == "__main__":
    sys.exit(main())
