"""NumPy functions in programs for many sizes: indices, shapes, sums, what is made of a size."""

import numpy as np
import pytest
from symbolic_programs import Program, exported, same

import tans
import tans.numpy as jnp
from tans.errors import InconclusiveDimensionOperation

INT = np.int32
LONG = ({"a": 6, "b": 7}, {"a": 8, "b": 5}, {"a": 5, "b": 9})
ROWS = {"specs": ("a,b", "c"), "dtypes": (np.float32, INT)}


def written(index, value):
    def oracle(x, *rest):
        out = np.array(x)
        np.add.at(out, index(x, *rest), value)
        return out

    return Program(lambda x, *rest: x.at[index(x, *rest)].add(value), oracle)


INDICES = {
    "[1:]": same(lambda _, x: x[1:], types="f32[a - 1,b]"),
    "[:-1]": same(lambda _, x: x[:-1], types="f32[a - 1,b]"),
    "[-1]": same(lambda _, x: x[-1], types="f32[b]"),
    "[0, -1]": same(lambda _, x: x[0, -1], types="f32[]"),
    "[::2]": same(lambda _, x: x[::2], types="f32[floordiv(a + 1, 2),b]"),
    "[1::2]": same(lambda _, x: x[1::2], types="f32[floordiv(a, 2),b]"),
    "[::-1]": same(lambda _, x: x[::-1], types="f32[a,b]"),
    "[::-3]": same(lambda _, x: x[:, ::-3], types="f32[a,floordiv(b + 2, 3)]"),
    "[-2:0:-2]": same(lambda _, x: x[-2:0:-2], constraints=["a >= 2"]),
    "[2:5]": same(lambda _, x: x[2:5], types="f32[min(a, 5) - min(a, 2),b]"),
    "[2:5] of many": same(
        lambda _, x: x[2:5], constraints=["a >= 5"], types="f32[3,b]", sizes=LONG
    ),
    "[:, -3:]": same(lambda _, x: x[:, -3:], types="f32[a,- max(b - 3, 0) + b]"),
    "[9:]": same(lambda _, x: x[9:]),
    "[1:-1, None]": same(lambda _, x: x[1:-1, None], constraints=["a >= 2"]),
    "halves": same(lambda _, x: (x[: x.shape[0] // 2], x[x.shape[0] // 2 :])),
    "[a - 1]": same(lambda _, x: x[x.shape[0] - 1]),
    "[:b]": same(
        lambda _, x: x[: x.shape[1]],
        constraints=["a >= b"],
        types="f32[b,b]",
        sizes=({"a": 6, "b": 3}, {"a": 4, "b": 4}),
    ),
    "[5] is moved inside": Program(lambda x: x[5], lambda x: x[min(5, len(x) - 1)]),
    "[-5] is moved inside": Program(lambda x: x[-5], lambda x: x[max(len(x) - 5, 0)]),
    "[i]": same(lambda _, x, i: x[i], **ROWS, types="f32[c,b]"),
    "[i, i]": same(lambda _, x, i: x[i, -i], **ROWS, types="f32[c]"),
    "[i, 1:]": same(lambda _, x, i: x[i, 1:], **ROWS, types="f32[c,b - 1]"),
    "[i, ::2]": same(lambda _, x, i: x[i, ::2], **ROWS),
    "[[0, -1]]": same(lambda _, x: x[np.array([0, -1])], types="f32[2,b]"),
    "[window]": Program(
        lambda x, i: x[tans.ds(i, x.shape[0] - 1), 1],
        lambda x, i: x[i : i + len(x) - 1, 1],
        specs=("a,b", ""),
        dtypes=(np.float32, INT),
        constraints=["b >= 2"],
    ),
    "at[-1]": written(lambda x: -1, 1.5),
    "at[1::2]": written(lambda x: np.s_[1::2], 1.5),
    "at[:, 1:-1]": written(lambda x: np.s_[:, 1:-1], 1.5),
    "at[[0, 0]]": written(lambda x: np.array([0, 0]), 1.5),
    "at[7] is dropped": Program(
        lambda x: x.at[5].set(0.0), lambda x: np.where(np.arange(len(x))[:, None] == 5, 0, x)
    ),
    "get fills": Program(
        lambda x: x.at[4].get(mode="fill", fill_value=9.0),
        lambda x: x[4] if len(x) > 4 else np.full(x.shape[1], 9),
    ),
    "at[i].max": Program(
        lambda x, i: x.at[i].max(0.0),
        lambda x, i: np.where(np.isin(np.arange(len(x)), i)[:, None], np.maximum(x, 0), x),
        **ROWS,
    ),
    "take": same(lambda n, x, i: n.take(x, i, 1), **ROWS, types="f32[a,c]"),
    "take wraps": same(lambda n, x, i: n.take(x, 9 * i, 0, mode="wrap"), **ROWS),
    "take clips": same(lambda n, x, i: n.take(x, 9 * i, mode="clip"), **ROWS),
    "along": same(lambda n, x: n.take_along_axis(x, n.argsort(x, 1), 1), types="f32[a,b]"),
    "put along": Program(
        lambda x: jnp.put_along_axis(x, jnp.argmax(x, 1, keepdims=True), 0.0, 1, inplace=False),
        lambda x: np.where(x == x.max(1, keepdims=True), 0, x),
    ),
}
SHAPES = {
    "reshape": same(lambda _, x: (x.reshape(-1), x.T.reshape(x.shape), x.reshape(-1, x.shape[1]))),
    "reshape parts": same(
        lambda _, x: x.reshape(x.shape[0] // 2, 2, -1), "2*a,b", types="f32[a,2,b]"
    ),
    "reshape multiples": same(
        lambda _, x: x.reshape(-1, 4),
        "a",
        constraints=["mod(a, 4) == 0"],
        types="f32[floordiv(a, 4),4]",
        sizes=({"a": 4}, {"a": 12}),
    ),
    "join": same(
        lambda n, x: (n.concatenate([x, x[:1], n.zeros((2, x.shape[1]))]), n.stack([x, x], 1)),
        types="f32[a + 3,b] f32[a,2,b]",
    ),
    "split": same(
        lambda n, x: (n.split(x, [1]), n.split(x, [-1, x.shape[1]], 1), n.array_split(x, 3)),
        "3*a,b",
    ),
    "repeat": same(
        lambda n, x: (n.tile(x, (x.shape[1], 2)), n.repeat(x, 3, 0), n.repeat(x, x.shape[0], 1)),
        types="f32[a*b,2*b] f32[3*a,b] f32[a,a*b]",
    ),
    "roll": same(lambda n, x: (n.roll(x, 1, 0), n.roll(x, -5, 1), n.roll(x, 2))),
    "roll by values": same(
        lambda n, x, i: n.roll(x, 3 * i, 1), "a,b", "", dtypes=(np.float32, INT)
    ),
    "broadcast": same(
        lambda n, x: (n.broadcast_to(x, (2, *x.shape)), x[:, None] + x[0], n.expand_dims(x, 1))
    ),
    "turn": same(lambda n, x: (n.flip(x, 1), n.rot90(x), n.swapaxes(x, 0, 1), x.T)),
    "pad": same(lambda n, x: (n.pad(x, ((1, 2), (0, x.shape[0]))), n.pad(x, 2, mode="edge"))),
    "pad to a multiple": same(
        lambda n, x: n.pad(x, ((0, -x.shape[0] % 4), (0, 0))), types="f32[mod(- a, 4) + a,b]"
    ),
    "pad to a size": same(
        lambda n, x: n.pad(x, ((0, 8 - x.shape[0]), (0, 0))), constraints=["a <= 8"]
    ),
    "pad from inside": same(
        lambda n, x: tuple(n.pad(x, 2, mode=m) for m in ("reflect", "symmetric", "wrap")),
        constraints=["a >= 3", "b >= 3"],
        sizes=LONG,
    ),
    "triangles": same(
        lambda n, x: (n.tril(x), n.triu(x, 1), n.tri(*x.shape), n.diag(x[0], 1), n.diagonal(x))
    ),
}
VALUES = {
    "ranges": same(
        lambda n, x: (n.arange(x.shape[0]), n.arange(x.shape[0] * x.shape[1]).reshape(x.shape))
    ),
    "linspace": same(
        lambda n, x: (
            n.linspace(0, 1, x.shape[0]),
            n.linspace(1, x.shape[0], x.shape[1], endpoint=False),
            n.linspace(x[0], x[1], x.shape[1], axis=1),
        ),
        constraints=["a >= 2"],
    ),
    "one sample": Program(
        lambda x: jnp.linspace(2.0, 3.0, x.shape[0], retstep=True),
        lambda x: np.linspace(2.0, 3.0, len(x), retstep=True),
        sizes=({"a": 1, "b": 1}, {"a": 4, "b": 1}),
    ),
    "filled": same(
        lambda n, x: (n.eye(*x.shape), n.eye(x.shape[0], k=-1), n.ones(x.shape), n.full_like(x, 2))
    ),
    "grids": same(lambda n, x: n.meshgrid(n.arange(x.shape[0]), n.arange(x.shape[1]))),
    "sizes": same(
        lambda n, x: (
            n.array(x.shape),
            x * x.shape[0] / x.shape[1],
            10 - x.shape[0] + x,
            n.float32(2) * x.shape[1] * x,
        )
    ),
    "sums": same(
        lambda n, x: (x.sum(0), x.mean(), x.var(1), n.average(x, 0, n.arange(x.shape[0]) + 1))
    ),
    "extrema": same(lambda n, x: (x.max(0), n.argmin(x, 1), n.ptp(x), (x > 0).any(1))),
    "cumulative": same(lambda n, x: (n.cumsum(x, 0), n.cumsum(x), n.cumprod(x, 1))),
    "sorted": same(
        lambda n, x: (n.sort(x, 0), n.argsort(x, 1), n.median(x, 0), n.quantile(x, 0.3, axis=1))
    ),
    "searched": same(
        lambda n, x: (
            n.searchsorted(n.sort(x[0]), x[:, 0]),
            n.interp(x[0], n.arange(x.shape[1]), n.sort(x[0])),
            n.isin(n.round(x), n.round(x[0])),
        )
    ),
    "counted": Program(
        lambda x: (
            jnp.bincount(jnp.argmax(x, 1), length=x.shape[1]),
            jnp.nonzero(x[0] > 0, size=x.shape[1], fill_value=-1)[0],
            jnp.unique(jnp.sign(x), size=x.shape[0], fill_value=7),
        ),
        lambda x: (
            np.bincount(np.argmax(x, 1), minlength=x.shape[1]),
            np.pad(p := np.nonzero(x[0] > 0)[0], (0, x.shape[1] - len(p)), constant_values=-1),
            np.pad(u := np.unique(np.sign(x)), (0, max(0, len(x) - len(u))), constant_values=7)[
                : len(x)
            ],
        ),
    ),
    "products": same(
        lambda n, x, y: (
            x @ y,
            n.dot(x, x[0]),
            n.outer(x[0], x[:, 0]),
            n.tensordot(x, x, 2),
            n.kron(x, n.ones((2, 2))),
            n.einsum("ab,bc,dc->ad", x, y, y),
            n.einsum("ab->b", x),
        ),
        "a,b",
        "b,b",
    ),
    "batches": same(lambda n, x, y: n.einsum("cab,cbd->cad", x, y), "c,a,b", "c,b,3"),
    "matrices": same(
        lambda n, x: (
            n.linalg.norm(x),
            n.linalg.inv(x.T @ x + 3 * n.eye(x.shape[1])),
            n.linalg.solve(x.T @ x + 3 * n.eye(x.shape[1]), x.T),
        )
    ),
    "stacks of matrices": same(
        lambda n, x: (n.linalg.det(x), n.linalg.eigvalsh(x + n.swapaxes(x, 1, 2))), "a,3,3"
    ),
    "transforms": same(lambda n, x: n.fft.rfft(x, axis=1).real, "a,8", types="f32[a,5]"),
    "edits": same(
        lambda n, x: (
            n.insert(x, 1, x[0], 0),
            n.insert(x[:, 0], [0, -1, 0], x[0, 0]),
            n.insert(x, -1, 5),
            n.delete(x, 0, 0),
            n.delete(x, -1),
        )
    ),
    "diagonals": Program(
        lambda x: jnp.fill_diagonal(x, x[0], inplace=False),
        lambda x: np.where(np.eye(*x.shape), x[0], x),
        specs=("a,a",),
    ),
    "places": Program(
        lambda x: jnp.nonzero(x[1:, 0], size=3, fill_value=7),
        lambda x: np.array([*np.flatnonzero(x[1:, 0]), 7, 7, 7])[:3],
        specs=("a,b",),
    ),
    "numbers of places": Program(
        lambda x: jnp.unravel_index(jnp.argmax(x), x.shape),
        lambda x: np.unravel_index(np.argmax(x), x.shape),
    ),
    "places of numbers": Program(
        lambda x, i: jnp.ravel_multi_index((i, i), x.shape, mode="clip"),
        lambda x, i: np.ravel_multi_index((i, i), x.shape, mode="clip"),
        **ROWS,
    ),
    "frequencies": same(
        lambda n, x: (n.fft.fftshift(x), n.fft.ifftshift(x, 1), n.fft.fftfreq(x.shape[1], 0.5))
    ),
    "bits": same(lambda n, x: n.packbits(x > 0, axis=1), types="u8[a,- floordiv(- b, 8)]"),
    "covariances": same(lambda n, x: (n.cov(x), n.corrcoef(x))),
    "where": same(lambda n, x: (n.where(x > 0, x, 0), n.clip(x, -1, 1), n.diff(x, axis=1))),
}
TABLE = INDICES | SHAPES | VALUES


@pytest.mark.parametrize("name", TABLE)
def test_functions_of_symbolic_sizes(name):
    TABLE[name].check()


@pytest.mark.parametrize(
    ("fun", "fact"),
    [
        (lambda x: x.reshape(-1, 4), "the remainder is mod(a, 4)"),
        (lambda x: jnp.pad(x, 3, mode="reflect"), "'a - 1'"),
        (lambda x: jnp.pad(x, (0, 8 - x.shape[0])), "'- a + 8'"),
        (lambda x: x[: x.shape[0] - 5], "'a - 5'"),
    ],
)
def test_what_holds_for_some_sizes_only_is_inconclusive(fun, fact):
    with pytest.raises(InconclusiveDimensionOperation) as caught:
        exported(fun, "a")
    assert fact in str(caught.value)
    assert "constraint" in str(caught.value)
