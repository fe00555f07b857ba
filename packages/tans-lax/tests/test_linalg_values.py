"""Factorizations multiply back, solvers solve: stacked, rectangular, empty, of size one."""

import numpy as np
import pytest
import scipy.linalg

from tans_core import config_module as config
from tans_core import typeof
from tans_lax import linalg
from tans_lax.linalg.orthogonal_factors.lowering import _apply_one_by_one
from tans_lax.linalg.singular_values.polar import svd_by_polar
from tans_lax.linalg.tridiagonal_systems.lowering import _eliminate
from tans_xla import jit

DTYPES = ["float32", "float64", "complex64", "complex128"]
SQUARE = [(0, 0), (1, 1), (2, 3, 3), (0, 2, 2)]
ANY = [*SQUARE, (4, 2), (2, 3, 5), (1, 3), (3, 0)]


@pytest.fixture(params=DTYPES)
def dtype(request):
    with config.enable_x64(request.param in ("float64", "complex128")):
        yield request.param


def sample(shape, dtype, seed=0):
    rng = np.random.default_rng(seed + 10 * sum(shape))
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if dtype[0] == "c" else x).astype(dtype)


def adjoint(x):
    return np.conj(np.swapaxes(x, -1, -2))


def positive(shape, dtype):
    x = sample(shape, dtype)
    return x @ adjoint(x) + np.eye(shape[-1], dtype=dtype)


def close(out, expected):
    out, expected = np.asarray(out), np.asarray(expected)
    assert out.shape == expected.shape
    tolerance = 2e-4 if out.dtype.name in ("float32", "complex64") else 1e-11
    scale = max(1.0, np.abs(expected).max(initial=0.0))
    np.testing.assert_allclose(out, expected, rtol=tolerance, atol=tolerance * scale)


def arrays(outs):
    return [np.asarray(x) for x in outs]


def diagonals(values):
    return values[..., None, :]


@pytest.mark.parametrize("shape", SQUARE, ids=str)
def test_cholesky_multiplies_back(dtype, shape):
    a = positive(shape, dtype)
    factor = np.asarray(linalg.cholesky(a))
    close(factor @ adjoint(factor), a)
    assert not np.any(np.triu(factor, 1))
    lower_only = np.tril(a) + 7 * np.triu(np.ones(shape, dtype), 1)
    close(linalg.cholesky(lower_only, symmetrize_input=False), factor)


def test_a_failed_factorization_spoils_only_its_own_problem():
    a = np.stack([np.eye(2), [[1, 2], [2, 1]]]).astype(np.float32)
    out = np.asarray(linalg.cholesky(a))
    np.testing.assert_array_equal(out, [np.eye(2), [[np.nan, 0], [np.nan, np.nan]]])


@pytest.mark.parametrize("shape", [(1, 1), (4, 4), (2, 3, 3), (0, 0)], ids=str)
def test_cholesky_update_adds_a_rank_one_term(shape):
    r, w = np.triu(sample(shape, "float32")), sample(shape[:-1], "float32", 1)
    out = np.asarray(linalg.cholesky_update(r, w))
    close(adjoint(out) @ out, adjoint(r) @ r + w[..., :, None] * w[..., None, :])
    assert not np.any(np.tril(out, -1))
    close(linalg.cholesky_update(np.zeros((2, 2)), np.zeros(2)), np.zeros((2, 2)))


@pytest.mark.parametrize("shape", ANY, ids=str)
def test_qr_multiplies_back(dtype, shape):
    x = sample(shape, dtype)
    for full in (False, True):
        q, r = arrays(linalg.qr(x, full_matrices=full))
        close(q @ r, x)
        close(
            adjoint(q) @ q,
            np.broadcast_to(np.eye(q.shape[-1]), (*x.shape[:-2], *[q.shape[-1]] * 2)),
        )
        assert not np.any(np.tril(r, -1))
        q, r, p = arrays(linalg.qr(x, full_matrices=full, pivoting=True))
        close(q @ r, np.take_along_axis(x, np.broadcast_to(diagonals(p), x.shape), -1))


