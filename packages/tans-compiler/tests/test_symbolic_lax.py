"""Operations of tans.lax in programs for many sizes, against NumPy."""

import numpy as np
import pytest
from symbolic_programs import Program, exported

import tans
from tans import lax

INT = np.int32
INDEXED = {"specs": ("a,b", ""), "dtypes": (np.float32, INT)}


def updated(x, rows, start):
    out = np.array(x)
    start = min(start, len(x) - len(rows))
    out[start : start + len(rows)] = rows
    return out


def scattered(x, indices, mode):
    out = np.array(x)
    for i in indices if mode == "clip" else indices[(indices >= 0) & (indices < len(x))]:
        out[np.clip(i, 0, len(x) - 1)] += 1
    return out


def windows(x, size, stride, fold, low=0, high=0, padding=0.0):
    x = np.pad(x, ((0, 0), (low, high)), constant_values=padding)
    starts = range(0, x.shape[1] - size + 1, stride)
    return np.stack([fold(x[:, i : i + size], 1) for i in starts], 1)


def same_windows(x):
    count = -(-x.shape[1] // 2)
    total = max((count - 1) * 2 + 3 - x.shape[1], 0)
    return windows(x, 3, 2, np.sum, total // 2, total - total // 2)


def conv(x, k, stride, low, high):
    x = np.pad(x, ((0, 0), (0, 0), (low, high), (low, high)))
    rows, columns = ((n - 3) // stride + 1 for n in x.shape[2:])
    patches = [
        x[:, :, i * stride : i * stride + 3, j * stride : j * stride + 3]
        for i in range(rows)
        for j in range(columns)
    ]
    out = np.einsum("pnchw,ochw->nop", np.stack(patches), k)
    return out.reshape(*out.shape[:2], rows, columns)


def conv_same(x, k, stride=2):
    count = -(-x.shape[2] // stride)
    total = max((count - 1) * stride + 3 - x.shape[2], 0)
    return conv(x, k, stride, total // 2, total - total // 2)


NUMBERS = lax.GatherDimensionNumbers((1,), (0,), (0,))
SCATTER = lax.ScatterDimensionNumbers((1,), (0,), (0,))
ROWS = {"specs": ("a,b", "c"), "dtypes": (np.float32, INT)}
LAX = {
    "slice": Program(
        lambda x: lax.slice(x, (1, 0), (x.shape[0], x.shape[1] - 1)),
        lambda x: x[1:, :-1],
        types="f32[a - 1,b - 1]",
    ),
    "slice by steps": Program(
        lambda x: lax.slice(x, (0, 0), x.shape, (2, 3)),
        lambda x: x[::2, ::3],
        types="f32[floordiv(a + 1, 2),floordiv(b + 2, 3)]",
    ),
    "slice in dim": Program(lambda x: lax.slice_in_dim(x, -1, None, axis=1), lambda x: x[:, -1:]),
    "index in dim": Program(
        lambda x: lax.index_in_dim(x, -1, 0, keepdims=False), lambda x: x[-1], types="f32[b]"
    ),
    "dynamic slice at a size": Program(
        lambda x: lax.dynamic_slice(x, (x.shape[0] - 1, 0), (1, x.shape[1])), lambda x: x[-1:]
    ),
    "dynamic slice of a size": Program(
        lambda x, i: lax.dynamic_slice(x, (i + 9, 0), (x.shape[0] - 1, 2)),
        lambda x, i: x[1:, :2],
        constraints=["b>=2"],
        types="f32[a - 1,2]",
        **INDEXED,
    ),
    "dynamic slice from the end": Program(
        lambda x, i: lax.dynamic_slice(x, (-1, i), (1, x.shape[1] - 1)),
        lambda x, i: x[-1:, i : i + x.shape[1] - 1],
        **INDEXED,
    ),
    "dynamic update": Program(
        lambda x, i: lax.dynamic_update_slice(x, x[:1] * 2, (i, 0)),
        lambda x, i: updated(x, x[:1] * 2, int(i)),
        **INDEXED,
    ),
    "dynamic update at a size": Program(
        lambda x: lax.dynamic_update_slice(x, x[:1] * 2, (x.shape[0] - 1, 0)),
        lambda x: updated(x, x[:1] * 2, len(x)),
    ),
    "gather": Program(
        lambda x, i: lax.gather(x, i[:, None], NUMBERS, (1, x.shape[1])),
        lambda x, i: x[i],
        types="f32[c,b]",
        **ROWS,
    ),
    "gather that fills": Program(
        lambda x, i: lax.gather(
            x, 4 * i[:, None], NUMBERS, (1, x.shape[1]), mode="fill", fill_value=7
        ),
        lambda x, i: np.where((4 * i < len(x))[:, None], x[np.minimum(4 * i, len(x) - 1)], 7),
        **ROWS,
    ),
    "scatter": Program(
        lambda x, i: lax.scatter_add(x, 4 * i[:, None], 0 * x[i] + 1, SCATTER),
        lambda x, i: scattered(x, 4 * i, "drop"),
        **ROWS,
    ),
    "scatter that clips": Program(
        lambda x, i: lax.scatter_add(x, 4 * i[:, None], 0 * x[i] + 1, SCATTER, mode="clip"),
        lambda x, i: scattered(x, 4 * i, "clip"),
        **ROWS,
    ),
    "index take": Program(
        lambda x, i: lax.index_take(x, (i - 1, 9 * i), (0, 1)),
        lambda x, i: x[(i - 1) % x.shape[0], 9 * i % x.shape[1]],
        **ROWS,
    ),
    "pad": Program(
        lambda x: lax.pad(x, 7.0, ((1, x.shape[1], 0), (0, -1, 1))),
        lambda x: np.pad(
            np.insert(x, range(1, x.shape[1]), 7, 1), ((1, x.shape[1]), (0, 0)), constant_values=7
        )[:, :-1],
        types="f32[b + a + 1,2*b - 2]",
    ),
    "concatenate": Program(
        lambda x, y: lax.concatenate([x, y], 0),
        lambda x, y: np.concatenate([x, y]),
        specs=("a,b", "c,b"),
        types="f32[c + a,b]",
    ),
    "split": Program(
        lambda x: lax.split(x, (1, x.shape[0] - 1)),
        lambda x: np.split(x, [1]),
        types="f32[1,b] f32[a - 1,b]",
    ),
    "cumsum": Program(lambda x: lax.cumsum(x, 0), lambda x: np.cumsum(x, 0)),
    "cumprod": Program(
        lambda x: lax.cumprod(x, 1, reverse=True), lambda x: np.cumprod(x[:, ::-1], 1)[:, ::-1]
    ),
    "cummax": Program(lambda x: lax.cummax(x, 0), lambda x: np.maximum.accumulate(x, 0)),
    "cumlogsumexp": Program(
        lambda x: lax.cumlogsumexp(x, 0), lambda x: np.logaddexp.accumulate(x, 0)
    ),
    "windows": Program(
        lambda x: lax.reduce_window(x, -np.inf, lax.max, (1, 2), (1, 2), "VALID"),
        lambda x: windows(x, 2, 2, np.max),
        constraints=["b>=2"],
        types="f32[a,floordiv(b, 2)]",
    ),
    "windows that are padded": Program(
        lambda x: lax.reduce_window(x, 0.0, lax.add, (1, 3), (1, 2), "SAME"), same_windows
    ),
    "convolution of a batch": Program(
        lambda x, k: lax.conv_general_dilated(x, k, (1, 1), "VALID"),
        lambda x, k: conv(x, k, 1, 0, 0),
        specs=("a,2,8,8", "3,2,3,3"),
        types="f32[a,3,6,6]",
    ),
    "convolution of images": Program(
        lambda x, k: lax.conv_general_dilated(x, k, (2, 2), "SAME"),
        conv_same,
        specs=("a,2,b,b", "3,2,3,3"),
    ),
    "iota": Program(
        lambda x: (lax.iota(INT, x.shape[0]), lax.broadcasted_iota(INT, (2, x.shape[1]), 1)),
        lambda x: (np.arange(len(x)), np.tile(np.arange(x.shape[1]), (2, 1))),
        types="i32[a] i32[2,b]",
    ),
    "top k": Program(
        lambda x: lax.top_k(x, 2)[0],
        lambda x: -np.sort(-x, 1)[:, :2],
        constraints=["b>=2"],
        types="f32[a,2]",
    ),
    "collapse": Program(
        lambda x: lax.collapse(x, 0, 2), lambda x: x.reshape(-1), specs=("a,b",), types="f32[a*b]"
    ),
    "scan": Program(
        lambda x: lax.scan(lambda c, r: (c + r, c * r), 0 * x[0], x, reverse=True),
        lambda x: (
            x.sum(0),
            x * (np.cumsum(x[::-1], 0)[::-1] - x),
        ),
        types="f32[b] f32[a,b]",
    ),
    "scan of a length": Program(
        lambda x: lax.scan(lambda c, _: (c + 1.0, c), 0.0, length=x.shape[0]),
        lambda x: (len(x), np.arange(len(x))),
        types="f32[] f32[a]",
    ),
    "unrolled scan": Program(
        lambda x: lax.scan(lambda c, r: (c + r, None), 0 * x[0], x, unroll=2)[0],
        lambda x: x.sum(0),
    ),
    "for each": Program(
        lambda x: lax.fori_loop(1, x.shape[0], lambda i, c: c + i * x[i], 0 * x[0]),
        lambda x: (np.arange(len(x))[:, None] * x).sum(0),
    ),
    "while": Program(
        lambda x: lax.while_loop(
            lambda s: s[0] < x.shape[0], lambda s: (s[0] + 1, s[1] + x[s[0]]), (0, 0 * x[0])
        ),
        lambda x: (len(x), x.sum(0)),
    ),
    "cond": Program(
        lambda x: lax.cond(x.sum() > 0, lambda x: x[1:], lambda x: x[:-1], x),
        lambda x: x[1:] if x.sum() > 0 else x[:-1],
        types="f32[a - 1,b]",
    ),
    "map": Program(lambda x: lax.map(lambda r: r.sum(), x), lambda x: x.sum(1), types="f32[a]"),
    "linear algebra": Program(
        lambda x: (
            lax.linalg.cholesky(x.T @ x + 3 * tans.numpy.eye(x.shape[1])),
            abs(lax.linalg.qr(x, full_matrices=False)[1]),
            lax.linalg.svd(x, compute_uv=False),
            lax.linalg.eigh(x.T @ x)[1],
        ),
        lambda x: (
            np.linalg.cholesky(x.T @ x + 3 * np.eye(x.shape[1])),
            abs(np.linalg.qr(x)[1]),
            np.linalg.svd(x, compute_uv=False),
            np.linalg.eigvalsh(x.T @ x),
        ),
    ),
}


@pytest.mark.parametrize("name", LAX)
def test_operations_on_symbolic_sizes(name):
    LAX[name].check()


def test_bounds_that_sizes_do_not_decide_are_refused():
    inconclusive = tans.errors.InconclusiveDimensionOperation
    with pytest.raises(inconclusive, match="comparison 'a' >= '5' is inconclusive"):
        exported(lambda x: lax.slice(x, (2,), (5,)), "a")
    exported(lambda x: lax.slice(x, (2,), (5,)), "a", constraints=["a>=5"])
    with pytest.raises(TypeError, match=r"limit a \+ 1"):
        exported(lambda x: lax.slice(x, (0,), (x.shape[0] + 1,)), "a")


@pytest.mark.parametrize(
    ("fun", "fact"),
    [
        (lambda x: lax.associative_scan(lax.add, x), "an axis of the symbolic size 'a'"),
        (lambda x: lax.fft(x, "RFFT", (x.shape[1],)), r"given the lengths \(b,\)"),
        (lambda x: tans.random.permutation(tans.random.key(0), x), "to shuffle"),
    ],
    ids=["associative scan", "fft", "permutation"],
)
def test_programs_that_depend_on_a_number_are_refused(fun, fact):
    with pytest.raises(NotImplementedError, match=fact):
        exported(fun, "a,b")
