"""Cosine transforms, interpolation, iterative solvers, quantisation and densities."""

import numpy as np
import pytest
import scipy.cluster.vq
import scipy.fft
import scipy.integrate
import scipy.interpolate
import scipy.stats

import tans_numpy as jnp
import tans_random
from tans_autodiff import grad
from tans_batching import vmap
from tans_core.config import enable_x64
from tans_scipy import fft, integrate, interpolate
from tans_scipy.cluster import vq
from tans_scipy.sparse import linalg as solvers
from tans_scipy.stats import gaussian_kde
from tans_xla import jit

TOL = {"float32": 3e-4, "float64": 1e-10}


@pytest.fixture(params=["float32", "float64"])
def dtype(request):
    with enable_x64(request.param == "float64"):
        yield request.param


def sample(shape, dtype, seed=0):
    return np.random.default_rng(seed + sum(shape)).standard_normal(shape).astype(dtype)


def close(out, expected, dtype):
    np.testing.assert_allclose(out, expected, rtol=TOL[dtype], atol=TOL[dtype])


@pytest.mark.parametrize("name", ["dct", "idct"])
@pytest.mark.parametrize("kind", [2, 3])
@pytest.mark.parametrize("norm", [None, "backward", "ortho", "forward"])
def test_cosine_transforms_equal_scipy(name, kind, norm, dtype):
    for shape, n, axis in (((1,), None, -1), ((5,), 7, 0), ((3, 4), None, 0), ((2, 3, 6), 5, 2)):
        x = sample(shape, dtype)
        expected = getattr(scipy.fft, name)(x.astype(float), kind, n, axis, norm)
        close(getattr(fft, name)(x, kind, n, axis, norm), expected, dtype)
    out = vmap(lambda v: getattr(fft, name)(v, kind, norm=norm))(sample((2, 3), dtype))
    expected = getattr(scipy.fft, name)(sample((2, 3), dtype).astype(float), kind, norm=norm)
    close(out, expected, dtype)


@pytest.mark.parametrize("name", ["dctn", "idctn"])
def test_cosine_transforms_of_several_dimensions(name, dtype):
    x = sample((3, 4), dtype)
    for options in ({}, {"axes": (1,)}, {"s": (2, 5), "norm": "ortho"}):
        expected = getattr(scipy.fft, name)(x.astype(float), **options)
        close(getattr(fft, name)(x, **options), expected, dtype)


def test_slope_of_a_cosine_transform_is_its_matrix():
    matrix = scipy.fft.dct(np.eye(5), axis=0)
    slope = grad(lambda x: fft.dct(x) @ jnp.arange(5.0))(jnp.zeros(5))
    np.testing.assert_allclose(slope, np.arange(5) @ matrix, rtol=1e-5)


def test_trapezoid(dtype):
    y, x = sample((3, 5), dtype), np.cumsum(abs(sample((5,), dtype)))
    close(integrate.trapezoid(y), scipy.integrate.trapezoid(y), dtype)
    close(integrate.trapezoid(y, x, axis=1), scipy.integrate.trapezoid(y, x), dtype)
    close(
        integrate.trapezoid(y, dx=0.5, axis=0), scipy.integrate.trapezoid(y, dx=0.5, axis=0), dtype
    )


@pytest.mark.parametrize("shape", [(4,), (4, 3)], ids=str)
def test_vector_quantisation_equals_scipy(shape, dtype):
    obs, book = sample(shape, dtype), sample((2, *shape[1:]), dtype, 1)
    index, distance = vq.vq(obs, book)
    expected = scipy.cluster.vq.vq(obs.astype(float), book.astype(float))
    assert np.array_equal(index, expected[0])
    close(distance, expected[1], dtype)


GRID = (np.array([0, 1, 2.5]), np.array([0, 2, 3, 4.0]))
PLACES = np.array([[0.5, 1.0], [2.4, 3.9], [0.0, 4.0], [9, 9], [-1, 2]])


@pytest.mark.parametrize("method", ["linear", "nearest"])
@pytest.mark.parametrize("fill", [np.nan, 0.5, None])
def test_interpolation_on_a_grid_equals_scipy(method, fill, dtype):
    for tail in ((), (2,)):
        values = sample((3, 4, *tail), dtype)
        args = (method, False, fill)
        oracle = scipy.interpolate.RegularGridInterpolator(GRID, values.astype(float), *args)
        ours = interpolate.RegularGridInterpolator(GRID, values, *args)
        places = PLACES.astype(dtype)
        close(ours(places), oracle(PLACES), dtype)
        close(jit(lambda p: ours(p))(places), oracle(PLACES), dtype)  # noqa: B023
    near = lambda p: interpolate.RegularGridInterpolator(GRID, values)(p).sum()  # noqa: E731
    point = PLACES[:1].astype(dtype)
    if dtype == "float64":
        steps = 1e-6 * np.eye(2)[:, None]
        slope = [(near(point + h) - near(point - h)) / 2e-6 for h in steps]
        np.testing.assert_allclose(grad(near)(point)[0], slope, rtol=1e-6)


