"""Linear algebra against NumPy in double precision: dtypes by shapes, and bad arguments."""

import numpy as np
import pytest

import tans_numpy as jnp
from tans_core import config_module as config
from tans_numpy import linalg
from tans_xla import jit

DTYPES = ["float32", "float64", "complex64", "complex128"]
SQUARE = [(0, 0), (1, 1), (3, 3), (2, 5, 5), (0, 3, 3)]
ANY = [*SQUARE, (4, 2), (2, 3, 4), (1, 3), (0, 3)]
WIDE = {"float32": "float64", "complex64": "complex128", "int8": "float64", "bool": "float64"}


def sample(shape, dtype, seed=0):
    rng = np.random.default_rng(seed + sum(shape))
    if np.dtype(dtype).kind in "bi":
        return rng.integers(0, 2 if dtype == "bool" else 9, shape).astype(dtype)
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if dtype[0] == "c" else x).astype(dtype)


def wide(x):
    return x.astype(WIDE.get(x.dtype.name, x.dtype.name))


def hermitian(x):
    return x + np.conj(np.swapaxes(x, -1, -2))


def close(out, expected, dtype):
    out, expected = np.asarray(out), np.asarray(expected)
    assert out.shape == expected.shape
    tolerance = 1e-10 if dtype in ("float64", "complex128") else 3e-4
    scale = max(1.0, np.abs(expected).max(initial=0.0))
    np.testing.assert_allclose(out, expected, rtol=tolerance, atol=tolerance * scale)


@pytest.fixture(params=DTYPES)
def dtype(request):
    with config.enable_x64(request.param in ("float64", "complex128")):
        yield request.param


@pytest.mark.parametrize("shape", SQUARE, ids=str)
def test_functions_of_square_matrices_equal_numpy(dtype, shape):
    given = (wide(sample(shape, dtype)) + 3 * np.eye(shape[-1])).astype(dtype)
    reference = wide(given)
    close(linalg.det(given), np.linalg.det(reference), dtype)
    if np.all(np.abs(np.linalg.det(reference)) > 1e-6):
        close(linalg.inv(given), np.linalg.inv(reference), dtype)
        sign, logabsdet = linalg.slogdet(given)
        close(sign, np.linalg.slogdet(reference)[0], dtype)
        close(logabsdet, np.linalg.slogdet(reference)[1], dtype)
        close(linalg.slogdet(given, method="qr").sign, np.linalg.slogdet(reference)[0], dtype)
    h = hermitian(given)
    values, vectors = linalg.eigh(h)
    close(values, np.linalg.eigvalsh(hermitian(wide(h)) / 2), dtype)
    back = (vectors * np.asarray(values)[..., None, :]) @ np.conj(np.swapaxes(vectors, -1, -2))
    close(back, hermitian(wide(h)) / 2, dtype)
    values, vectors = linalg.eig(given)
    close(reference @ vectors, np.asarray(vectors) * np.asarray(values)[..., None, :], dtype)
    close(np.sort(linalg.eigvals(given)).sum(-1), np.linalg.eigvals(reference).sum(-1), dtype)


@pytest.mark.parametrize("shape", ANY, ids=str)
def test_factorizations_multiply_back(dtype, shape):
    x = sample(shape, dtype)
    k = min(shape[-2:])
    for mode in ("reduced", "complete"):
        q, r = linalg.qr(x, mode)
        close(np.asarray(q) @ np.asarray(r), wide(x), dtype)
        assert q.shape[-1] == (shape[-2] if mode == "complete" else k)
    close(np.abs(linalg.qr(x, "r")), np.abs(r[..., :k, :]), dtype)
    for full in (False, True):
        u, s, vh = linalg.svd(x, full)
        u, vh = np.asarray(u), np.asarray(vh)
        close((u[..., :k] * np.asarray(s)[..., None, :]) @ vh[..., :k, :], wide(x), dtype)
        assert u.shape[-1] == (shape[-2] if full else k)
    expected = np.linalg.svd(wide(x), compute_uv=False) if 0 not in shape else np.zeros(s.shape)
    close(linalg.svdvals(x), expected, dtype)
    if 0 not in shape:
        close(linalg.pinv(x), np.linalg.pinv(wide(x), 1e-5), dtype)
        assert (np.asarray(linalg.matrix_rank(x)) == np.linalg.matrix_rank(wide(x))).all()


