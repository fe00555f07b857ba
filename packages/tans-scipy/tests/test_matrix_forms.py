"""Named matrices and matrix functions against SciPy in float64."""

import numpy as np
import pytest
from scipy import linalg as sl

import tans_numpy as jnp
from tans_autodiff import grad
from tans_core.config import enable_x64
from tans_scipy import linalg
from tans_xla import jit

TOL = {"float32": 2e-3, "float64": 1e-9}


@pytest.fixture(params=["float32", "float64"])
def dtype(request):
    with enable_x64(request.param == "float64"):
        yield request.param


def sample(shape, dtype, seed=0):
    rng = np.random.default_rng(seed + sum(shape))
    return rng.standard_normal(shape).astype(dtype)


def slow(value):
    return pytest.param(value, marks=pytest.mark.slow)


def close(out, expected, dtype):
    scale = max(1.0, np.abs(expected).max(initial=0))
    np.testing.assert_allclose(out, expected, rtol=TOL[dtype], atol=TOL[dtype] * scale)


@pytest.mark.parametrize("n", [2, 3, 6, 7])
@pytest.mark.parametrize("name", ["companion", "fiedler", "fiedler_companion"])
def test_matrices_of_a_vector(name, n, dtype):
    a = sample((n,), dtype)
    expected = getattr(sl, name)(a.astype(float))
    close(getattr(linalg, name)(a), expected, dtype)
    close(jit(getattr(linalg, name))(a), expected, dtype)


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("n", [1, 3, 8])
def test_convolution_matrix(mode, n, dtype):
    a = sample((4,), dtype)
    expected = sl.convolution_matrix(a.astype(float), n, mode)
    close(linalg.convolution_matrix(a, n, mode), expected, dtype)


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_matrices_of_a_size(n, dtype):
    for scale in (None, "sqrtn", "n"):
        close(linalg.dft(n, scale), sl.dft(n, scale), dtype)
    for kind in ("symmetric", "lower", "upper"):
        close(linalg.pascal(n, kind), sl.pascal(n, kind), dtype)
        close(linalg.invpascal(n, kind), sl.invpascal(n, kind), dtype)
    close(linalg.helmert(n, full=True), sl.helmert(n, full=True), dtype)
    close(linalg.invhilbert(n), sl.invhilbert(n), dtype)
    if n != 5:
        close(linalg.hadamard(n), sl.hadamard(n), dtype)


def test_leslie(dtype):
    f, s = sample((4,), dtype), sample((3,), dtype)
    close(linalg.leslie(f, s), sl.leslie(f, s), dtype)


@pytest.mark.parametrize("n", [1, slow(2), 5, slow(7)])
def test_forms_multiply_to_the_matrix(n, dtype):
    a = sample((n, n), dtype)
    for output in ("real", "complex"):
        T, Z = linalg.schur(a, output)
        close(Z @ T @ jnp.conj(Z).T, a, dtype)
    T, Z = linalg.rsf2csf(*linalg.schur(a))
    close(Z @ T @ jnp.conj(Z).T, a, dtype)
    assert np.all(np.tril(T, -1) == 0)
    H, Q = linalg.hessenberg(a, calc_q=True)
    close(Q @ H @ Q.T, a, dtype)
    close(Q @ Q.T, np.eye(n), dtype)
    assert np.all(np.tril(H, -2) == 0)
    assert np.array_equal(linalg.hessenberg(a), H)


@pytest.mark.parametrize("n", [slow(1), 2, slow(5)])
def test_functions_of_matrices_equal_scipy(n, dtype):
    a, e = sample((n, n), dtype), sample((n, n), dtype, seed=1)
    positive = a @ a.T + np.eye(n, dtype=dtype)
    close(linalg.sqrtm(positive), sl.sqrtm(positive.astype(float)), dtype)
    root = jit(linalg.sqrtm)(a)
    close(root @ root, a, dtype)
    close(linalg.funm(positive, jnp.sin), sl.funm(positive.astype(float), np.sin), dtype)
    assert float(linalg.funm(positive, jnp.sin, disp=False)[1]) < 1
    out = linalg.expm_frechet(a / 3, e)
    expected = sl.expm_frechet(a.astype(float) / 3, e.astype(float))
    for got, value in zip(out, expected, strict=True):
        close(got, value, dtype)
    close(linalg.expm_frechet(a / 3, e, compute_expm=False), expected[1], dtype)


@pytest.mark.parametrize("method", ["schur", "eigen"])
def test_solve_sylvester(method, dtype):
    a, b, c = sample((4, 4), dtype), sample((3, 3), dtype, 1), sample((4, 3), dtype, 2)
    x = linalg.solve_sylvester(a, b, c, method=method)
    close(a @ x + x @ b, c, dtype)
    for scale in (1, 1e3, 1e-3):
        assert np.isnan(linalg.solve_sylvester(scale * a, -scale * a, a)).all()


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("method", ["qdwh", "svd"])
def test_polar(side, method, dtype):
    a = sample((5, 3), dtype)
    out = linalg.polar(a, side, method=method)
    for got, expected in zip(out, sl.polar(a.astype(float), side), strict=True):
        close(got, expected, dtype)


