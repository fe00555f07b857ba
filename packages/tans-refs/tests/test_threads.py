"""Refs that several threads use at once: each operation is done whole, one after another."""

import signal
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tans
import tans.numpy as jnp
from tans import jit, new_ref, ref
from tans.experimental import io_callback

THREADS, TIMES = 16, 20


def in_threads(work: Callable[[int], None]) -> None:
    """Run work(0), work(1), ... in threads that start together; raise the first error."""
    errors: list[BaseException] = []
    barrier = threading.Barrier(THREADS)

    def run(k: int) -> None:
        try:
            barrier.wait()
            for _ in range(TIMES):
                work(k)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(THREADS)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for error in errors:
        raise error


def test_eager_writes_of_one_ref() -> None:
    r, one = new_ref(jnp.zeros(100)), jnp.ones(100)
    in_threads(lambda _: ref.addupdate(r, ..., one))
    assert (r[...] == THREADS * TIMES).all()


@pytest.mark.parametrize("passed", [True, False])
def test_calls_that_write_one_ref(passed: bool) -> None:
    r = new_ref(jnp.zeros(100))
    if passed:
        add = jit(lambda r: r.addupdate(jnp.ones(100)))
        in_threads(lambda _: add(r))
    else:
        add_closed = jit(lambda: r.addupdate(jnp.ones(100)))
        in_threads(lambda _: add_closed())
    assert (r[...] == THREADS * TIMES).all()


def test_reads_between_writes_see_whole_values() -> None:
    r = new_ref(jnp.zeros(10_000))
    add = jit(lambda r: r.addupdate(jnp.ones(10_000)))
    read = jit(lambda r: r[...])

    def work(k: int) -> None:
        if k % 2:
            add(r)
        else:
            value = np.asarray(read(r) if k % 4 else r[...])
            assert (value == value[0]).all()

    in_threads(work)
    assert (r[...] == THREADS * TIMES // 2).all()


def test_two_refs_in_both_orders() -> None:
    a, b = new_ref(jnp.zeros(10)), new_ref(jnp.zeros(10))

    @jit
    def both(x: Any, y: Any) -> None:
        x[...] += 1.0
        y[...] += 1.0

    in_threads(lambda k: both(a, b) if k % 2 else both(b, a))
    assert (a[...] == THREADS * TIMES).all()
    assert (b[...] == THREADS * TIMES).all()


def test_one_ref_per_thread() -> None:
    refs = [new_ref(jnp.zeros(10)) for _ in range(THREADS)]
    add = jit(lambda r, x: r.addupdate(jnp.full(10, x)))
    in_threads(lambda k: add(refs[k], float(k)))
    assert [float(r[0]) for r in refs] == [float(k * TIMES) for k in range(THREADS)]


def test_callback_and_a_ref_that_its_program_overwrites() -> None:
    r, seen = new_ref(jnp.zeros(3)), new_ref(jnp.zeros(3))
    errors: list[Exception] = []

    def look(value: Any) -> None:
        seen[...] += value
        try:
            r[...]
        except ValueError as error:
            errors.append(error)

    @jit
    def f(r: Any) -> None:
        r[...] += 1.0
        io_callback(look, None, r[...], ordered=True)
        r[...] *= 2.0

    f(r)
    tans.effects_barrier()
    assert "being overwritten by f" in str(errors[0])
    assert seen[...].tolist() == [1, 1, 1]
    assert r[...].tolist() == [2, 2, 2]


@pytest.mark.parametrize("how", ["jit", "addupdate", "swap"])
def test_interrupts_lose_no_ref(how: str) -> None:
    r, one = new_ref(jnp.zeros(1000)), jnp.ones(1000)
    add = jit(lambda r: r.addupdate(jnp.ones(1000)))
    calls: dict[str, Callable[[], Any]] = {
        "jit": lambda: add(r),
        "addupdate": lambda: ref.addupdate(r, ..., one),
        "swap": lambda: r.swap(one),
    }
    call = calls[how]
    call()

    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    def forever(interrupt_after: float) -> None:
        signal.setitimer(signal.ITIMER_REAL, interrupt_after)
        while True:
            call()

    old = signal.signal(signal.SIGALRM, stop)
    try:
        for k in range(50):
            with pytest.raises(KeyboardInterrupt):
                forever(3e-4 + 2e-5 * k)
            value = np.asarray(r[...])
            assert (value == value[0]).all()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