@pytest.mark.parametrize("dtype", ["int8", "bool"])
def test_whole_numbers_become_floats(dtype):
    x = (sample((3, 3), dtype) + 2 * np.eye(3, dtype="int8")).astype(dtype)
    x = np.tril(x)
    assert linalg.det(x).dtype == np.float32
    close(linalg.det(x), np.linalg.det(wide(x)), dtype)
    close(linalg.inv(x), np.linalg.inv(wide(x)), dtype)
    close(linalg.svdvals(x), np.linalg.svd(wide(x), compute_uv=False), dtype)
    close(linalg.eigvalsh(x), np.linalg.eigvalsh(hermitian(wide(x)) / 2), dtype)
    close(linalg.norm(x, 2), np.linalg.norm(wide(x), 2), dtype)


@pytest.mark.parametrize("upper", [False, True])
def test_cholesky_factors_multiply_back(dtype, upper):
    x = wide(sample((2, 4, 3), dtype))
    a = (np.conj(np.swapaxes(x, -1, -2)) @ x + np.eye(3)).astype(dtype)
    factor = np.asarray(linalg.cholesky(a, upper=upper))
    left, right = factor, np.conj(np.swapaxes(factor, -1, -2))
    close(right @ left if upper else left @ right, a, dtype)
    assert not np.any(np.tril(factor, -1) if upper else np.triu(factor, 1))


def test_vectors_of_the_specification():
    singular = linalg.inv(jnp.array([[1.0, 2.0], [2.0, 4.0]]))
    assert np.asarray(singular).tolist() == [[-np.inf, np.inf], [np.inf, -np.inf]]
    failed = linalg.cholesky(jnp.array([[1.0, 2.0], [2.0, 1.0]]))
    np.testing.assert_array_equal(failed, [[np.nan, 0], [np.nan, np.nan]])
    assert float(linalg.slogdet(np.zeros((2, 2), int)).logabsdet) == -np.inf


@pytest.mark.parametrize(
    ("a", "b"),
    [((3, 3), (3,)), ((3, 3), (3, 2)), ((2, 3, 3), (3, 2)), ((3, 3), (2, 3, 1))],
    ids=str,
)
def test_solve_equals_numpy(dtype, a, b):
    a, b = wide(sample(a, dtype)) + 3 * np.eye(3), sample(b, dtype)
    a = a.astype(dtype)
    close(linalg.solve(a, b), np.linalg.solve(wide(a), wide(b)), dtype)


@pytest.mark.parametrize("order", [None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf])
@pytest.mark.parametrize("keepdims", [False, True])
def test_norms_of_matrices_equal_numpy(order, keepdims):
    x = sample((2, 3, 4), "complex64")
    for axes in ((1, 2), (2, 0)):
        out = linalg.norm(x, order, axes, keepdims)
        close(out, np.linalg.norm(wide(x), order, axes, keepdims), "complex64")
    if order is not None:
        out = linalg.matrix_norm(x, ord=order, keepdims=keepdims)
        close(out, np.linalg.matrix_norm(wide(x), ord=order, keepdims=keepdims), "complex64")


@pytest.mark.parametrize("order", ["fro", "nuc", 1, 2, np.inf])
def test_norms_of_empty_matrices_are_zero(order):
    assert float(linalg.norm(np.zeros((0, 0)), order)) == 0


