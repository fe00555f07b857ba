"""What indexing costs: equations when traced, compiled entries when concrete; derivatives."""

import numpy as np
import pytest

import tans_lax as lax
import tans_numpy as jnp
from tans_autodiff import grad, jvp, vjp
from tans_batching import vmap
from tans_numpy.indexing import eager, writes
from tans_xla import jit, make_jaxpr

X = np.arange(5, dtype=np.float32)
M = np.arange(12, dtype=np.float32).reshape(4, 3)
T = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
I = np.int32(1)
II = np.array([0, 2], np.int32)


def names(fun, *args):
    return [e.primitive.name for e in make_jaxpr(fun)(*args).eqns]


@pytest.mark.parametrize(
    ("fun", "args", "expected"),
    [
        (lambda x: x[3], (X,), "slice squeeze"),
        (lambda x: x[1:], (X,), "slice"),
        (lambda x: x[:], (X,), ""),
        (lambda x: x[..., :], (M,), ""),
        (lambda x: x[::-1], (X,), "rev"),
        (lambda x: x[4:1:-2], (X,), "slice rev"),
        (lambda x: x[None], (X,), "broadcast_in_dim"),
        (lambda x: x[None, :, 1], (M,), "slice reshape"),
        (lambda x, i: x[i], (M, I), "lt add select_n dynamic_slice squeeze"),
        (lambda x, i: x[i], (M, np.uint8(1)), "dynamic_slice squeeze"),
        (lambda x, i: x[i], (M, II), "lt add select_n broadcast_in_dim gather"),
        (lambda x: x[II], (M,), "gather"),
        (lambda x: x[M[:, 0] > 2], (M,), "gather"),
        (lambda x, i: x[:, i, 1:3], (T, II), "slice lt add select_n broadcast_in_dim gather"),
        (lambda x: x.at[2].set(1.0), (X,), "broadcast_in_dim dynamic_update_slice"),
        (lambda x: x.at[1:3].add(1.0), (X,), "slice add dynamic_update_slice"),
        (lambda x: x.at[...].set(1.0), (X,), "broadcast_in_dim"),
        (lambda x: x.at[...].add(1.0), (X,), "add"),
        (lambda x: x.at[10].set(1.0), (X,), ""),
        (lambda x: x.at[X > 2].set(1.0), (X,), "broadcast_in_dim select_n"),
        (
            lambda x, i: x.at[i].set(1.0),
            (X, I),
            "lt add select_n broadcast_in_dim scatter",
        ),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_equations(fun, args, expected):
    assert names(fun, *args) == expected.split()


def test_strided_and_masked_updates_need_no_scatter():
    for fun in (lambda x: x.at[::2].mul(2.0), lambda x: x.at[X > 2].power(2.0)):
        assert "scatter" not in " ".join(names(fun, X))


def test_numbers_of_an_eager_index_are_arguments():
    x = jnp.arange(7.0)
    readers = eager._reader.cache_info().misses
    assert [x[s : s + 3].tolist()[0] for s in range(1, 4)] == [1, 2, 3]
    assert eager._reader.cache_info().misses <= readers + 1
    m = jnp.arange(12.0).reshape(3, 4)
    assert [m[1, k].item() for k in (0, 2, -1, 9)] == [4, 6, 7, 7]
    assert [m[jnp.array([k]), 1:].tolist()[0][0] for k in (0, 1)] == [1, 5]
    assert eager._reader.cache_info().misses <= readers + 3
    before = eager._element._cache_size()
    values = [int(x[k]) for k in (0, 3, -1, 9)]
    assert values == [0, 3, 6, 6]
    assert eager._element._cache_size() <= before + 1


def test_an_eager_update_is_one_entry():
    x = jnp.arange(7.0)
    misses = writes._element_entry.cache_info().misses
    for k in range(4):
        x = x.at[k].set(9.0)
    assert writes._element_entry.cache_info().misses <= misses + 1
    assert x.tolist() == [9, 9, 9, 9, 4, 5, 6]


def test_whole_slices_return_the_array_itself():
    x = jnp.arange(6.0).reshape(2, 3)
    assert x[:] is x
    assert x[...] is x
    assert x[()] is x
    assert x[:, 0:3] is x
    assert x[:, ::-1][:, ::-1].tolist() == x.tolist()
    assert x[:0].shape == (0, 3)
    assert jnp.zeros((0, 2))[::-1].shape == (0, 2)


def test_forms_of_indices_that_compare_equal_are_told_apart():
    x = jnp.arange(6.0).reshape(2, 3)
    for _ in range(2):
        assert x[1, 0].shape == ()
        assert x[True, 0].shape == (1, 3)
        assert x[0, 1:2].shape == (1,)
        assert x[0, np.int32(1) : 2].shape == (1,)
        with pytest.raises(TypeError, match="slice bound"):
            x[0, 1.0:2]
        with pytest.raises(IndexError, match="3 indices"):
            x[0, 0, 0]


# ---- derivatives --------------------------------------------------------------------------------

RNG = np.random.default_rng(0)


def sample(shape):
    return RNG.standard_normal(shape).astype(np.float32)


MASK = np.array([True, False, True, False])
REPEATED = np.array([1, 1, 3], np.int32)
INDICES = {
    "int": 2,
    "negative": (-1, 1),
    "slice": slice(1, 3),
    "strided": (slice(None, None, -2), 1),
    "new": (None, 1, slice(None), None),
    "array": II,
    "repeated": REPEATED,
    "pair": (II, np.array([1, 1], np.int32)),
    "apart": (II, None, np.array([[1], [0]], np.int32)),
    "mask": MASK,
    "mask and slice": (MASK, slice(0, 3, 2)),
}


def repeats(index):
    return isinstance(index, np.ndarray) and len(set(index.tolist())) < len(index)


@pytest.mark.parametrize("method", ["get", "set", "add", "multiply", "min", "divide", "power"])
def test_inner_product_identity(method):
    factors = method in ("multiply", "divide", "power")
    # Repeated factors have no derivative in the factors.
    indices = [i for i in INDICES.values() if not (factors and repeats(i))]

    def fun(index, x, v):
        if method == "get":
            return x[index] * v
        unique = not repeats(index) and index is not MASK
        return getattr(x.at[index], method)(v, unique_indices=unique)

    primals = [(np.abs(sample(M.shape)) + 0.5, np.abs(sample(M[i].shape)) + 0.5) for i in indices]
    tangents = [tuple(sample(x.shape) for x in xs) for xs in primals]
    shapes = [M[i].shape if method == "get" else M.shape for i in indices]
    y_bars = [sample(shape) for shape in shapes]

    def differentiate(primals, tangents, y_bars):
        out = []
        for index, xs, x_dots, y_bar in zip(indices, primals, tangents, y_bars, strict=True):
            at_index = lambda x, v, index=index: fun(index, x, v)  # noqa: E731
            y, y_dot = jvp(at_index, xs, x_dots)
            _, pullback = vjp(at_index, *xs)
            out.append((y, y_dot, pullback(y_bar), at_index(*xs)))
        return out

    results = jit(differentiate)(primals, tangents, y_bars)
    for x_dots, y_bar, (y, y_dot, x_bars, plain) in zip(tangents, y_bars, results, strict=True):
        right = sum(np.vdot(b, d) for b, d in zip(x_bars, x_dots, strict=True))
        np.testing.assert_allclose(np.vdot(y_bar, y_dot), right, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(y, plain, rtol=1e-6)


def test_gradient_of_eager_indexing():
    x = jnp.arange(5.0)
    assert grad(lambda x: x[3] * x[1])(x).tolist() == [0, 3, 0, 1, 0]
    assert grad(lambda x: x.at[2].set(7.0).sum())(x).tolist() == [1, 1, 0, 1, 1]
    per_index = vmap(grad(lambda x, i: x[i] ** 2), in_axes=(None, 0))(x, jnp.array([1, 3]))
    assert per_index.tolist() == [[0, 2, 0, 0, 0], [0, 0, 0, 6, 0]]


def test_infinite_derivatives_outside_a_mask_do_not_leak():
    x = jnp.array([0.0, 4.0])
    fun = lambda x: x.at[np.array([False, True])].power(0.5).sum()  # noqa: E731
    np.testing.assert_allclose(grad(fun)(x), [1.0, 0.25])


def test_apply_is_differentiable_where_no_place_repeats():
    x = jnp.arange(3.0)
    fun = lambda x: x.at[1:].apply(lax.sin).sum()  # noqa: E731
    np.testing.assert_allclose(grad(fun)(x), [1, np.cos(1), np.cos(2)], rtol=1e-6)
