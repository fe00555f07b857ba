"""Derivatives and batching of factorizations, repeated spectra among them."""

import numpy as np
import pytest

import tans_lax as lax
from tans_core import MissingRuleError, rules
from tans_core import config_module as config
from tans_core.context import AxisData
from tans_lax import linalg
from tans_lax.linalg.determinants import det
from tans_lax.linalg.matrices import adjoint, identity_like, matmul, times_columns, upper_part
from tans_lax.linalg.pseudoinverses import pinv


def sample(shape, is_complex=False, seed=0):
    rng = np.random.default_rng(seed + 10 * sum(shape))
    x = rng.standard_normal(shape)
    return x + 1j * rng.standard_normal(shape) if is_complex else x


both = pytest.mark.parametrize("is_complex", [False, True], ids=["real", "complex"])
shapes = pytest.mark.parametrize("shape", [(3, 3), (2, 4, 2), (2, 4)], ids=str)


@both
def test_cholesky(check_derivatives, is_complex):
    def fn(x):
        return linalg.cholesky(lax.add(matmul(x, adjoint(x)), identity_like(x)))

    check_derivatives(fn, sample((3, 3), is_complex))


@both
def test_cholesky_of_one_triangle(check_derivatives, is_complex):
    a = sample((3, 3), is_complex)
    a = np.tril(a @ a.conj().T + np.eye(3)) + 0.5 * np.triu(sample((3, 3), is_complex), 1)
    check_derivatives(lambda x: linalg.cholesky(x, symmetrize_input=False), a)


def test_cholesky_update(check_derivatives):
    r = np.triu(sample((3, 3))) + 2 * np.eye(3)
    check_derivatives(linalg.cholesky_update, r, sample((3,)), order=1)


@both
@shapes
def test_lu(check_derivatives, is_complex, shape):
    check_derivatives(lambda x: linalg.lu(x)[0], sample(shape, is_complex), order=1)


@pytest.mark.parametrize("left_side", [False, True])
@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("conjugate_a", [False, True])
def test_triangular_solve(check_derivatives, left_side, transpose_a, conjugate_a):
    options = {"left_side": left_side, "transpose_a": transpose_a, "conjugate_a": conjugate_a}
    options |= {"lower": transpose_a, "unit_diagonal": conjugate_a}
    a = sample((3, 3), True) + 3 * np.eye(3)
    b = sample((3, 2) if left_side else (2, 3), True)
    check_derivatives(lambda a, b: linalg.triangular_solve(a, b, **options), a, b, order=1)


@both
@shapes
@pytest.mark.parametrize("full", [False, True])
def test_qr(check_derivatives, is_complex, shape, full):
    def fn(x):
        q, r = linalg.qr(x, full_matrices=full)
        k = min(shape[-2:])
        q = lax.slice_in_dim(q, 0, k, axis=-1)
        return lax.add(matmul(q, lax.sin(lax.slice_in_dim(r, 0, k, axis=-2))), matmul(q, upper_part(
            lax.slice_in_dim(r, 0, k, axis=-2))))  # fmt: skip

    check_derivatives(fn, sample(shape, is_complex), order=1)


def test_pivoted_qr(check_derivatives):
    check_derivatives(lambda x: linalg.qr(x, pivoting=True)[1], sample((4, 3)))


@both
def test_matrix_functions_of_hermitian_matrices(check_derivatives, is_complex):
    def exponential(x):
        v, w = linalg.eigh(x)
        return matmul(times_columns(v, lax.exp(w)), adjoint(v))

    check_derivatives(exponential, sample((3, 3), is_complex))


def test_subsets_of_eigenvalues(check_derivatives):
    def part(x):
        v, w = linalg.eigh(x, subset_by_index=(1, 3))
        return matmul(times_columns(v, w), adjoint(v))

    check_derivatives(part, sample((3, 3)), order=1)


@both
@shapes
@pytest.mark.parametrize("full", [False, True])
def test_functions_of_singular_values_and_vectors(check_derivatives, is_complex, shape, full):
    def fn(x):
        u, s, vh = linalg.svd(x, full_matrices=full)
        k = min(shape[-2:])
        u, vh = lax.slice_in_dim(u, 0, k, axis=-1), lax.slice_in_dim(vh, 0, k, axis=-2)
        return matmul(times_columns(u, lax.sin(s)), vh)

    order = 2 if shape == (3, 3) and not full else 1
    check_derivatives(fn, sample(shape, is_complex), order=order)


def test_projector_on_the_complement_of_the_range(check_derivatives):
    def projector(x):
        rest = lax.slice_in_dim(linalg.svd(x)[0], 2, 4, axis=-1)
        return matmul(rest, adjoint(rest))

    check_derivatives(projector, sample((4, 2), True), order=1)


@both
def test_general_eigenvalues(check_derivatives, is_complex):
    options = {"compute_left_eigenvectors": False}

    def values(x):
        return linalg.eig(x, compute_right_eigenvectors=False, **options)[0]

    def vectors(x):
        return linalg.eig(x, enable_eigvec_derivs=True, **options)[1]

    x = sample((3, 3), is_complex)
    check_derivatives(values, x)
    check_derivatives(vectors, x, order=1)


def test_tridiagonal_systems(check_derivatives):
    low, d, up = (sample((2, 4), True, seed) for seed in range(3))
    check_derivatives(linalg.tridiagonal_solve, low, d + 4, up, sample((2, 4, 3), True), order=1)