@pytest.mark.parametrize("order", [None, 0, 1, -1, 2, 3, 2.5, np.inf, -np.inf])
def test_norms_of_vectors_equal_numpy(order):
    x = sample((3, 4), "float32")
    close(linalg.norm(x, order, 1), np.linalg.norm(wide(x), order, 1), "float32")
    if order is not None:
        out = linalg.vector_norm(x, ord=order, axis=0, keepdims=True)
        close(out, np.linalg.vector_norm(wide(x), ord=order, axis=0, keepdims=True), "float32")


@pytest.mark.parametrize("p", [None, 2, -2, 1, -1, np.inf, -np.inf, "fro", "nuc"])
def test_condition_numbers_equal_numpy(p):
    x = sample((2, 3, 3), "float32") + 2 * np.eye(3, dtype=np.float32)
    close(linalg.cond(x, p), np.linalg.cond(wide(x), p), "float32")


@pytest.mark.parametrize("n", [-3, -1, 0, 1, 2, 5])
def test_powers_equal_numpy(n):
    x = sample((2, 3, 3), "float32") + 2 * np.eye(3, dtype=np.float32)
    close(linalg.matrix_power(x, n), np.linalg.matrix_power(wide(x), n), "float32")


@pytest.mark.parametrize("shape", [(5, 2), (2, 5), (3, 3)], ids=str)
@pytest.mark.parametrize("columns", [(), (4,)], ids=str)
def test_least_squares_equal_numpy(dtype, shape, columns):
    a, b = sample(shape, dtype), sample((shape[0], *columns), dtype, 1)
    x, residuals, rank, s = linalg.lstsq(a, b, numpy_resid=True)
    expected = np.linalg.lstsq(wide(a), wide(b))
    close(x, expected[0], dtype)
    close(residuals, expected[1], dtype)
    assert int(rank) == expected[2]
    close(s, expected[3], dtype)


def test_tensor_systems_equal_numpy():
    a = sample((2, 3, 6), "float32") + np.eye(6, dtype=np.float32).reshape(2, 3, 6) * 3
    b = sample((2, 3), "float32")
    close(linalg.tensorsolve(a, b), np.linalg.tensorsolve(wide(a), wide(b)), "float32")
    close(linalg.tensorinv(a), np.linalg.tensorinv(wide(a)), "float32")
    moved = np.moveaxis(a, 2, 0)
    expected = np.linalg.tensorsolve(wide(moved), wide(b), axes=(0,))
    close(linalg.tensorsolve(moved, b, axes=(0,)), expected, "float32")


def test_hermitian_matrices_take_the_cheaper_way():
    x = hermitian(sample((2, 4, 4), "complex64"))
    u, s, vh = linalg.svd(x, hermitian=True)
    close((np.asarray(u) * np.asarray(s)[..., None, :]) @ np.asarray(vh), x, "complex64")
    close(s, np.linalg.svd(wide(x), compute_uv=False), "complex64")
    close(linalg.pinv(x, hermitian=True), np.linalg.pinv(wide(x)), "complex64")


def test_subsets_of_singular_values():
    x = sample((4, 3), "float32")
    u, s, vh = linalg.svd(x, False, subset_by_index=(1, 3))
    assert (u.shape, vh.shape) == ((4, 2), (2, 3))
    close(s, np.linalg.svd(wide(x), compute_uv=False)[1:3], "float32")


def test_raw_reflectors_equal_numpy():
    x = sample((4, 3), "float32")
    h, taus = linalg.qr(x, "raw")
    expected = np.linalg.qr(wide(x), "raw")
    close(h, expected[0], "float32")
    close(taus, expected[1], "float32")


def test_results_are_named():
    x = np.eye(2, dtype=np.float32)
    assert linalg.eigh(x)._fields == linalg.eig(x)._fields == ("eigenvalues", "eigenvectors")
    assert linalg.svd(x)._fields == ("U", "S", "Vh")
    assert linalg.qr(x)._fields == ("Q", "R")
    assert linalg.slogdet(x)._fields == ("sign", "logabsdet")


