"""The numbered vectors R51 to R62: loops, branches, vmap."""

from typing import Any

import numpy as np
import pytest

import tans
import tans.numpy as jnp
from tans import jit, lax, make_jaxpr, new_ref, ref, vmap

both = pytest.mark.parametrize("run", [lambda f: f, jit], ids=["eager", "jit"])


@both
def test_r51_scan_closed_over(run: Any) -> None:
    x = new_ref(0)

    def total() -> None:
        lax.scan(lambda c, t: (c, x.set(x[...] + t)), 0, jnp.arange(5))

    run(total)()
    assert x[...] == 10


@both
@pytest.mark.parametrize("reverse", [False, True])
def test_r52_scan_over_a_ref(run: Any, reverse: bool) -> None:
    r = new_ref(jnp.arange(5))
    p = r.unsafe_buffer_pointer()

    def step(c: Any, t: Any) -> Any:
        i, row = t
        row[...] += i
        return c + row[...], row[...]

    out = run(lambda a, r: lax.scan(step, 0, (a, r), reverse=reverse))(jnp.arange(5), r)
    assert out[0] == 20
    assert out[1].tolist() == r[...].tolist() == [0, 2, 4, 6, 8]
    assert r.unsafe_buffer_pointer() == p


def test_r52_rows_are_refs() -> None:
    r = new_ref(jnp.zeros((4, 3)))
    jaxpr = make_jaxpr(lambda r: lax.scan(lambda c, x: (c, x.set(1.0, 0)), 0, r)[0])(r)
    assert "Ref{f32[3]}. let" in str(jaxpr)


@both
def test_r53_refused_in_scan(run: Any) -> None:
    x = new_ref(0)
    xs = new_ref(jnp.arange(3))

    def scan(f: Any, init: Any, xs: Any = None, length: Any = None) -> Any:
        return run(lambda: lax.scan(f, init, xs, length))()

    with pytest.raises(ValueError, match=r"scan: returned .* argument c"):
        scan(lambda c, _: (c, None), x, length=2)
    with pytest.raises(ValueError, match=r"c\[0\] and c\[1\]"):
        scan(lambda c, _: (c, None), (x, x), length=2)
    with pytest.raises(ValueError, match=r"scan: returned .* result\[1\]"):
        scan(lambda c, _: (c, x), 0, length=2)
    with pytest.raises(ValueError, match=r"argument x.* closed over"):
        scan(lambda c, x: (c, xs[0]), 0, xs)


@both
def test_r54_loops(run: Any) -> None:
    x = new_ref(0)
    run(lambda: lax.fori_loop(0, 5, lambda i, c: (x.set(x[...] + i), c)[1], 0))()
    assert x[...] == 10
    run(lambda n: lax.fori_loop(0, n, lambda i, c: (x.set(x[...] + i), c)[1], 0))(5)
    assert x[...] == 20

    y = new_ref(0)

    def test(c: Any) -> Any:
        y[...] += 1
        return c < 3

    assert run(lambda: lax.while_loop(test, lambda c: c + 1, 0))() == 3
    assert y[...] == 4


@both
def test_r54b_condition_sees_the_body(run: Any) -> None:
    x = new_ref(0)

    def body(c: Any) -> Any:
        x[...] += 1
        return c + 1

    def loop() -> Any:
        return lax.while_loop(lambda c: (x[...] < 4) & (c < 20), body, 0)

    assert run(loop)() == 4
    assert x[...] == 4
    text = str(make_jaxpr(loop)())
    assert "cond_nconsts=1" in text
    assert "body_nconsts=1" in text
    assert "] a a 0:i32[]" in text


@both
def test_r54b_both_write(run: Any) -> None:
    x = new_ref(jnp.zeros(2))

    def test(c: Any) -> Any:
        x[0] += 1.0
        return x[1] < 3.0

    def body(c: Any) -> Any:
        x[1] += x[0]
        return c + 1

    assert run(lambda: lax.while_loop(test, body, 0))() == 2
    assert x[...].tolist() == [3, 3]


@both
def test_r55_branches(run: Any) -> None:
    x = new_ref(0.0)
    choose = run(lambda p: lax.cond(p, lambda: x.set(1.0), lambda: x.set(2.0)))
    choose(True)
    assert x[...] == 1.0
    choose(False)
    assert x[...] == 2.0
    run(lambda: lax.switch(1, [lambda: x.set(5.0), lambda: None, lambda: x.set(7.0)]))()
    assert x[...] == 2.0
    run(lambda i: lax.switch(i, [lambda: x.set(5.0), lambda: None, lambda: x.set(7.0)]))(2)
    assert x[...] == 7.0


@both
def test_r56_refused_in_branches(run: Any) -> None:
    x = new_ref(0.0)
    with pytest.raises(ValueError, match="as a and b"):
        run(lambda: lax.cond(True, lambda a, b: 0, lambda a, b: 0, x, x))()
    with pytest.raises(ValueError, match="traced for cond: returned"):
        run(lambda: lax.cond(True, lambda a: a, lambda a: a, x))()
    with pytest.raises(ValueError, match="closed over"):
        run(lambda: lax.cond(True, lambda a: x[...], lambda a: 0.0, x))()
    run(lambda: lax.cond(True, lambda a: a.set(3.0), lambda a: None, x))()
    assert x[...] == 3.0


@both
def test_r57_vmap_returning_a_ref(run: Any) -> None:
    with pytest.raises(ValueError, match="traced for vmap: returned"):
        run(vmap(lambda x: new_ref(x)))(jnp.arange(3.0))


