"""Gather and scatter by NumPy loops, and random arguments for them."""

from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

import tans_lax as lax


class Case(NamedTuple):
    operand: np.ndarray
    indices: np.ndarray
    numbers: lax.GatherDimensionNumbers
    sizes: tuple[int, ...]


def windows(operand_shape, indices, numbers, sizes, clip):
    """Yield (batch position, slices of the operand, in bounds) of every window."""
    for b in np.ndindex(indices.shape[:-1]):
        start = [0] * len(operand_shape)
        for k, d in enumerate(numbers[2]):
            start[d] = int(indices[b][k])
        inside = all(0 <= start[d] <= operand_shape[d] - sizes[d] for d in numbers[2])
        for d, i in zip(numbers[3], numbers[4], strict=True):
            start[d] = b[i]
        if clip:
            start = [
                min(max(s, 0), n - m) for s, n, m in zip(start, operand_shape, sizes, strict=True)
            ]
        yield b, tuple(slice(s, s + m) for s, m in zip(start, sizes, strict=True)), inside


def place(b, numbers, rank):
    """Index of the window of batch position `b` in the result or the updates."""
    rest = iter(b)
    return tuple(slice(None) if d in numbers[0] else next(rest) for d in range(rank))


def gather(case, mode, fill):
    operand, indices, numbers, sizes = case
    left_out = {*numbers[1], *numbers[3]}
    window = [n for d, n in enumerate(sizes) if d not in left_out]
    rank = len(window) + indices.ndim - 1
    shape, batch = iter(window), iter(indices.shape[:-1])
    out = np.zeros([next(shape) if d in numbers[0] else next(batch) for d in range(rank)])
    out = out.astype(operand.dtype)
    for b, slices, inside in windows(operand.shape, indices, numbers, sizes, mode != "fill"):
        value = operand[slices].reshape(window) if inside or mode != "fill" else fill
        out[place(b, numbers, rank)] = value
    return out


def scatter(case, updates, combine, mode):
    operand, indices, numbers, sizes = case
    out = operand.copy()
    for b, slices, inside in windows(operand.shape, indices, numbers, sizes, mode == "clip"):
        if inside or mode == "clip":
            new = updates[place(b, numbers, updates.ndim)].reshape(sizes)
            out[slices] = combine(out[slices], new)
    return out


@st.composite
def cases(draw, bounds=True):
    """Draw an operand, index vectors and dimension numbers that fit together."""
    rank = draw(st.integers(1, 3))
    shape = [draw(st.integers(1, 4)) for _ in range(rank)]
    kinds = [draw(st.sampled_from(["window", "collapsed", "paired"])) for _ in range(rank)]
    batch = [draw(st.integers(1, 3)) for _ in range(draw(st.integers(0, 2)))]
    paired = [d for d, kind in enumerate(kinds) if kind == "paired"]
    for d in paired:
        batch.insert(draw(st.integers(0, len(batch))), shape[d])
    free = list(range(len(batch)))
    pairs = []
    for d in paired:
        i = next(i for i in free if batch[i] == shape[d])
        free.remove(i)
        pairs.append(i)
    mapped = [d for d in range(rank) if kinds[d] != "paired" and draw(st.booleans())]
    mapped = draw(st.permutations(mapped))
    sizes = [
        draw(st.integers(1, n)) if kind == "window" else 1
        for n, kind in zip(shape, kinds, strict=True)
    ]
    out_rank = kinds.count("window") + len(batch)
    offsets = sorted(draw(st.permutations(range(out_rank)))[: kinds.count("window")])
    seed = draw(st.integers(0, 1000))
    rng = np.random.default_rng(seed)
    indices = rng.integers(-2, 6, (*batch, len(mapped))).astype(np.int32)
    if bounds:
        limits = [shape[d] - sizes[d] + 1 for d in mapped]
        indices = indices % np.array(limits, np.int32) if mapped else indices
    collapsed = tuple(d for d, kind in enumerate(kinds) if kind == "collapsed")
    numbers = lax.GatherDimensionNumbers(
        tuple(offsets), collapsed, tuple(mapped), tuple(paired), tuple(pairs)
    )
    operand = rng.integers(-9, 9, shape).astype(np.float32)
    return Case(operand, indices, numbers, tuple(sizes))


def update_shape(case):
    return gather(case, "clip", 0).shape