def test_functions_run_under_jit():
    x = sample((3, 3), "float32")
    outs = jit(lambda x: (linalg.eigh(x + x.T), linalg.svd(x), linalg.norm(x, 2), linalg.inv(x)))(x)
    close(outs[2], np.linalg.norm(wide(x), 2), "float32")
    close(outs[3], np.linalg.inv(wide(x)), "float32")


@pytest.mark.parametrize(
    ("call", "error", "facts"),
    [
        (lambda: linalg.det([[1.0]]), TypeError, ["list"]),
        (lambda: linalg.det(np.ones((2, 3))), ValueError, ["[2,3]"]),
        (lambda: linalg.inv(np.ones((2, 3))), ValueError, ["[2,3]"]),
        (lambda: linalg.eigh(np.eye(2), "X"), ValueError, ["'X'"]),
        (lambda: linalg.qr(np.eye(2), "foo"), ValueError, ["'foo'"]),
        (lambda: linalg.qr(np.ones(2)), TypeError, ["[2]"]),
        (lambda: linalg.solve(np.eye(3), np.ones(4)), ValueError, ["(4,)"]),
        (lambda: linalg.solve(np.ones((2, 3, 3)), np.ones((2, 3))), ValueError, ["[..., None]"]),
        (lambda: linalg.slogdet(np.eye(2), method="zz"), ValueError, ["'zz'"]),
        (lambda: linalg.norm(np.eye(2), "foo"), ValueError, ["'foo'"]),
        (lambda: linalg.norm(np.ones((2, 2, 2)), "fro"), ValueError, ["3 dimensions"]),
        (lambda: linalg.cond(np.ones((2, 3)), 1), ValueError, ["[2,3]"]),
        (lambda: linalg.matrix_power(np.eye(2), 1.5), TypeError, []),
        (lambda: linalg.lstsq(np.ones((2, 2)), np.ones(3)), ValueError, ["(3,)"]),
        (lambda: linalg.tensorinv(np.ones((2, 3))), ValueError, ["(2, 3)"]),
        (lambda: linalg.tensorsolve(np.ones((2, 3)), np.ones(2)), ValueError, ["(2, 3)"]),
        (lambda: linalg.pinv(np.eye(2), 1e-3, rcond=1e-3), ValueError, ["rcond"]),
        (lambda: linalg.svd(np.eye(3), subset_by_index=(0, 2)), ValueError, ["full_matrices"]),
        (lambda: linalg.cholesky(jnp.eye(2, dtype="bfloat16")), TypeError, ["bfloat16"]),
    ],
)
def test_bad_arguments_are_named(call, error, facts):
    with pytest.raises(error) as raised:
        call()
    assert all(fact in str(raised.value) for fact in facts)


@pytest.mark.parametrize("p", [None, 1, "fro", -2])
def test_condition_numbers_of_no_matrices(p):
    assert jnp.linalg.cond(jnp.zeros((0, 3, 3)), p).shape == (0,)
    with pytest.raises(ValueError, match="not empty"):
        jnp.linalg.cond(jnp.zeros((2, 0, 0)), p)


def test_inverse_of_a_tensor_without_elements():
    assert jnp.linalg.tensorinv(jnp.zeros((0, 0)), 1).shape == (0, 0)


@pytest.mark.parametrize("name", ["matvec", "vecmat"])
def test_vectors_that_do_not_fit_matrices_are_a_value_error(name):
    pair = (jnp.ones((2, 3)), jnp.ones(4)) if name == "matvec" else (jnp.ones(4), jnp.ones((2, 3)))
    with pytest.raises(ValueError, match=rf"{name}: given a vector of shape \(4,\)"):
        getattr(jnp, name)(*pair)


@pytest.mark.parametrize("axes", ["a", 1.0, -1])
def test_axes_of_tensordot_are_integers(axes):
    with pytest.raises(TypeError, match=r"tensordot: given axes=.* expected an int >= 0"):
        jnp.tensordot(jnp.ones(2), jnp.ones(2), axes)
