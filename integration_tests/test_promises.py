"""What the documentation promises of the combined stack, one test each."""

import gc
import math
import sys
import threading
import time

import numpy as np
import pytest
import scipy.spatial.distance

import tans
import tans.numpy as jnp
from tans import lax
from tans.errors import TracerBoolConversionError


def test_derivatives_of_tanh():
    assert float(tans.grad(jnp.tanh)(1.0)) == pytest.approx(0.4199743, abs=1e-6)
    third = tans.grad(tans.grad(tans.grad(jnp.tanh)))
    assert float(third(1.0)) == pytest.approx(0.62162673, abs=1e-5)


def test_grad_of_a_python_branch_follows_the_value():
    def f(x):
        return x**2 if x > 0 else -3.0 * x

    assert float(tans.grad(f)(2.0)) == 4.0
    assert float(tans.grad(f)(-2.0)) == -3.0


def test_jit_vmap_grad_equals_a_loop():
    rng = np.random.default_rng(0)
    w, xs, ys = rng.normal(size=3), rng.normal(size=(5, 3)), rng.normal(size=5)
    w, xs, ys = (np.float32(a) for a in (w, xs, ys))

    def loss(w, x, y):
        return jnp.sum((jnp.tanh(x @ w) - y) ** 2)

    batched = tans.jit(tans.vmap(tans.grad(loss), in_axes=(None, 0, 0)))(w, xs, ys)
    looped = np.stack([tans.grad(loss)(w, x, y) for x, y in zip(xs, ys, strict=True)])
    np.testing.assert_allclose(batched, looped, rtol=1e-5, atol=1e-6)


def test_nested_vmap_of_pairwise_distances():
    points = np.random.default_rng(1).normal(size=(100, 3)).astype(np.float32)

    def distance(x, y):
        return jnp.sqrt(jnp.sum((x - y) ** 2))

    rows = tans.vmap(tans.vmap(distance, (None, 0)), (0, None))(points, points)
    assert rows.shape == (100, 100)
    np.testing.assert_allclose(rows, scipy.spatial.distance.cdist(points, points), atol=1e-5)


def test_hessian_of_a_square():
    h = tans.hessian(lambda w: jnp.sum((w - jnp.array([1.0, 2.0])) ** 2))(jnp.zeros(2))
    np.testing.assert_array_equal(h, 2 * np.eye(2))


def _chain(x):
    for _ in range(5):
        x = jnp.sin(x) * 0.5 + 1.0
    return x


def test_jit_fuses_a_chain_of_elementwise_operations():
    x = jnp.full((2000, 2000), 0.5, jnp.float32)
    compiled = tans.jit(_chain).lower(x).compile()
    fused = compiled.cost_analysis()["bytes accessed"]
    single = tans.jit(jnp.sin).lower(x).compile().cost_analysis()["bytes accessed"]
    assert fused < 3 * single  # 15 operations one by one would move about 15 times as much
    np.testing.assert_allclose(compiled(x), _chain(x), rtol=1e-5)


def test_jit_of_a_large_chain_is_faster_than_eager():
    x = jnp.full((5000, 5000), 0.5, jnp.float32)
    jitted = tans.jit(_chain)

    def least(f):
        f(x).block_until_ready()
        times = []
        for _ in range(7):
            start = time.perf_counter()
            f(x).block_until_ready()
            times.append(time.perf_counter() - start)
        return min(times)

    assert least(_chain) >= 1.5 * least(jitted)


def test_scan_based_cumsum_differentiates():
    def cumsum(x):
        return lax.scan(lambda c, a: (c + a, c + a), 0.0, x)[1]

    x = jnp.arange(4.0)
    np.testing.assert_allclose(cumsum(x), np.cumsum(np.arange(4.0)))
    gradient = tans.grad(lambda x: jnp.sum(cumsum(x)))(x)
    np.testing.assert_allclose(gradient, [4.0, 3.0, 2.0, 1.0])


def test_while_loop_has_a_forward_derivative_only():
    def f(x):
        return lax.while_loop(lambda c: c < 100.0, lambda c: c * 2.0, x)

    y, dy = tans.jvp(f, (3.0,), (1.0,))
    assert (float(y), float(dy)) == (192.0, 64.0)
    with pytest.raises(ValueError, match="scan"):
        tans.grad(f)(3.0)


def test_cond_runs_one_branch():
    ran = []

    def branch(name):
        def run(x):
            tans.debug.callback(lambda: ran.append(name))
            return x

        return run

    f = tans.jit(lambda p, x: lax.cond(p, branch("yes"), branch("no"), x))
    f(True, 1.0)
    f(False, 1.0)
    tans.effects_barrier()
    assert ran == ["yes", "no"]


def test_if_on_a_tracer_names_the_remedy():
    with pytest.raises(TracerBoolConversionError, match=r"lax\.cond"):
        tans.jit(lambda x: x if x > 0 else -x)(1.0)