@pytest.mark.parametrize("shape", ANY, ids=str)
def test_lu_multiplies_back(dtype, shape):
    x = sample(shape, dtype)
    factors, pivots, permutation = arrays(linalg.lu(x))
    k = min(shape[-2:])
    lower = np.tril(factors, -1)[..., :k] + np.eye(shape[-2], k, dtype=dtype)
    close(lower @ np.triu(factors)[..., :k, :], np.take_along_axis(x, permutation[..., None], -2))
    assert pivots.dtype == permutation.dtype == np.int32
    again = linalg.lu_pivots_to_permutation(pivots, shape[-2])
    np.testing.assert_array_equal(again, permutation)


@pytest.mark.parametrize("shape", SQUARE, ids=str)
def test_hermitian_spectra_multiply_back(dtype, shape):
    a = positive(shape, dtype)
    v, w = arrays(linalg.eigh(a))
    close((v * diagonals(w)) @ adjoint(v), a)
    assert w.dtype == a.real.dtype
    assert (np.diff(w) >= 0).all()
    upper = np.triu(a) + 7 * np.tril(np.ones(shape, dtype), -1)
    close(linalg.eigh(upper, lower=False, symmetrize_input=False)[1], w)
    if shape[-1] == 3:
        part, values = arrays(linalg.eigh(a, subset_by_index=(1, 3)))
        close(values, w[..., 1:3])
        close(np.abs(part), np.abs(v[..., 1:3]))


def by_polar(x, full):
    s, u, vh = svd_by_polar(
        x, full_matrices=full, compute_uv=True, subset_by_index=None, algorithm=None
    )
    return u, s, vh


@pytest.mark.parametrize("shape", ANY, ids=str)
def test_singular_values_multiply_back(dtype, shape):
    x = sample(shape, dtype)
    k = min(shape[-2:])
    expected = np.linalg.svd(x, compute_uv=False) if x.size else np.zeros((*shape[:-2], k))
    ways = [lambda full: linalg.svd(x, full_matrices=full)]
    ways.append(lambda full: linalg.svd(x, full_matrices=full, algorithm=linalg.SvdAlgorithm.QR))
    if x.size and shape[-1] < 4 and dtype in ("float32", "complex128"):
        ways.append(lambda full: jit(by_polar, static_argnums=1)(x, full))
    for way in ways:
        for full in (False, True):
            u, s, vh = arrays(way(full))
            close((u[..., :k] * diagonals(s)) @ vh[..., :k, :], x)
            close(s, expected)
            unit = np.broadcast_to(np.eye(u.shape[-1]), (*shape[:-2], *[u.shape[-1]] * 2))
            close(adjoint(u) @ u, unit)
    close(linalg.svd(x, compute_uv=False), expected)


def test_polar_decomposition_of_a_matrix_without_full_rank():
    x = np.outer([1.0, 2.0, 3.0], [1.0, -1.0]).astype(np.float32)
    u, s, vh = arrays(by_polar(x, True))
    close((u[:, :2] * s) @ vh, x)
    close(adjoint(u) @ u, np.eye(3))
    u, h, _, converged = linalg.qdwh(sample((4, 3), "float32"), dynamic_shape=(3, 2))
    close(
        np.asarray(u) @ np.asarray(h), np.pad(sample((4, 3), "float32")[:3, :2], [(0, 1), (0, 1)])
    )
    assert bool(converged)


@pytest.mark.parametrize("shape", SQUARE, ids=str)
def test_general_spectra(dtype, shape):
    a = sample(shape, dtype)
    w, left, right = arrays(linalg.eig(a))
    close(a @ right, right * diagonals(w))
    close(adjoint(left) @ a, w[..., None] * adjoint(left))
    assert len(linalg.eig(a, compute_left_eigenvectors=False)) == 2
    t, z = arrays(linalg.schur(a))
    close(z @ t @ adjoint(z), a)
    (only,) = linalg.schur(a, compute_schur_vectors=False)
    close(only, t)
    assert not np.any(np.tril(t, -2 if dtype[0] == "f" else -1))


@pytest.mark.parametrize("shape", [(1, 1), (4, 4), (2, 3, 3)], ids=str)
def test_condensed_forms(dtype, shape):
    a, n = sample(shape, dtype), shape[-1]
    packed, taus = arrays(linalg.hessenberg(a))
    h = np.triu(packed, -1)
    reflectors = np.tril(packed, -2)[..., 1:, :-1] if n > 1 else packed[..., :0, :0]
    q = np.broadcast_to(np.eye(n, dtype=dtype), shape).copy()
    q[..., 1:, 1:] = linalg.householder_product(reflectors, taus)
    close(q @ h @ adjoint(q), a)
    a = positive(shape, dtype)
    _, d, e, _ = arrays(linalg.tridiagonal(a))
    t = np.zeros(shape, d.dtype)
    i = np.arange(n)
    t[..., i, i] = d
    t[..., i[1:], i[:-1]] = t[..., i[:-1], i[1:]] = e
    close(np.linalg.eigvalsh(t), np.linalg.eigvalsh(a))


