"""Loops over refs: what is done again must find what the first run found; lanes; no steps."""

from typing import Any

import numpy as np
import pytest

import tans
import tans.numpy as jnp
from tans import grad, jit, lax, new_ref, vmap

RUNS = [lambda f: f, jit]
WRAPS = {
    "plain": lambda f: f,
    "jit": jit,
    "checkpoint": tans.checkpoint,
    "cond": lambda f: lambda x: lax.cond(True, f, lambda x: x, x),
    "scan": lambda f: lambda x: lax.scan(lambda c, _: (f(c), None), x, None, 1)[0],
    "vmap": lambda f: lambda x: vmap(f)(jnp.stack([x, x]))[0],
}


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("wrap", WRAPS.values(), ids=WRAPS.keys())
@pytest.mark.parametrize("reader", ["body", "condition"])
def test_linear_part_of_while_uses_what_the_ref_held(reader: str, wrap: Any, run: Any) -> None:
    r = new_ref(2.0)

    def f(x: Any) -> Any:
        if reader == "body":
            step, steps = (lambda c: (c[0] + 1, c[1] * x * r[...])), (lambda c: c[0] < 2)
        else:
            step, steps = (lambda c: (c[0] + 1, c[1] * x * 2.0)), (lambda c: c[0] < r[...])
        return lax.while_loop(steps, step, (0, 1.0))[1]

    value, linear = tans.linearize(run(wrap(f)), 3.0)
    r[...] = 7.0
    assert value == 36.0
    assert linear(1.0) == 24.0


@pytest.mark.parametrize("run", RUNS)
def test_linear_part_of_while_writes_nothing(run: Any) -> None:
    r = new_ref(1.0)

    def f(x: Any) -> Any:
        def body(c: Any) -> Any:
            r[...] += 1.0
            return c[0] + 1, c[1] * x * r[...]

        return lax.while_loop(lambda c: c[0] < 2, body, (0, 1.0))[1]

    value, linear = tans.linearize(run(f), 2.0)
    assert value == 24.0
    for _ in range(2):
        assert linear(1.0) == 24.0
        assert r[...] == 3.0


@pytest.mark.parametrize("run", RUNS)
def test_linear_part_of_while_over_a_differentiated_ref(run: Any) -> None:
    def f(x: Any) -> Any:
        r = new_ref(x)

        def both(c: Any) -> Any:
            r[...] = jnp.sin(r[...]) * 2.0
            return c + 1

        lax.while_loop(lambda c: (r[...] > -5.0) & (c < 2), both, 0)
        return r[...]

    slope = 2 * np.cos(2.0) * 2 * np.cos(2 * np.sin(2.0))
    value, linear = tans.linearize(run(f), 2.0)
    np.testing.assert_allclose(value, 2 * np.sin(2 * np.sin(2.0)), rtol=1e-6)
    for _ in range(2):
        np.testing.assert_allclose(linear(1.0), slope, rtol=1e-6)
    np.testing.assert_allclose(tans.jvp(run(f), (2.0,), (1.0,))[1], slope, rtol=1e-6)
    for reverse in (grad(run(f)), jit(grad(f))):
        with pytest.raises(ValueError, match="reverse-mode derivative: given a while_loop"):
            reverse(2.0)


@pytest.mark.parametrize("run", RUNS)
def test_a_condition_that_writes_under_linearize(run: Any) -> None:
    r = new_ref(0.0)

    def condition(c: Any) -> Any:
        r[...] += 1.0
        return c[0] < 3

    def f(x: Any) -> Any:
        return lax.while_loop(condition, lambda c: (c[0] + 1, c[1] * x + r[...]), (0, 1.0))[1]

    value, linear = tans.linearize(run(f), 2.0)
    assert value == 8 + 4 + 2 * 2 + 3  # ((x + 1) x + 2) x + 3
    assert linear(1.0) == 12 + 4 + 2
    assert r[...] == 4.0


@pytest.mark.parametrize("run", RUNS)
def test_scan_over_rows_of_a_ref_with_lanes_in_front(run: Any) -> None:
    r = new_ref(jnp.zeros((2, 3)))

    def f(r: Any, start: Any) -> Any:
        def step(c: Any, row: Any) -> Any:
            row[...] += c
            return c + 1.0, row[...] * 2.0

        return lax.scan(step, start, r)

    end, twice = run(vmap(f))(r, jnp.array([0.0, 10.0]))
    assert end.tolist() == [3, 13]
    assert r[...].tolist() == [[0, 1, 2], [10, 11, 12]]
    np.testing.assert_array_equal(twice, 2 * r[...])
    total = run(vmap(lambda r: lax.scan(lambda c, row: (c + row[...], None), 0.0, r)[0]))(r)
    assert total.tolist() == [3, 33]


def test_gradient_of_scans_over_rows_in_lanes() -> None:
    def f(x: Any) -> Any:
        r = new_ref(x)
        lax.scan(lambda c, row: (c, row.set(jnp.sin(row[...]) * 2.0)), 0, r)
        return r[...].sum()

    x = jnp.arange(24.0).reshape(2, 3, 4)
    for run in (vmap(grad(f)), jit(vmap(grad(f))), grad(lambda x: vmap(f)(x).sum())):
        np.testing.assert_allclose(run(x), 2 * np.cos(np.asarray(x)), rtol=1e-5)


@pytest.mark.parametrize("run", RUNS)
def test_loops_without_steps(run: Any) -> None:
    rows, other = new_ref(jnp.zeros((0, 2))), new_ref(3.0)

    def f(rows: Any) -> Any:
        def step(c: Any, row: Any) -> Any:
            row[...] = jnp.ones(2)
            other[...] = 9.0
            return c + 1, row[...]

        return lax.scan(step, 0, rows)

    end, seen = run(f)(rows)
    assert end == 0
    assert seen.shape == rows.shape == (0, 2)
    run(lambda: lax.fori_loop(0, 0, lambda i, c: (other.set(9.0), c)[1], 0))()
    assert other[...] == 3.0
    run(lambda rows: vmap(lambda row: row.set(jnp.ones(2)))(rows))(rows)
