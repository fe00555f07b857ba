"""A known call of arrays runs next to no Python: the functions it starts are counted."""

import sys

import pytest

import tans_numpy as jnp
from tans_numpy.exponential_sums import softmax

X = jnp.arange(8.0)
M = jnp.ones((8, 8)) + X
MASK = X > 3
ROWS = jnp.array([1, 2, 3])
INDEX = jnp.array(2)
PLACES = jnp.zeros((8, 1), jnp.int32)


def difference(x, y):
    return x - y


def count(call):
    """Return the names of the Python functions that a call starts, once it is known."""
    calls = []
    for _ in range(3):
        call()

    def profile(frame, event, _):
        if event == "call":
            calls.append(frame.f_code.co_qualname)

    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
    return calls[1:]  # without `call` itself


ONE_FRAME = {
    "clip": lambda: jnp.clip(X, 0, 3),
    "sum": lambda: jnp.sum(X),
    "sum of an axis": lambda: jnp.sum(M, axis=0, keepdims=True),
    "sum, by position": lambda: jnp.sum(M, 1),
    "x.sum": lambda: X.sum(),
    "prod": lambda: jnp.prod(X),
    "max": lambda: jnp.max(M, axis=-1),
    "any": lambda: jnp.any(MASK),
    "mean": lambda: jnp.mean(M, axis=0),
    "var": lambda: jnp.var(X),
    "std": lambda: jnp.std(X, ddof=1),
    "median": lambda: jnp.median(X),
    "quantile": lambda: jnp.quantile(X, 0.5),
    "nansum": lambda: jnp.nansum(X),
    "nanmean": lambda: jnp.nanmean(X),
    "average": lambda: jnp.average(X),
    "ptp": lambda: jnp.ptp(X),
    "cov": lambda: jnp.cov(X),
    "argmax": lambda: jnp.argmax(M, axis=1),
    "count_nonzero": lambda: jnp.count_nonzero(X),
    "searchsorted": lambda: jnp.searchsorted(X, X),
    "cumsum": lambda: jnp.cumsum(X),
    "diff": lambda: jnp.diff(X),
    "sort": lambda: jnp.sort(X),
    "argsort": lambda: jnp.argsort(X),
    "top_k": lambda: jnp.top_k(X, 2),
    "round": lambda: jnp.round(X, 1),
    "nan_to_num": lambda: jnp.nan_to_num(X),
    "isclose": lambda: jnp.isclose(X, X),
    "allclose": lambda: jnp.allclose(X, X),
    "concatenate": lambda: jnp.concatenate([X, X]),
    "stack": lambda: jnp.stack([X, X]),
    "append": lambda: jnp.append(X, X),
    "ravel": lambda: jnp.ravel(M),
    "swapaxes": lambda: jnp.swapaxes(M, 0, 1),
    "moveaxis": lambda: jnp.moveaxis(M, 0, 1),
    "flip": lambda: jnp.flip(X),
    "roll": lambda: jnp.roll(X, 1),
    "tril": lambda: jnp.tril(M),
    "diag": lambda: jnp.diag(M),
    "trace": lambda: jnp.trace(M),
    "dot": lambda: jnp.dot(X, X),
    "matmul": lambda: jnp.matmul(M, M),
    "vdot": lambda: jnp.vdot(X, X),
    "outer": lambda: jnp.outer(X, X),
    "norm": lambda: jnp.linalg.norm(M, axis=1),
    "det": lambda: jnp.linalg.det(M),
    "solve": lambda: jnp.linalg.solve(M, X),
    "softmax": lambda: softmax(M, axis=-1),
    "convolve": lambda: jnp.convolve(X, X),
    "polyval": lambda: jnp.polyval(X, X),
}
TWO_FRAMES = {
    "take": lambda: jnp.take(M, ROWS, axis=0),
    "take_along_axis": lambda: jnp.take_along_axis(M, PLACES, axis=1),
    "where": lambda: jnp.where(MASK, X, 0),
    "pad": lambda: jnp.pad(X, 1),
    "linspace": lambda: jnp.linspace(0, 1, 8),
    "atleast_1d": lambda: jnp.atleast_1d(X),
    "atleast_2d": lambda: jnp.atleast_2d(X),
    "iterable": lambda: jnp.iterable(X),
}
THREE_FRAMES = {
    "x.cumsum": lambda: X.cumsum(),
    "x.argmax": lambda: X.argmax(),
    "broadcast_arrays": lambda: jnp.broadcast_arrays(X, M),
}
MORE_FRAMES = {
    "add.reduce": (2, lambda: jnp.add.reduce(X)),
    "subtract.reduce of an axis": (2, lambda: jnp.subtract.reduce(M, axis=1)),
    "add.outer": (2, lambda: jnp.add.outer(X, X)),
    "maximum.accumulate": (2, lambda: jnp.maximum.accumulate(X)),
    "add.reduceat": (2, lambda: jnp.add.reduceat(X, ROWS)),
    "frompyfunc": (3, lambda: jnp.frompyfunc(difference, 2, 1)(X, X)),
    "reduce of frompyfunc": (3, lambda: jnp.frompyfunc(difference, 2, 1).reduce(X)),
}
INDEXING = {
    "x[3]": (1, lambda: X[3]),
    "x[i]": (1, lambda: X[INDEX]),
    "x[rows]": (1, lambda: M[ROWS]),
    "x[2:5]": (4, lambda: X[2:5]),
    "x[::-1]": (4, lambda: X[::-1]),
    "x[:, 1]": (4, lambda: M[:, 1]),
    "x[1, 2]": (4, lambda: M[1, 2]),
    "x[None]": (4, lambda: X[None]),
    "x[...]": (4, lambda: X[...]),
    "x[:, rows]": (4, lambda: M[:, ROWS]),
    "x.at[2].get": (10, lambda: X.at[2].get()),
    "x.at[2].set": (16, lambda: X.at[2].set(1.0)),
    "x.at[:, 1].set": (18, lambda: M.at[:, 1].set(0.0)),
}
CASES = [
    (n + 1, k, f) for n, t in enumerate((ONE_FRAME, TWO_FRAMES, THREE_FRAMES)) for k, f in t.items()
]


@pytest.mark.parametrize(
    ("limit", "call"), [(n, f) for n, _, f in CASES], ids=[k for _, k, _ in CASES]
)
def test_a_known_call_starts_few_functions(limit, call):
    assert len(count(call)) <= limit


@pytest.mark.parametrize(("limit", "call"), INDEXING.values(), ids=INDEXING)
def test_a_known_index_is_not_parsed(limit, call):
    assert len(count(call)) <= limit


@pytest.mark.parametrize(("limit", "call"), MORE_FRAMES.values(), ids=MORE_FRAMES)
def test_a_known_method_of_a_ufunc_starts_few_functions(limit, call):
    assert len(count(call)) <= limit