@both
def test_r58_lanes(run: Any) -> None:
    r = new_ref(jnp.zeros(3))
    run(vmap(lambda r, v: r.set(r[...] + v)))(r, jnp.arange(3.0))
    assert r[...].tolist() == [0, 1, 2]


@both
def test_r59_shared_ref(run: Any) -> None:
    r = new_ref(0.0)
    for write in (
        lambda v: r.set(v),
        lambda v: r.set(1.0),
        lambda v: ref.addupdate(r, ..., v),
        jit(lambda v: r.set(1.0)),
    ):
        with pytest.raises(ValueError, match="unbatched ref"):
            run(vmap(write))(jnp.arange(3.0))
    assert run(vmap(lambda v: v + r[...]))(jnp.arange(3.0)).tolist() == [0, 1, 2]
    assert r[...] == 0.0


@both
def test_r60_index_per_lane(run: Any) -> None:
    r = new_ref(jnp.zeros((3, 4)))
    run(vmap(lambda r, i: r.set(1.0, i)))(r, jnp.array([0, 3, 1]))
    expected = np.zeros((3, 4))
    expected[[0, 1, 2], [0, 3, 1]] = 1
    np.testing.assert_array_equal(r[...], expected)


@both
def test_r61_lanes_along_another_axis(run: Any) -> None:
    r = new_ref(jnp.zeros((2, 3)))
    run(vmap(lambda r, v: r.set(v), in_axes=(1, 0)))(r, jnp.ones((3, 2)))
    assert r.shape == (2, 3)
    assert r[...].tolist() == [[1, 1, 1], [1, 1, 1]]


@both
def test_r62_made_inside(run: Any) -> None:
    def add(x: Any) -> Any:
        r = new_ref(1.0)
        r[...] += x
        return r[...]

    assert run(vmap(add))(jnp.arange(4.0)).tolist() == [1, 2, 3, 4]


@both
def test_lanes_in_loops(run: Any) -> None:
    def steps(x: Any) -> Any:
        r = new_ref(jnp.zeros(3))
        lax.fori_loop(0, 3, lambda i, c: (ref.addupdate(r, i, x * i), c)[1], 0)
        return r[...]

    assert run(vmap(steps))(jnp.arange(2.0)).tolist() == [[0, 0, 0], [0, 1, 2]]


@both
def test_refused_under_vmap(run: Any) -> None:
    s = new_ref(1.0)
    with pytest.raises(NotImplementedError, match="vmap of cond"):
        run(vmap(lambda p: lax.cond(p, lambda: s[...], lambda: 0.0)))(jnp.array([True, False]))

    def writing(n: Any) -> Any:
        r = new_ref(0)

        def test(c: Any) -> Any:
            r[...] += 1
            return c < n

        return lax.while_loop(test, lambda c: c + 1, 0)

    with pytest.raises(NotImplementedError, match="vmap of while_loop"):
        run(vmap(writing))(jnp.array([1, 2]))


@both
def test_loops_that_end_lane_by_lane(run: Any) -> None:
    def until(r: Any, n: Any) -> Any:
        count = new_ref(0)

        def body(c: Any) -> Any:
            r[...] += 1.0
            count[...] += 2
            return c + 1

        steps = lax.while_loop(lambda c: r[...] < n, body, 0)
        return steps, count[...]

    r = new_ref(jnp.zeros((1, 3)))
    limits = jnp.array([2.0, 0.0, 3.0])
    mapped = vmap(lambda r, n: until(r.at[0], n), in_axes=(1, 0))
    steps, counts = run(mapped)(r, limits)
    assert steps.tolist() == [2, 0, 3]
    assert counts.tolist() == [4, 0, 6]
    assert r[...].tolist() == [[2, 0, 3]]


@both
def test_scan_over_a_mapped_ref(run: Any) -> None:
    def add(r: Any) -> Any:
        return lax.scan(lambda c, row: (c, row.set(row[...] + 1.0)), 0, r)[0]

    r = new_ref(jnp.zeros((3, 2)))
    run(vmap(add, in_axes=1))(r)
    assert r[...].tolist() == [[1, 1], [1, 1], [1, 1]]
    run(vmap(add))(r)
    assert r[...].tolist() == [[2, 2], [2, 2], [2, 2]]


def test_associative_scan() -> None:
    calls = new_ref(0)

    def combine(a: Any, b: Any) -> Any:
        calls[...] += 1
        return a + b

    assert lax.associative_scan(combine, jnp.arange(4)).tolist() == [0, 1, 3, 6]
    assert calls[...] > 0


def test_map_closed_over() -> None:
    r = new_ref(0)
    out = lax.map(lambda x: (r.set(r[...] + x), r[...])[1], jnp.arange(4))
    assert out.tolist() == [0, 1, 3, 6]
    assert r[...] == 6
    assert tans.block_until_ready(r) is r
    assert tans.device_get(r) is r
    assert lax.optimization_barrier((1.0, r))[1] is r


def test_without_jit() -> None:
    r = new_ref(jnp.zeros(3))
    with tans.disable_jit():
        lax.fori_loop(0, 3, lambda i, c: (r.set(float(i), i), c)[1], 0)
        lax.scan(lambda c, row: (c, row.set(row[...] * 2.0)), 0, r)
        lax.while_loop(lambda c: c < 2, lambda c: (r.set(r[0] + 1.0, 0), c + 1)[1], 0)
        lax.cond(True, lambda: r.set(r[1] + 1.0, 1), lambda: None)
        assert jit(lambda r: r[...])(r).tolist() == [2, 3, 4]
