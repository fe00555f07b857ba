"""Parts of refs at their edges: empty, narrow and unsigned indices, views of views, bits."""

from typing import Any

import numpy as np
import pytest

import tans
import tans.numpy as jnp
from tans import jit, new_ref, ref, vmap
from tans_refs import ds

RUNS = [lambda f: f, jit]


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("dtype", ["uint8", "int8", "uint16", "uint32", "int32"])
def test_a_start_of_any_integer_dtype(dtype: str, run: Any) -> None:
    r = new_ref(jnp.arange(600))
    read = run(lambda start: r[ds(start, 200, 2)])
    assert read(jnp.array(3, dtype)).tolist() == list(range(3, 403, 2))
    run(lambda start: r.set(jnp.zeros(200, int), ds(start, 200, 2)))(jnp.array(3, dtype))
    assert r[...].sum() == np.arange(600).sum() - np.arange(3, 403, 2).sum()


@pytest.mark.parametrize("run", RUNS)
def test_unsigned_indices_that_no_int32_holds(run: Any) -> None:
    r = new_ref(jnp.arange(5))
    i = jnp.array([4294967295, 1], "uint32")
    assert run(lambda i: r[i])(i).tolist() == [4, 1]
    run(lambda i: r.set(jnp.array([7, 8]), i))(i)
    assert r[...].tolist() == [0, 8, 2, 3, 4]


@pytest.mark.parametrize("run", RUNS)
def test_empty_parts(run: Any) -> None:
    r = new_ref(jnp.zeros((0, 3)))
    none = jnp.zeros((0,), int)
    assert run(lambda: r[none])().shape == (0, 3)
    assert run(lambda: r[none, 1])().shape == (0,)
    assert run(lambda: r[:, jnp.array([2, 0])])().shape == (0, 2)
    run(lambda: r.set(jnp.zeros((0, 3)), none))()
    run(lambda: r.addupdate(jnp.zeros((0, 3)), none))()
    keys = new_ref(tans.random.split(tans.random.key(0), 3))
    assert run(lambda: keys[none])().shape == (0,)


@pytest.mark.parametrize("run", RUNS)
def test_adding_to_the_bits(run: Any) -> None:
    one = jnp.ones((), "uint32")
    r = new_ref(jnp.array([1.0, 2.0, 4.0]))
    run(lambda: r.bitcast("uint32").addupdate(one, 0))()
    run(lambda: r.at[1:].bitcast("uint32").at[:1].addupdate(one[None]))()
    run(lambda: r.at[jnp.array([2])].bitcast("uint32").addupdate(one[None]))()
    expected = np.array([1.0, 2.0, 4.0], np.float32).view(np.uint32) + 1
    assert r.bitcast("uint32")[...].tolist() == expected.tolist()


@pytest.mark.parametrize("run", RUNS)
def test_adding_keeps_the_bits_of_what_it_leaves_alone(run: Any) -> None:
    r = new_ref(jnp.full((3, 4), -0.0))
    one = jnp.float32(1)
    run(lambda: r.at[1:].addupdate(one, (0, 1)))()
    run(lambda: r.T.addupdate(one, (3, 2)))()
    run(lambda: r.reshape(12).addupdate(one, 0))()
    run(lambda: r.at[jnp.array([0, 1])].at[0].addupdate(jnp.ones(2), slice(2, 4)))()
    expected = np.full((3, 4), -0.0, np.float32)
    for at in ((1, 1), (2, 3), (0, 0), (0, 2), (0, 3)):
        expected[at] = 1
    assert np.array_equal(np.signbit(r[...]), np.signbit(expected))
    np.testing.assert_array_equal(r[...], expected)