@pytest.mark.parametrize("name", ["cg", "bicgstab", "gmres"])
@pytest.mark.parametrize("preconditioned", [False, True])
def test_iterative_solvers_solve(name, preconditioned, dtype):
    a = sample((6, 6), dtype) / 3
    a = a @ a.T + 2 * np.eye(6, dtype=dtype) if name == "cg" else a + 2 * np.eye(6, dtype=dtype)
    b = sample((6,), dtype)
    options = {"tol": 1e-6 if dtype == "float32" else 1e-12}
    if preconditioned:
        options["M"] = np.diag(1 / np.diag(a))
    solver = getattr(solvers, name)
    x, info = solver(a, b, **options)
    assert info == (0 if name == "gmres" else None)
    close(x, np.linalg.solve(a.astype(float), b.astype(float)), dtype)
    close(jit(lambda b: solver(a, b, **options)[0])(b), x, dtype)
    close(vmap(lambda b: solver(a, b, **options)[0])(np.stack([b, -b]))[1], -x, dtype)
    tree = {"u": b[:2], "v": b[2:]}
    join = lambda t: jnp.concatenate([t["u"], t["v"]])  # noqa: E731
    matvec = lambda t: {"u": (a @ join(t))[:2], "v": (a @ join(t))[2:]}  # noqa: E731
    out = solver(matvec, tree, tol=options["tol"])[0]
    close(join(out), x, dtype)