def effective(a, options):
    m = np.tril(a) if options["lower"] else np.triu(a)
    if options["unit_diagonal"]:
        unit = np.eye(a.shape[-1], dtype=a.dtype)
        m = m * (1 - unit) + unit
    m = np.swapaxes(m, -1, -2) if options["transpose_a"] else m
    return np.conj(m) if options["conjugate_a"] else m


def test_triangular_systems(dtype):
    names = ("left_side", "lower", "transpose_a", "conjugate_a", "unit_diagonal")
    a = sample((2, 3, 3), dtype) + 3 * np.eye(3, dtype=dtype)
    for bits in range(32):
        options = {name: bool(bits >> i & 1) for i, name in enumerate(names)}
        b = sample((2, 3, 4) if options["left_side"] else (2, 4, 3), dtype, 1)
        x = np.asarray(linalg.triangular_solve(a, b, **options))
        m = effective(a, options)
        close(m @ x if options["left_side"] else x @ m, b)
    b = sample((3,), dtype)
    x = np.asarray(linalg.triangular_solve(a[0], b, left_side=True, lower=True))
    close(np.tril(a[0]) @ x, b)
    x = np.asarray(linalg.triangular_solve(a[0], b))
    close(x @ np.triu(a[0]), b)
    assert linalg.triangular_solve(np.ones((0, 0)), np.ones((0, 2)), left_side=True).shape == (0, 2)


@pytest.mark.parametrize("size", [1, 2, 5])
def test_tridiagonal_systems(dtype, size):
    low, d, up = (sample((2, size), dtype, seed) for seed in range(3))
    d, b = d + np.asarray(4, dtype), sample((2, size, 3), dtype, 4)
    i = np.arange(size)
    m = np.zeros((2, size, size), dtype)
    m[:, i, i] = d
    m[:, i[1:], i[:-1]], m[:, i[:-1], i[1:]] = low[:, 1:], up[:, :-1]
    close(m @ np.asarray(linalg.tridiagonal_solve(low, d, up, b)), b)
    close(m @ np.asarray(jit(lambda *x: _eliminate(*x, perturb_singular=False))(low, d, up, b)), b)
    close(m @ np.asarray(linalg.tridiagonal_solve(low, d, up, b, perturb_singular=True)), b)


def test_products_with_reflectors(dtype):
    packed, taus = arrays(jit(_packed)(sample((2, 4, 3), dtype)))
    q = np.stack([scipy.linalg.qr(x)[0] for x in sample((2, 4, 3), dtype)])
    for left in (True, False):
        for transpose in (True, False):
            c = sample((2, 4, 5) if left else (2, 5, 4), dtype, 1)
            m = adjoint(q) if transpose else q
            expected = m @ c if left else c @ m
            options = {"left": left, "transpose": transpose}
            close(linalg.ormqr(packed, taus, c, **options), expected)
            close(_apply_one_by_one(packed, taus, c, **options), expected)
    close(linalg.householder_product(packed, taus), q[..., :3])


def _packed(x):
    from tans_lax.linalg.orthogonal_factors import geqrf

    return geqrf(x)


def test_symmetric_products(dtype):
    a, c = sample((2, 3, 4), dtype), positive((2, 3, 3), dtype)
    c = c + np.swapaxes(c, -1, -2)
    out = linalg.symmetric_product(a, c, alpha=2.0, beta=3.0, symmetrize_output=True)
    close(out, 2 * a @ np.swapaxes(a, -1, -2) + 3 * c)