@pytest.mark.parametrize("run", RUNS)
def test_adding_through_a_view_with_repeated_indices(run: Any) -> None:
    r = new_ref(jnp.zeros(4))
    run(lambda: r.at[jnp.array([1, 1, 2])].addupdate(jnp.ones(2), slice(0, 2)))()
    assert r[...].tolist() == [0, 2, 0, 0]


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("start", [7, 5, 0, -1, -2, -20, 100])
def test_lanes_read_and_write_what_one_of_them_does(start: int, count: int) -> None:
    # A box that does not fit is moved to where it fits, in one lane as in many.
    def use(r: Any, i: Any) -> Any:
        old = r[ds(i, count)]
        r[ds(i, count)] = old + 100
        r.addupdate(1, i)
        return old, r[i]

    starts = jnp.array([start, 2])
    values = jnp.arange(16).reshape(2, 8)
    alone = [new_ref(v) for v in values]
    expected = [use(r, i) for r, i in zip(alone, starts, strict=True)]
    lanes = new_ref(values)
    old, one = vmap(use)(lanes, starts)
    for k in range(2):
        np.testing.assert_array_equal(old[k], expected[k][0])
        assert one[k] == expected[k][1]
        np.testing.assert_array_equal(lanes[k], alone[k][...])


@pytest.mark.parametrize("run", RUNS)
def test_integers_of_four_bits(run: Any) -> None:
    r = new_ref(jnp.zeros(4, "int4"))

    def use() -> None:
        r[0] = 3
        r[1] = jnp.int32(-3)
        r.addupdate(jnp.array([2], "int4"), slice(2, 3))
        r[3:] += jnp.array([1], "int4")

    run(use)()
    assert r[...].astype(int).tolist() == [3, -3, 2, 1]


def test_bool_is_refused() -> None:
    for r in (new_ref(jnp.zeros(3)), new_ref(1.0), new_ref(jnp.zeros(3)).at[1:]):
        with pytest.raises(TypeError, match=r"bool: given a Ref\{float32\[.*write ref\[\.\.\.\]"):
            bool(r)


def test_views_as_values_and_indices() -> None:
    r, i = new_ref(jnp.zeros(3)), new_ref(jnp.zeros(2, int))
    assert repr(r.at[1:]) == "<view of type Ref{float32[2]}>"
    with pytest.raises(TypeError, match=r"set: given a ref of type Ref\{float32\[2\]\} as the val"):
        r[1:] = r.at[1:]
    with pytest.raises(TypeError, match=r"<view of type Ref\{int32\[2\]\}>.*write i\[\.\.\.\]"):
        r[i.at[:]]


def test_arrays_of_indices_that_do_not_broadcast() -> None:
    r = new_ref(jnp.zeros((3, 4)))
    with pytest.raises(ValueError, match=r"shapes \(3,\), \(2,\); expected .* broadcast"):
        r[jnp.array([0, 1, 2]), jnp.array([1, 3])]


def test_adding_bools_is_refused() -> None:
    r = new_ref(jnp.zeros(3, bool))
    for idx, x in ((..., jnp.ones(3, bool)), (0, True), (jnp.array([0, 0]), jnp.ones(2, bool))):
        with pytest.raises(TypeError, match="bool"):
            ref.addupdate(r, idx, x)
    assert r[...].tolist() == [False] * 3


@pytest.mark.parametrize("run", RUNS)
def test_writing_a_part_of_what_holds_an_element_twice(run: Any) -> None:
    # Each write reaches the ref, though another copy of the same element is not written.
    r = new_ref(jnp.arange(12.0).reshape(3, 4))
    rows = r.at[jnp.array([0, 2, 2, 0])]
    run(lambda: rows.set(jnp.array([50.0, 51.0]), (0, slice(1, 3))))()
    run(lambda: rows.T.set(jnp.float32(60), (3, 1)))()
    old = run(lambda: rows.at[1].swap(jnp.full(2, 70.0), slice(0, 2)))()
    run(lambda: rows.addupdate(jnp.ones(2), (slice(0, 4, 3), 0)))()
    assert old.tolist() == [8, 9]
    assert r[...].tolist() == [[2, 50, 51, 3], [4, 5, 6, 7], [70, 70, 10, 60]]


@pytest.mark.parametrize("run", RUNS)
def test_writing_through_an_index_out_of_range(run: Any) -> None:
    r = new_ref(jnp.zeros((3, 2)))
    far = r.at[jnp.array([1, 9, -9])]
    run(lambda: far.set(jnp.ones(3), (slice(None), 0)))()
    run(lambda: far.addupdate(jnp.ones(3), (slice(None), 1)))()
    assert r[...].tolist() == [[0, 0], [1, 1], [0, 0]]
