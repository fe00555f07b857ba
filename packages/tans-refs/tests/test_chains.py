"""Random chains of views, with repeated indices, agree with flat positions in NumPy."""

from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tans.numpy as jnp
from tans import jit, new_ref, ref, vmap
from tans_refs import ds

SHAPE = (3, 4)
relaxed = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)


@st.composite
def chains(draw: Any) -> list[Any]:
    """Draw up to three steps: "T", a shape, or an index."""
    shape: tuple[int, ...] = SHAPE
    chain: list[Any] = []
    for _ in range(draw(st.integers(1, 3))):
        kind = draw(st.sampled_from(["T", "shape", "index", "index"]))
        size = int(np.prod(shape))
        if kind == "T":
            chain.append("T")
        elif kind == "shape":
            n = draw(st.sampled_from([d for d in range(1, size + 1) if size % d == 0] or [1]))
            chain.append((n, size // n))
        else:
            count = draw(st.integers(1, 3))
            chain.append(("index", tuple(_entry(draw, n, count) for n in shape)))
        shape = select(np.zeros(shape), chain[-1:]).shape
    return chain


def _entry(draw: Any, n: int, count: int) -> Any:
    if n == 0:
        return slice(None)
    kind = draw(st.sampled_from(["int", "slice", "window", "array", "all"]))
    if kind == "int":
        return draw(st.integers(-n, n - 1))
    if kind == "slice":
        start = draw(st.integers(0, n - 1))
        return slice(start, draw(st.integers(start, n)), draw(st.integers(1, 2)))
    if kind == "window":
        length = draw(st.integers(1, n))
        return ("window", draw(st.integers(0, n - length)), length)
    if kind == "array":
        values = st.lists(st.integers(-n, n - 1), min_size=count, max_size=count)
        return np.array(draw(values), np.int32)
    return slice(None)


def select(x: np.ndarray, chain: list[Any]) -> np.ndarray:
    """Select in NumPy."""
    for step in chain:
        if step == "T":
            x = x.T
        elif step[0] == "index":
            x = x[tuple(slice(e[1], e[1] + e[2]) if type(e) is tuple else e for e in step[1])]
        else:
            x = x.reshape(step)
    return x


def view(r: Any, chain: list[Any], zero: Any) -> Any:
    """Make a view; `zero` makes its indices values of the program."""

    def dynamic(e: Any) -> Any:
        if type(e) is tuple:
            return ds(zero + e[1], e[2])
        return jnp.array(e) + zero if isinstance(e, np.ndarray | int) else e

    for step in chain:
        if step == "T":
            r = r.T
        elif step[0] == "index":
            r = r.at[tuple(map(dynamic, step[1]))]
        else:
            r = r.reshape(*step)
    return r


@relaxed
@given(chains())
def test_chains(chain: list[Any]) -> None:
    start = np.arange(12, dtype=np.float32).reshape(SHAPE)
    at = select(np.arange(12).reshape(SHAPE), chain)
    added, written = start.copy(), start.copy()
    np.add.at(added.reshape(-1), at, start.reshape(-1)[at] + 1)
    written.reshape(-1)[at] = -5

    def read(r: Any, zero: Any) -> Any:
        return view(r, chain, zero)[...]

    def add(r: Any, zero: Any) -> None:
        v = view(r, chain, zero)
        ref.addupdate(v, ..., v[...] + 1)

    def write(r: Any, zero: Any) -> Any:
        return view(r, chain, zero).swap(jnp.full(at.shape, -5.0))

    for run in (lambda f: f, jit):
        for use, expected in ((read, start), (add, added), (write, written)):
            r = new_ref(start)
            got = run(use)(r, 0)
            np.testing.assert_array_equal(r[...], expected)
            if use is not add:
                np.testing.assert_array_equal(got, start.reshape(-1)[at])
    lanes = new_ref(jnp.stack([start, start]))
    jit(vmap(add))(lanes, jnp.zeros(2, int))
    np.testing.assert_array_equal(lanes[...], [added, added])
    jit(vmap(write, in_axes=(0, None)))(lanes, 0)
    np.testing.assert_array_equal(lanes[0], np.where(written == -5, written, added))
