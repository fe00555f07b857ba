"""Linear algebra against SciPy in double precision."""

import numpy as np
import pytest
import scipy.linalg as sp

import tans_numpy as jnp
from tans_autodiff.check_grads import check_grads
from tans_batching import vmap
from tans_scipy import linalg

RNG = np.random.default_rng(0)
A = RNG.normal(size=(4, 4)) + 4 * np.eye(4)
P = A @ A.T
B = RNG.normal(size=(4, 2))
RTOL = {"float32": 2e-4, "float64": 1e-10, "complex128": 1e-10}


def matrix(dtype, positive=False):
    a = A + 1j * RNG.normal(size=(4, 4)) if dtype == "complex128" else A
    a = a @ a.conj().T if positive else a
    return a.astype(dtype)


@pytest.mark.parametrize("dtype", RTOL)
@pytest.mark.parametrize("b", [B[:, 0], B], ids=["vector", "matrix"])
def test_solutions(dtype, b, x64):
    a, p, b = matrix(dtype), matrix(dtype, True), b.astype(dtype)
    rtol = RTOL[dtype]
    close = {"rtol": rtol, "atol": rtol}
    np.testing.assert_allclose(linalg.solve(a, b), np.linalg.solve(a, b), **close)
    np.testing.assert_allclose(linalg.solve(p, b, assume_a="pos"), np.linalg.solve(p, b), **close)
    for lower in (True, False):
        factor = linalg.cho_factor(p, lower=lower)
        np.testing.assert_allclose(linalg.cho_solve(factor, b), np.linalg.solve(p, b), **close)
    for trans in (0, 1, 2):
        expected = sp.lu_solve(sp.lu_factor(a), b, trans)
        np.testing.assert_allclose(
            linalg.lu_solve(linalg.lu_factor(a), b, trans), expected, **close
        )
        for lower in (True, False):
            expected = sp.solve_triangular(a, b, trans, lower)
            out = linalg.solve_triangular(a, b, trans, lower)
            np.testing.assert_allclose(out, expected, **close)


@pytest.mark.parametrize("dtype", RTOL)
def test_factors(dtype, x64):
    a, p, rtol = matrix(dtype), matrix(dtype, True), RTOL[dtype]
    close = {"rtol": rtol, "atol": 30 * rtol}
    np.testing.assert_allclose(linalg.cholesky(p), sp.cholesky(p), **close)
    np.testing.assert_allclose(linalg.cholesky(p, lower=True), sp.cholesky(p, lower=True), **close)
    for m in (a, a[:, :3], a[:2]):
        permutation, lower, upper = linalg.lu(m)
        np.testing.assert_allclose(permutation @ lower @ upper, m, **close)
        np.testing.assert_allclose(np.matmul(*linalg.lu(m, permute_l=True)), m, **close)
        q, r = linalg.qr(m, mode="economic")
        np.testing.assert_allclose(q @ r, m, **close)
        u, s, vh = linalg.svd(m, full_matrices=False)
        np.testing.assert_allclose((u * s.astype(dtype)) @ vh, m, **close)
    w, v = linalg.eigh(p)
    np.testing.assert_allclose((v * w.astype(dtype)) @ np.conj(v).T, p, rtol=rtol, atol=100 * rtol)
    np.testing.assert_allclose(linalg.det(a), np.linalg.det(a), **close)
    np.testing.assert_allclose(linalg.inv(a), np.linalg.inv(a), **close)


@pytest.mark.parametrize("dtype", RTOL)
@pytest.mark.parametrize("scale", [0.0, 0.1, 1.0, 5.0])
def test_exponential(dtype, scale, x64):
    a = (RNG.normal(size=(2, 3, 3)) * scale).astype(dtype)
    np.testing.assert_allclose(linalg.expm(a), sp.expm(a), rtol=RTOL[dtype] * 5, atol=1e-5)


def test_structured_matrices():
    c, r = np.array([1.0, 2.0, 3.0]), np.array([9.0, 4.0])
    for name, args in [
        ("toeplitz", (c,)), ("toeplitz", (c, r)), ("hankel", (c,)), ("hankel", (c, r)),
        ("circulant", (c,)), ("block_diag", (c, np.ones((2, 2)), 3.0)), ("hilbert", (4,)),
    ]:  # fmt: skip
        np.testing.assert_allclose(
            getattr(linalg, name)(*args), getattr(sp, name)(*args), rtol=1e-6
        )


def test_derivatives(x64):
    check_grads(linalg.solve, (A, B), order=2)
    check_grads(lambda p: linalg.cholesky(p + p.T), (P,), order=1)
    check_grads(lambda p, b: linalg.cho_solve(linalg.cho_factor(p + p.T), b), (P, B), order=1)
    check_grads(linalg.det, (A / 4,), order=2)
    check_grads(linalg.expm, (A / 5,), order=1)


def test_vmap_equals_a_loop():
    a = np.stack([A, P]).astype(np.float32)
    b = np.stack([B, B]).astype(np.float32)
    expected = np.stack([linalg.solve(*x) for x in zip(a, b, strict=True)])
    np.testing.assert_allclose(vmap(linalg.solve)(a, b), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "call",
    [
        lambda: linalg.solve(jnp.ones((2, 3)), jnp.ones(2)),
        lambda: linalg.solve(jnp.eye(2), jnp.ones(3)),
        lambda: linalg.solve(jnp.eye(2), jnp.ones(2), assume_a="band"),
        lambda: linalg.solve_triangular(jnp.eye(2), jnp.ones(2), trans=3),
        lambda: linalg.qr(jnp.eye(2), mode="raw"),
    ],
)
def test_what_does_not_fit_is_refused(call):
    with pytest.raises(ValueError, match="given"):
        call()
