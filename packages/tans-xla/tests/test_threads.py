"""Sixteen threads trace, compile and call at the same time."""

import threading

import numpy as np
import pytest

from tans_core.cache import clear_caches
from tans_xla import jit
from tans_xla.mlir_context import use_context


def run_in_threads(work, count=16):
    failures = []
    barrier = threading.Barrier(count)

    def guarded(i):
        try:
            barrier.wait()
            work(i)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_one_function(toys, is_clean):
    g = jit(lambda x: toys.add(toys.sin(x), 1.0))

    def work(i):
        for k in range(6):
            x = np.full((i % 4 + 1,), float(k), np.float32)
            np.testing.assert_allclose(g(x), np.sin(x) + 1, rtol=1e-5)
            np.testing.assert_array_equal(toys.add(x, x), 2 * x)
            is_clean()

    run_in_threads(work)


def test_functions_of_their_own_that_share_a_nested_one(toys, is_clean):
    g = jit(lambda x: toys.add(toys.sin(x), 1.0))

    def work(i):
        for k in range(3):
            h = jit(lambda y, k=k: toys.mul(g(g(y)), float(i + k)))
            x = np.float32(k)
            expected = (np.sin(np.sin(x) + 1) + 1) * (i + k)
            np.testing.assert_allclose(h(x), expected, rtol=1e-5)
            is_clean()

    run_in_threads(work)


def test_caches_emptied_meanwhile(toys):
    g = jit(lambda x: toys.add(x, 1.0))

    def work(i):
        for k in range(4):
            assert float(g(float(i + k))) == i + k + 1
            if i == 0:
                clear_caches()

    run_in_threads(work)


def test_a_failing_thread_leaves_the_others_alone(toys):
    @jit
    def f(x):
        if x.shape == (3,):
            raise ValueError("three")
        return toys.add(x, 1.0)

    def work(i):
        for _ in range(3):
            n = 3 if i % 2 else 2
            try:
                assert np.asarray(f(np.ones(n, np.float32))).tolist() == [2.0, 2.0]
                assert n == 2
            except ValueError:
                assert n == 3

    run_in_threads(work)


def test_threads_build_in_contexts_of_their_own(toys):
    lowered = [None] * 4
    x = np.ones(3, np.float32)

    def work(i):
        lowered[i] = jit(lambda x: toys.sin(x)).lower(x)

    run_in_threads(work, len(lowered))
    contexts = {id(stage.compiler_ir().context) for stage in lowered}
    assert len(contexts) == len(lowered)
    for stage in lowered:  # in another thread than lowered it
        np.testing.assert_allclose(stage.compile()(x), np.sin(x), rtol=1e-6)


@pytest.mark.parametrize(
    "use", [lambda low: low.compile(), lambda low: low.as_text(), lambda low: low.cost_analysis()]
)
def test_a_module_waits_for_the_thread_that_builds_in_its_context(toys, use):
    lowered = jit(lambda x: toys.sin(x)).lower(1.0)
    done = threading.Event()
    thread = threading.Thread(target=lambda: (use(lowered), done.set()))
    with use_context():
        thread.start()
        assert not done.wait(0.3)
    thread.join(60)
    assert done.is_set()