@pytest.mark.parametrize("kind", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("restart", [2, 20])
def test_spaces_that_grow_give_the_same_solution(kind, restart):
    with enable_x64(kind in ("float64", "complex128")):
        rng = np.random.default_rng(3)
        a, b = rng.normal(size=(6, 6)) / 3 + 2 * np.eye(6), rng.normal(size=6)
        if np.dtype(kind).kind == "c":
            a, b = a + 0.3j * rng.normal(size=(6, 6)), b + 1j * rng.normal(size=6)
        a, b = a.astype(kind), b.astype(kind)
        options = {"tol": 20 * np.finfo(kind).eps, "restart": restart}
        x, info = solvers.gmres(a, b, solve_method="incremental", **options)
        assert info == 0
        np.testing.assert_allclose(x, np.linalg.solve(a, b), rtol=1e3 * np.finfo(kind).eps)


def test_spaces_grow_until_the_residual_is_small_enough():
    a, b = np.diag(np.arange(1.0, 9)), np.ones(8)
    size = {}
    for method in ("batched", "incremental"):
        x, _ = solvers.gmres(a, b, tol=0.1, solve_method=method)
        size[method] = np.linalg.norm(b - a @ x) / np.linalg.norm(b)
    assert size["batched"] < 1e-4
    assert 1e-4 < size["incremental"] <= 0.1


@pytest.mark.parametrize("method", ["batched", "incremental"])
def test_singular_systems_are_solved_as_far_as_they_go(method):
    x, _ = solvers.gmres(np.diag([1.0, 0.0]), np.array([2.0, 0.0]), solve_method=method)
    np.testing.assert_allclose(x, [2, 0], atol=1e-6)


def test_gmres_says_that_it_failed():
    assert solvers.gmres(jnp.eye(2), jnp.array([1.0, jnp.nan]))[1] == -1


@pytest.mark.parametrize("name", ["cg", "bicgstab", "gmres"])
def test_slopes_of_solutions_are_those_of_the_exact_solve(name):
    with enable_x64(True):
        a = sample((4, 4), "float64") / 4
        a = a @ a.T + 2 * np.eye(4) if name == "cg" else a + 2 * np.eye(4)
        b = sample((4,), "float64")
        solver = getattr(solvers, name)
        found = grad(lambda b: solver(a, b, tol=1e-12)[0] @ jnp.arange(4.0))(b)
        np.testing.assert_allclose(found, np.linalg.solve(a.T, np.arange(4.0)), rtol=1e-8)
        symmetric = lambda s: solver(a + s * a, b, tol=1e-12)[0].sum()  # noqa: E731
        np.testing.assert_allclose(grad(symmetric)(0.0), -np.linalg.solve(a, b).sum(), rtol=1e-8)


@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("method", [None, "silverman", 0.7])
@pytest.mark.parametrize("weighted", [False, True])
def test_kernel_density_equals_scipy(rows, method, weighted, dtype):
    data, weights = sample((rows, 25), dtype), abs(sample((25,), dtype)) if weighted else None
    ours = gaussian_kde(data, method, weights)
    oracle = scipy.stats.gaussian_kde(
        data.astype(float), method, None if weights is None else weights.astype(float)
    )
    points = sample((rows, 7), dtype, 1)
    close(ours(points), oracle(points), dtype)
    close(jit(lambda k, p: k.logpdf(p))(ours, points), oracle.logpdf(points), dtype)
    close(ours.pdf(points), oracle.pdf(points), dtype)
    close(ours.covariance, oracle.covariance, dtype)
    close(ours.neff, oracle.neff, dtype)
    assert (ours.d, ours.n) == (rows, 25)
    mean, cov = np.full(rows, 0.2), np.eye(rows) + 0.1
    close(ours.integrate_gaussian(mean, cov), oracle.integrate_gaussian(mean, cov), dtype)
    close(ours.integrate_kde(ours), oracle.integrate_kde(oracle), dtype)
    if rows == 1:
        close(ours.integrate_box_1d(-1.0, 0.5), oracle.integrate_box_1d(-1.0, 0.5), dtype)
    draws = ours.resample(tans_random.key(0), (4000,))
    assert draws.shape == (rows, 4000)
    spread = 6 * np.sqrt(oracle.covariance[0, 0] + data.var()) / np.sqrt(4000)
    assert abs(draws[0].mean() - np.average(data[0], weights=weights)) < spread


def _kde(rows=1):
    return gaussian_kde(jnp.asarray(sample((rows, 5), "float32")))


def _grid(*options, **named):
    return interpolate.RegularGridInterpolator((jnp.arange(2.0),), jnp.ones(2), *options, **named)


BAD = {
    "type": (lambda: fft.dct(jnp.ones(3), 4), NotImplementedError, "type=4"),
    "norm": (lambda: fft.dct(jnp.ones(3), norm="x"), ValueError, "'x'"),
    "empty": (lambda: fft.dct(jnp.ones(0)), ValueError, "0 values"),
    "sizes": (lambda: fft.dctn(jnp.ones((2, 2)), s=(2,), axes=(0, 1)), ValueError, "1 sizes"),
    "vq": (lambda: vq.vq(jnp.ones((2, 3)), jnp.ones((2, 2))), ValueError, r"\(2, 2\)"),
    "method": (
        lambda: _grid("cubic"),
        ValueError, "cubic",
    ),
    "bounds": (
        lambda: _grid(bounds_error=True),
        NotImplementedError, "bounds_error",
    ),
    "grid": (
        lambda: interpolate.RegularGridInterpolator((jnp.arange(3.0),), jnp.ones(2)),
        ValueError, r"\(3,\)",
    ),
    "place": (
        lambda: _grid()(jnp.ones((1, 2))),
        ValueError, "1 coordinates",
    ),
    "call": (
        lambda: _grid()(0.5, "x"),
        ValueError, "'x'",
    ),
    "matrix": (lambda: solvers.cg(jnp.ones((2, 3)), jnp.ones(2)), ValueError, r"\(2, 3\)"),
    "guess": (lambda: solvers.cg(jnp.eye(2), jnp.ones(2), {"a": jnp.ones(2)}), ValueError, "x0"),
    "guess shape": (lambda: solvers.cg(jnp.eye(2), jnp.ones(2), jnp.ones(3)), ValueError, "x0"),
    "solve": (
        lambda: solvers.gmres(jnp.eye(2), jnp.ones(2), solve_method="x"), ValueError, "'x'",
    ),
    "one sample": (lambda: gaussian_kde(jnp.ones(1)), ValueError, "at least 2"),
    "weights": (lambda: gaussian_kde(jnp.arange(3.0), weights=jnp.ones(2)), ValueError, r"\(2,\)"),
    "bandwidth": (lambda: gaussian_kde(jnp.arange(3.0), "x"), ValueError, "'x'"),
    "places": (lambda: _kde(2)(jnp.ones((3, 2))), ValueError, r"\(3, 2\)"),
    "interval": (lambda: _kde(2).integrate_box_1d(0, 1), ValueError, "2 dimensions"),
    "normal": (lambda: _kde(2).integrate_gaussian(0.0, 1.0), ValueError, r"\(1,\)"),
    "other": (lambda: _kde(2).integrate_kde(_kde()), ValueError, "2 and 1"),
    "box": (lambda: _kde().integrate_box([0], [1]), NotImplementedError, "closed form"),
    "change": (lambda: _kde().set_bandwidth(1), NotImplementedError, "do not change"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_arguments_are_refused(name):
    call, error, fact = BAD[name]
    with pytest.raises(error, match=fact):
        call()