def test_calls_on_constants_are_staged():
    text = str(tans.make_jaxpr(lambda x: x + jnp.sin(jnp.ones(3)))(1.0))
    assert "sin" in text


def test_a_dispatch_hit_runs_no_python():
    f = tans.jit(lambda x, y: {"s": x + y})
    x, y = jnp.ones(3), jnp.ones(3)
    f(x, y)
    f(x, y)
    calls = []

    def profile(frame, event, arg):
        if event == "call":
            calls.append(frame.f_code.co_qualname)

    sys.setprofile(profile)
    try:
        f(x, y)
    finally:
        sys.setprofile(None)
    assert calls == []


def test_an_operator_runs_one_python_frame():
    x, y = jnp.ones(3), jnp.ones(3)
    _ = x + y
    calls = []

    def profile(frame, event, arg):
        if event == "call":
            calls.append(frame.f_code.co_qualname)

    sys.setprofile(profile)
    try:
        _ = x + y
    finally:
        sys.setprofile(None)
    assert len(calls) <= 1


def test_importing_starts_no_backend_and_no_thread():
    import subprocess

    program = (
        "import threading, tans, tans.numpy, tans.lax, tans.random\n"
        "from tans_xla import backend\n"
        "print(backend.is_started(), threading.active_count())"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False", "1"]


@pytest.mark.parametrize("transform", ["jit", "grad", "vmap", "scan", "jvp", "checkpoint"])
def test_an_exception_leaves_the_contexts_as_they_were(transform):
    def fail(*args):
        raise ZeroDivisionError("user")

    run = {
        "jit": lambda: tans.jit(fail)(1.0),
        "grad": lambda: tans.grad(fail)(1.0),
        "vmap": lambda: tans.vmap(fail)(jnp.ones(3)),
        "scan": lambda: lax.scan(fail, 0.0, jnp.ones(3)),
        "jvp": lambda: tans.jvp(fail, (1.0,), (1.0,)),
        "checkpoint": lambda: tans.grad(tans.checkpoint(fail))(1.0),
    }[transform]
    with pytest.raises(ZeroDivisionError):
        run()
    assert float(jnp.sin(0.0)) == 0.0
    assert float(tans.jit(lambda x: x + 1)(1.0)) == 2.0
    assert float(tans.grad(lambda x: x * x)(3.0)) == 6.0


def test_sixteen_threads_trace_compile_and_call():
    results: dict[int, list[float]] = {}
    shared = tans.jit(lambda x, n: jnp.sum(jnp.sin(x) * n))

    def work(i):
        out = []
        for k in range(4):
            x = jnp.full((i + 1,), 0.5)
            out.append(float(shared(x, k)))
            own = tans.jit(tans.vmap(tans.grad(lambda v, n=i + k: jnp.tanh(v) * n)))
            out.append(float(own(x)[0]))
            out.append(float((x @ x) + jnp.where(x > 0, x, 0).sum()))
        results[i] = out

    threads = [threading.Thread(target=work, args=(i,)) for i in range(16)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(results) == 16
    for i, out in results.items():
        expected = []
        for k in range(4):
            expected.append((i + 1) * math.sin(0.5) * k)
            expected.append((1 - math.tanh(0.5) ** 2) * (i + k))
            expected.append((i + 1) * 0.25 + (i + 1) * 0.5)
        np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-5)


def test_compiled_programs_are_freed_with_their_function():
    import weakref

    def make():
        f = tans.jit(lambda x: x * 2)
        f(1.0)
        return weakref.ref(f._jitted.fun)

    ref = make()
    gc.collect()
    assert ref() is None


@pytest.mark.parametrize("order", ["import jax; import tans", "import tans; import jax"])
def test_real_jax_in_the_process_is_refused(tmp_path, order):
    import subprocess

    package = tmp_path / "jax"
    package.mkdir()
    (package / "__init__.py").write_text("__version__ = '0.12.0.1'\n")
    program = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); {order}"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert "ImportError" in done.stderr
    assert "tans-jax" in done.stderr


@pytest.mark.parametrize(
    "call", ["f(x)", "tans.jit(f)(x)", "tans.grad(lambda x: f(x).sum())(x)", "tans.vmap(f)(x)"]
)
def test_an_uncaught_error_ends_at_the_users_line(call):
    import subprocess

    program = (
        "import tans\nimport tans.numpy as jnp\n"
        "def f(x):\n    return jnp.reshape(x, (5, 7))\n"
        f"x = jnp.ones((3, 2))\n{call}\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    frames = [line for line in done.stderr.splitlines() if line.startswith("  File")]
    assert frames
    assert all('File "<string>"' in line for line in frames), done.stderr
    assert "reshape: given" in done.stderr