@pytest.mark.parametrize(
    ("call", "error", "facts"),
    [
        (lambda: linalg.cholesky(np.ones(3)), ValueError, ["float32[3]"]),
        (lambda: linalg.cholesky(np.ones((2, 3))), ValueError, ["float32[2,3]"]),
        (lambda: linalg.eigh(np.ones((2, 3))), ValueError, ["float32[2,3]"]),
        (lambda: linalg.qr(np.ones(3)), TypeError, ["float32[3]"]),
        (lambda: linalg.svd(np.ones((3, 3), int)), TypeError, ["int32"]),
        (lambda: linalg.lu(np.ones((3, 3), bool)), TypeError, ["bool"]),
        (lambda: linalg.eig(np.ones((2, 3))), ValueError, ["float32[2,3]"]),
        (lambda: linalg.schur(np.eye(2), sort_eig_vals=True), NotImplementedError, ["sort"]),
        (lambda: linalg.hessenberg(np.ones((2, 3))), ValueError, ["float32[2,3]"]),
        (lambda: linalg.tridiagonal(np.ones((0, 0))), TypeError, ["float32[0,0]"]),
        (lambda: linalg.eigh(np.eye(3), subset_by_index=(0, 4)), ValueError, ["(0, 4)"]),
        (lambda: linalg.svd(np.eye(3), subset_by_index=(0, 2)), ValueError, ["full_matrices"]),
        (
            lambda: linalg.svd(np.eye(3), algorithm=linalg.SvdAlgorithm.JACOBI),
            NotImplementedError,
            ["JACOBI", "CPU"],
        ),
        (
            lambda: linalg.triangular_solve(np.eye(3), np.ones((2, 2))),
            ValueError,
            ["float32[3,3]", "float32[2,2]"],
        ),
        (
            lambda: linalg.tridiagonal_solve(np.ones(2), np.ones(3), np.ones(2), np.ones((3, 1))),
            TypeError,
            ["float32[2]", "float32[3]"],
        ),
        (
            lambda: linalg.tridiagonal_solve(np.ones(3), np.ones(3), np.ones(3), np.ones(3)),
            TypeError,
            ["float32[3]"],
        ),
        (
            lambda: linalg.householder_product(np.ones((2, 3)), np.ones(2)),
            ValueError,
            ["float32[2,3]"],
        ),
        (lambda: linalg.lu_pivots_to_permutation(np.array([1, 1]), 1), ValueError, ["2 pivots"]),
        (lambda: linalg.cholesky_update(np.eye(3), np.ones(2)), ValueError, ["float32[2]"]),
        (lambda: linalg.qdwh(np.ones((2, 3))), ValueError, ["float32[2,3]"]),
        (lambda: linalg.symmetric_product(np.ones((2, 3)), np.eye(3)), ValueError, ["[2,3]"]),
    ],
)
def test_bad_arguments_are_named(call, error, facts):
    with pytest.raises(error) as raised:
        call()
    assert all(fact in str(raised.value) for fact in facts)


@pytest.mark.parametrize(("platform", "names"), [("cuda", "cu"), ("rocm", "hip")])
def test_the_order_of_rows_has_a_kernel_on_gpus(platform, names):
    traced = jit(lambda x: linalg.lu(x)[2]).trace(np.eye(3, dtype=np.float32))
    text = traced.lower(lowering_platforms=(platform,)).as_text()
    assert f"@{names}solver_getrf_ffi" in text
    assert f"@{names}_lu_pivots_to_permutation" in text


@pytest.mark.parametrize(("dtype", "kernels"), [(np.int32, 1), (np.uint32, 0)])
def test_the_kernel_of_the_order_of_rows_takes_int32(dtype, kernels):
    traced = jit(lambda p: linalg.lu_pivots_to_permutation(p, 3)).trace(np.array([1, 1], dtype))
    text = traced.lower(lowering_platforms=("cuda",)).as_text()
    assert text.count("@cu_lu_pivots_to_permutation") == kernels


@pytest.mark.parametrize("platform", ["cuda", "tpu"])
def test_programs_for_other_platforms_name_their_targets(platform):
    def program(x):
        q, r = linalg.qr(x, full_matrices=False)
        v, w = linalg.eigh(x)
        return q, r, v, w, linalg.lu(x)[0], linalg.svd(x), linalg.cholesky(x)

    x = np.eye(3, dtype=np.float32)
    text = jit(program).trace(x).lower(lowering_platforms=(platform,)).as_text()
    names = {
        "cuda": ["cusolver_geqrf_ffi", "cusolver_syevd_ffi", "cusolver_getrf_ffi", "gesvdj_ffi"],
        "tpu": ["Qr", "Eigh", "LuDecomposition", "stablehlo.cholesky"],
    }[platform]
    assert all(name in text for name in names)
    assert "lapack" not in text
    assert typeof(x).shape == (3, 3)
