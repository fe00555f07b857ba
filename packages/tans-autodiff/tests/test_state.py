"""Errors leave no trace behind, threads don't disturb each other, traces are freed at once."""

import gc
import threading
import weakref

import numpy as np
import pytest

import tans_lax as lax
from tans_autodiff import checkpoint, custom_vjp, grad, jacfwd, jvp, linearize, vjp
from tans_core.config import trace_context
from tans_core.state import state
from tans_core.trace import eval_trace
from tans_xla import jit

f32 = np.float32


class Stop(Exception):
    pass


def fail(*_):
    raise Stop


def broken_rule():
    f = custom_vjp(lax.sin)
    f.defvjp(lambda x: (lax.sin(x), None), fail)
    return f


@pytest.mark.parametrize(
    "run",
    [
        lambda: grad(fail)(1.0),
        lambda: jvp(fail, (1.0,), (1.0,)),
        lambda: vjp(fail, 1.0),
        lambda: linearize(fail, 1.0),
        lambda: jacfwd(fail)(1.0),
        lambda: checkpoint(fail)(1.0),
        lambda: jit(grad(fail))(1.0),
        lambda: grad(jit(fail))(1.0),
        lambda: grad(broken_rule())(1.0),
        lambda: jit(grad(jit(broken_rule())))(1.0),
    ],
)
def test_an_exception_restores_the_thread(run):
    before = trace_context()
    for _ in range(2):
        with pytest.raises(Stop):
            run()
        assert state.trace is eval_trace
        assert state.source is None
        assert state.name_stack == ""
        assert trace_context() == before
    assert float(grad(lax.sin)(0.0)) == 1.0


def test_a_failed_rule_is_not_remembered():
    attempts = []
    f = custom_vjp(lax.sin)

    def bwd(x, g):
        attempts.append(1)
        if len(attempts) == 1:
            raise Stop
        return (g,)

    f.defvjp(lambda x: (lax.sin(x), x), bwd)
    g = jit(f)
    with pytest.raises(Stop):
        grad(g)(1.0)
    assert float(grad(g)(1.0)) == 1.0


def test_sixteen_threads():
    @jit
    def shared(x):
        return lax.tanh(lax.sin(x))

    results: dict[int, float] = {}

    def work(i):
        def f(x):
            return lax.mul(shared(x), lax.exp(lax.mul(x, float(i))))

        results[i] = float(grad(f)(0.5)), float(jit(grad(f))(0.5))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(16)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for i in range(16):
        s, c = np.tanh(np.sin(0.5)), np.cos(0.5)
        expected = np.exp(0.5 * i) * ((1 - s * s) * c + i * s)
        np.testing.assert_allclose(results[i], [expected, expected], rtol=1e-5)


@pytest.mark.parametrize(
    "run",
    [
        lambda f: grad(f)(1.0),
        lambda f: jvp(f, (1.0,), (1.0,)),
        lambda f: vjp(f, 1.0)[1](1.0),
        lambda f: linearize(f, 1.0)[1](1.0),
        lambda f: grad(grad(f))(1.0),
        lambda f: jit(grad(f))(1.0),
    ],
    ids=["grad", "jvp", "vjp", "linearize", "grad of grad", "jit of grad"],
)
def test_traces_are_freed_without_the_garbage_collector(run):
    traces = []

    def f(x):
        traces.append(weakref.ref(x._trace))
        return jit(lax.sin)(lax.mul(x, lax.exp(x)))

    run(f)
    traces.clear()
    gc.collect()
    gc.disable()
    try:
        run(f)
        alive = [ref() for ref in traces if ref() is not None]
    finally:
        gc.enable()
    assert alive == []
