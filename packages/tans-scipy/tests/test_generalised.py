"""Generalised Hermitian eigenproblems against SciPy."""

import numpy as np
import pytest
import scipy.linalg

import tans_numpy as jnp
from tans_autodiff import grad
from tans_scipy import linalg


def pair(dtype, n=4):
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, n, n))
    if np.dtype(dtype).kind == "c":
        a, b = a + 1j * rng.normal(size=(n, n)), b + 1j * rng.normal(size=(n, n))
    a, b = a + a.conj().T, b @ b.conj().T + n * np.eye(n)
    return a.astype(dtype), b.astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
@pytest.mark.parametrize("kind", [1, 2, 3])
@pytest.mark.parametrize("lower", [True, False])
def test_generalised_eigenproblems(dtype, kind, lower):
    a, b = pair(dtype)
    # Only the named triangle is read.
    read = np.tril if lower else np.triu
    values, vectors = linalg.eigh(read(a), read(b), lower=lower, type=kind)
    np.testing.assert_allclose(
        values, scipy.linalg.eigh(a, b, eigvals_only=True, type=kind), rtol=1e-4, atol=1e-4
    )
    left, right = {1: (a, b), 2: (a @ b, np.eye(4)), 3: (b @ a, np.eye(4))}[kind]
    np.testing.assert_allclose(left @ vectors, right @ vectors * values, rtol=1e-3, atol=2e-3)
    metric = np.linalg.inv(b) if kind == 3 else b
    found = np.asarray(vectors).conj().T @ metric @ vectors
    np.testing.assert_allclose(found, np.eye(4), atol=1e-4)


def test_generalised_eigenvalues_of_batches():
    a, b = pair("float32")
    found = linalg.eigh(np.stack([a, 2 * a]), b, eigvals_only=True)
    expected = scipy.linalg.eigh(a, b, eigvals_only=True)
    np.testing.assert_allclose(found, [expected, 2 * expected], rtol=1e-4)


def test_generalised_eigenvalues_have_slopes():
    a, b = pair("float32")
    slope = grad(lambda s: linalg.eigh(a, s * b, eigvals_only=True)[-1])(jnp.float32(1))
    expected = -scipy.linalg.eigh(a, b, eigvals_only=True)[-1]
    np.testing.assert_allclose(slope, expected, rtol=1e-3)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: linalg.eigh(jnp.eye(2), jnp.eye(3)), ValueError),
        (lambda: linalg.eigh(jnp.eye(2), jnp.ones((2, 3))), ValueError),
        (lambda: linalg.eigh(jnp.eye(2), jnp.eye(2), type=4), ValueError),
        (lambda: linalg.eigh(jnp.eye(2), eigvals=(0, 1)), NotImplementedError),
    ],
)
def test_what_is_no_pair_of_matrices_is_refused(call, error):
    with pytest.raises(error, match="eigh: given"):
        call()