@pytest.mark.parametrize("pivoting", [False, True])
def test_qr_multiply(pivoting, dtype):
    a, c = sample((6, 3), dtype), sample((4, 6), dtype)
    out = linalg.qr_multiply(a, c, "right", pivoting)
    expected = sl.qr_multiply(a.astype(float), c.astype(float), "right", pivoting)
    for got, value in zip(out, expected, strict=True):
        close(np.abs(got), np.abs(value), dtype)
    left = linalg.qr_multiply(a, sample((3, 2), dtype), "left")[0]
    q = np.linalg.qr(a.astype(float))[0]
    close(np.abs(left), np.abs(q @ sample((3, 2), dtype)), dtype)


@pytest.mark.parametrize("n", [1, slow(2), slow(5), 20])
def test_eigh_tridiagonal(n, dtype):
    d, e = sample((n,), dtype), sample((n - 1,), dtype, seed=1)
    dense = np.diag(d) + np.diag(e, 1) + np.diag(e, -1)
    expected = np.linalg.eigvalsh(dense.astype(float))
    close(linalg.eigh_tridiagonal(d, e, eigvals_only=True), expected, dtype)
    values, vectors = linalg.eigh_tridiagonal(d, e)
    close(dense @ vectors, vectors * values, dtype)
    some = linalg.eigh_tridiagonal(d, e, eigvals_only=True, select="i", select_range=(0, n // 2))
    close(some, expected[: n // 2 + 1], dtype)


def test_slope_of_the_frechet_derivative():
    with enable_x64(True):
        a, e = sample((3, 3), "float64"), sample((3, 3), "float64", 1)
        f = lambda s: jnp.sum(linalg.expm_frechet(a * s, e, compute_expm=False))  # noqa: E731
        oracle = lambda s: sl.expm_frechet(a * s, e, compute_expm=False).sum()  # noqa: E731
        central = (oracle(0.5 + 1e-6) - oracle(0.5 - 1e-6)) / 2e-6
        np.testing.assert_allclose(grad(f)(0.5), central, rtol=1e-6)


MATRIX = np.ones((2, 2))
BAD = {
    "companion": (lambda: linalg.companion(jnp.ones(1)), ValueError, r"\(1,\)"),
    "mode": (lambda: linalg.convolution_matrix(jnp.ones(2), 2, "half"), ValueError, "half"),
    "size": (lambda: linalg.convolution_matrix(jnp.ones(2), 0), ValueError, "n=0"),
    "scale": (lambda: linalg.dft(2, "m"), ValueError, "'m'"),
    "negative": (lambda: linalg.dft(-1), ValueError, "n=-1"),
    "hadamard": (lambda: linalg.hadamard(3), ValueError, "n=3"),
    "pascal": (lambda: linalg.pascal(3, "x"), ValueError, "'x'"),
    "leslie": (lambda: linalg.leslie(jnp.ones(3), jnp.ones(3)), ValueError, "one survival"),
    "fiedler": (lambda: linalg.fiedler_companion(MATRIX), ValueError, "2 dimensions"),
    "schur": (lambda: linalg.schur(MATRIX, "x"), ValueError, "'x'"),
    "square": (lambda: linalg.schur(jnp.ones((2, 3))), ValueError, r"\(2, 3\)"),
    "blocks": (lambda: linalg.sqrtm(MATRIX, 2), NotImplementedError, "blocksize=2"),
    "frechet": (lambda: linalg.expm_frechet(MATRIX, jnp.ones((3, 3))), ValueError, r"\(3, 3\)"),
    "frechet method": (
        lambda: linalg.expm_frechet(MATRIX, MATRIX, method="x"), ValueError, "'x'",
    ),
    "sylvester": (lambda: linalg.solve_sylvester(MATRIX, MATRIX, jnp.ones(2)), ValueError, "C"),
    "sylvester method": (
        lambda: linalg.solve_sylvester(MATRIX, MATRIX, MATRIX, method="x"), ValueError, "'x'",
    ),
    "polar side": (lambda: linalg.polar(MATRIX, "x"), ValueError, "'x'"),
    "polar method": (lambda: linalg.polar(MATRIX, method="x"), ValueError, "'x'"),
    "polar rank": (lambda: linalg.polar(jnp.ones(3)), ValueError, "1 dimensions"),
    "qr mode": (lambda: linalg.qr_multiply(MATRIX, MATRIX, "x"), ValueError, "'x'"),
    "qr rank": (lambda: linalg.qr_multiply(jnp.ones(2), MATRIX), ValueError, "1 and 2"),
    "qr rows": (lambda: linalg.qr_multiply(MATRIX, jnp.ones((3, 1)), "left"), ValueError, "3"),
    "qr columns": (lambda: linalg.qr_multiply(MATRIX, jnp.ones((1, 3))), ValueError, "3"),
    "select": (
        lambda: linalg.eigh_tridiagonal(jnp.ones(2), jnp.ones(1), select="x"), ValueError, "'x'",
    ),
    "select v": (
        lambda: linalg.eigh_tridiagonal(jnp.ones(2), jnp.ones(1), select="v"),
        NotImplementedError, "'v'",
    ),
    "range": (
        lambda: linalg.eigh_tridiagonal(
            jnp.ones(2), jnp.ones(1), select="i", select_range=(1, 4)
        ), ValueError, r"\(1, 4\)",
    ),
    "tridiagonal": (lambda: linalg.eigh_tridiagonal(jnp.ones(2), jnp.ones(2)), ValueError, "n - 1"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_arguments_are_refused(name):
    call, error, fact = BAD[name]
    with pytest.raises(error, match=fact):
        call()