def test_products(check_derivatives):
    fn = lambda a, c: linalg.symmetric_product(a, c, alpha=2.0, beta=3.0)  # noqa: E731
    check_derivatives(fn, sample((3, 2), True), sample((3, 3), True))
    a, taus = sample((3, 2), True), np.ones(2, complex)
    for left in (True, False):
        c = sample((3, 3), True)
        check_derivatives(lambda c, left=left: linalg.ormqr(a, taus, c, left=left), c, order=1)


SINGULAR = np.outer(np.arange(1.0, 5.0), [1.0, 0.5, -1.0, 2.0])


@pytest.mark.parametrize("a", [sample((4, 4), True), SINGULAR, np.eye(4), np.zeros((3, 3))])
def test_determinants_of_any_rank(check_derivatives, a):
    check_derivatives(det, a)


@pytest.mark.parametrize("a", [sample((4, 2), True), np.eye(3)])
def test_pseudoinverses(check_derivatives, a):
    check_derivatives(lambda x: pinv(x, np.float64(1e-10)), a)


@pytest.mark.parametrize("n", [1, 3])
@both
def test_frobenius_norm_by_equal_singular_values(n, is_complex):
    import tans_autodiff as autodiff

    def norm(x):
        return lax.sqrt(lax.reduce_sum(lax.square(linalg.svd(x)[1]), (0,)))

    with config.enable_x64(True):
        a = np.linalg.qr(sample((n, n), is_complex))[0]
        np.testing.assert_allclose(
            np.conj(autodiff.grad(norm)(a)), a / np.linalg.norm(a), atol=1e-12
        )


@pytest.mark.parametrize("fn", [linalg.schur, linalg.hessenberg, linalg.tridiagonal])
def test_what_has_no_derivative_says_so(fn):
    import tans_autodiff as autodiff

    with pytest.raises(NotImplementedError, match="no derivative"):
        autodiff.jvp(lambda x: fn(x)[0], (np.eye(3),), (np.eye(3),))


def test_eigenvectors_are_differentiated_on_request_only():
    import tans_autodiff as autodiff

    with pytest.raises(NotImplementedError, match="enable_eigvec_derivs"):
        autodiff.jvp(lambda x: linalg.eig(x)[0], (np.eye(3),), (np.eye(3),))


def _solve(a, b):
    return linalg.triangular_solve(a, b, left_side=True)


M, POSITIVE, COLUMNS = sample((3, 4, 4)), np.eye(4) * np.arange(4.0, 7.0)[:, None, None], (3, 4, 2)
CALLS = {
    "cholesky": (linalg.cholesky, POSITIVE),
    "cholesky_update": (linalg.cholesky_update, np.triu(M), sample((3, 4))),
    "qr": (linalg.qr, M),
    "lu": (linalg.lu, M),
    "eigh": (linalg.eigh, M),
    "eig": (linalg.eig, M),
    "svd": (linalg.svd, M),
    "schur": (linalg.schur, M),
    "hessenberg": (linalg.hessenberg, M),
    "tridiagonal": (linalg.tridiagonal, M),
    "triangular_solve": (_solve, M, sample(COLUMNS)),
    "tridiagonal_solve": (linalg.tridiagonal_solve, *(sample((3, 4)),) * 3, sample(COLUMNS)),
    "householder_product": (linalg.householder_product, sample(COLUMNS), sample((3, 2))),
    "ormqr": (linalg.ormqr, sample(COLUMNS), sample((3, 2)), M),
    "symmetric_product": (linalg.symmetric_product, sample(COLUMNS), M),
    "det": (det, M),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_mapping_equals_a_loop(name):
    import tans_batching as batching

    fn, *args = CALLS[name]
    for moved in {0, len(args) - 1}:
        given = [a if i == moved or moved == 0 else a[0] for i, a in enumerate(args)]
        dims = tuple(0 if i == moved or moved == 0 else None for i in range(len(args)))
        outs = batching.vmap(fn, in_axes=dims)(*given)
        rows = [
            fn(*(a if d is None else a[k] for a, d in zip(given, dims, strict=True)))
            for k in range(3)
        ]
        if not isinstance(outs, list | tuple):
            outs, rows = [outs], [[row] for row in rows]
        for i, out in enumerate(outs):
            np.testing.assert_allclose(
                out, np.stack([row[i] for row in rows]), rtol=1e-4, atol=1e-4
            )


@pytest.mark.parametrize("left_side", [False, True])
def test_many_right_hand_sides_of_one_matrix_are_columns(left_side):
    a, b = np.tril(M[0]) + 3 * np.eye(4), sample((3, 4, 2) if left_side else (3, 2, 4))
    for dim in range(3):
        out, out_dim = rules.batching[linalg.triangular_solve_p](
            AxisData(3), (a, np.moveaxis(b, 0, dim)), (None, dim), left_side=left_side, lower=True,
            transpose_a=False, conjugate_a=False, unit_diagonal=False,
        )  # fmt: skip
        x = np.moveaxis(np.asarray(out), out_dim, 0)
        np.testing.assert_allclose(a @ x if left_side else x @ a, b, rtol=1e-4, atol=1e-4)


def test_every_primitive_has_every_column():
    for name in linalg.__all__:
        primitive = getattr(linalg, name)
        if name.endswith("_p"):
            for table in (rules.types, rules.lowering, rules.jvp, rules.transpose, rules.batching):
                try:
                    assert table[primitive]
                except MissingRuleError as error:  # pragma: no cover
                    pytest.fail(str(error))
