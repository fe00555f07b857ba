"""Derivatives of linear algebra: repeated spectra, singular matrices, maps."""

import numpy as np
import pytest

import tans_numpy as jnp
from tans_core import config_module as config
from tans_numpy import linalg
from tans_xla import jit

autodiff = pytest.importorskip("tans_autodiff")
batching = pytest.importorskip("tans_batching")


@pytest.fixture(autouse=True)
def _in_double():
    with config.enable_x64(True):
        yield


def rotation(n, seed=0):
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((n, n)))[0]


@pytest.mark.parametrize("a", [np.eye(3), 2 * rotation(3), rotation(4)[:, :3], np.ones((1, 1))])
def test_frobenius_norm_by_singular_values_at_equal_ones(a):
    expected = a / np.linalg.norm(a)
    for compute_uv in (False, True):

        def norm(a, compute_uv=compute_uv):
            s = linalg.svd(a, False, compute_uv)
            return jnp.sqrt(jnp.sum((s[1] if compute_uv else s) ** 2))

        np.testing.assert_allclose(autodiff.grad(norm)(a), expected, atol=1e-12)


@pytest.mark.parametrize("a", [np.eye(3), np.diag([1.0, 1.0, 2.0]), np.zeros((2, 2))])
def test_symmetric_functions_of_equal_eigenvalues(a):
    def trace_of_exponential(a):
        return jnp.sum(jnp.exp(linalg.eigh(a).eigenvalues))

    expected = np.diag(np.exp(np.diag(a)))
    np.testing.assert_allclose(autodiff.grad(trace_of_exponential)(a), expected, atol=1e-12)
    total = autodiff.grad(lambda a: linalg.eigvalsh(a).sum())(a)
    np.testing.assert_allclose(total, np.eye(len(a)), atol=1e-12)


def test_projector_on_an_eigenspace_of_equal_eigenvalues():
    q = rotation(4)
    a = (q * [1.0, 1.0, 3.0, 3.0]) @ q.T
    change = np.random.default_rng(1).standard_normal((4, 4))
    change = change + change.T

    def projector(a):
        v = linalg.eigh(a).eigenvectors[:, 2:]
        return v @ v.T

    _, tangent = autodiff.jvp(projector, (a,), (change,))
    low, high = q[:, :2] @ q[:, :2].T, q[:, 2:] @ q[:, 2:].T
    expected = (low @ change @ high + high @ change @ low) / 2
    np.testing.assert_allclose(tangent, expected, atol=1e-10)


def test_nuclear_and_spectral_norms_at_equal_singular_values():
    a = 3 * rotation(3)
    np.testing.assert_allclose(autodiff.grad(lambda a: linalg.norm(a, "nuc"))(a), a / 3, atol=1e-10)
    assert np.isfinite(autodiff.grad(lambda a: linalg.norm(a, 2))(a)).all()


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_determinants_of_singular_matrices_have_derivatives(n):
    a = np.zeros((n, n))
    expected = np.ones((1, 1)) if n == 1 else np.zeros((n, n))
    np.testing.assert_allclose(autodiff.grad(linalg.det)(a), expected, atol=1e-12)
    a = np.diag([0.0] + [2.0] * (n - 1))
    expected = np.zeros((n, n))
    expected[0, 0] = 2.0 ** (n - 1)
    np.testing.assert_allclose(autodiff.grad(linalg.det)(a), expected, atol=1e-12)


def check(fn, *xs, order=2, step=1e-5):
    """Compare jvp with differences and vjp with jvp, then the same of the gradient."""
    rng = np.random.default_rng(len(xs))
    dots = [rng.standard_normal(x.shape) for x in xs]
    out, dot = jit(lambda xs, dots: autodiff.jvp(fn, tuple(xs), tuple(dots)))(xs, dots)
    run = jit(fn)
    ahead, behind = (
        np.asarray(run(*[x + s * d for x, d in zip(xs, dots, strict=True)])) for s in (step, -step)
    )
    np.testing.assert_allclose(dot, (ahead - behind) / (2 * step), rtol=1e-5, atol=1e-5)
    bar = rng.standard_normal(np.shape(out))

    def gradient(*xs):
        return autodiff.vjp(fn, *xs)[1](bar)

    bars = jit(gradient)(*xs)
    right = sum(np.vdot(b, d) for b, d in zip(bars, dots, strict=True))
    np.testing.assert_allclose(np.vdot(bar, dot), right, rtol=1e-9, atol=1e-9)
    if order > 1:
        check(lambda *xs: gradient(*xs)[0], *xs, order=order - 1)


SMALL = np.random.default_rng(3).standard_normal((3, 3)) + 3 * np.eye(3)


@pytest.mark.parametrize(
    "fn",
    [
        linalg.inv,
        lambda a: linalg.slogdet(a).logabsdet,
        lambda a: linalg.slogdet(a, method="qr").logabsdet,
        lambda a: linalg.cholesky(a @ a.T),
        lambda a: linalg.pinv(a[:, :2]),
        lambda a: linalg.matrix_power(a, -2),
        lambda a: linalg.norm(a, "nuc"),
        linalg.cond,
    ],
    ids=["inv", "slogdet", "slogdet_qr", "cholesky", "pinv", "matrix_power", "nuclear", "cond"],
)
def test_derivatives_to_second_order(fn):
    check(fn, SMALL)


def test_derivatives_of_systems():
    b = np.random.default_rng(4).standard_normal((3, 2))
    check(linalg.solve, SMALL, b)
    check(lambda a, b: linalg.lstsq(a, b)[0], SMALL[:, :2], b)


def test_least_squares_at_equal_singular_values():
    check(lambda a, b: linalg.lstsq(a, b)[0], np.eye(3)[:, :2], np.ones((3, 1)))


@pytest.mark.parametrize(
    "fn",
    [
        linalg.inv,
        linalg.det,
        linalg.pinv,
        lambda a: linalg.eigh(a).eigenvalues,
        lambda a: linalg.svd(a).S,
        lambda a: linalg.norm(a, "nuc"),
        lambda a: linalg.solve(a, np.ones(4)),
        linalg.matrix_rank,
    ],
)
@pytest.mark.parametrize("dim", [0, 2])
def test_mapping_equals_a_loop(fn, dim):
    x = np.random.default_rng(5).standard_normal((3, 4, 4)) + 3 * np.eye(4)
    out = batching.vmap(fn, in_axes=dim)(np.moveaxis(x, 0, dim))
    np.testing.assert_allclose(out, np.stack([fn(part) for part in x]), rtol=1e-9, atol=1e-9)
