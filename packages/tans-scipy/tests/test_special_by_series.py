"""Special functions that are summed or come from recurrences, against SciPy in float64."""

import numpy as np
import pytest
from scipy import special as sp

import tans_numpy as jnp
from tans_autodiff import grad, jvp
from tans_batching import vmap
from tans_core.config import enable_x64
from tans_scipy import special
from tans_xla import jit

REAL = np.array([-20, -5, -1.7, -1, -0.5, -1e-5, 0, 1e-6, 0.3, 0.9, 1, 1.5, 1.7, 3.9, 4.1, 7, 30])
UNIT = np.array([-8, -2, -1, -0.5, -0.1, 0, 0.2, 0.5, 0.85, 0.95, 0.99])
CASES = {
    "dawsn": [(REAL,)],
    "fresnel": [(REAL,)],
    "sici": [(REAL,)],
    "spence": [(REAL,)],
    "wofz": [(REAL[:, None] + 0.25j * REAL,)],
    "loggamma": [(REAL[:, None] + 1j * REAL + 0.01j,)],
    "expn": [(float(n), abs(REAL)) for n in (0, 1, 2, 3, 7, 20)],
    "owens_t": [(REAL, a) for a in (-3.0, -1.0, -0.3, 0.0, 0.5, 1.3, 10.0, np.inf)],
    "hyp1f1": [
        (*ab, REAL) for ab in ((0.5, 1.5), (1.0, 2.0), (2.5, 0.7), (-0.5, 1.2), (-2.0, 3.0))
    ],
    "hyp2f1": [
        (*abc, UNIT)
        for abc in ((0.5, 1.5, 2.3), (1.0, 1.0, 2.0), (-2.0, 3.0, 1.5), (2.5, 0.3, 4.1))
    ],
}
RTOL = {"float32": 2e-4, "float64": 1e-10}
LOOSE = {"hyp2f1": {"float32": 3e-3, "float64": 1e-7}}


@pytest.fixture(params=["float32", "float64"])
def dtype(request):
    with enable_x64(request.param == "float64"):
        yield request.param


def narrowed(args, dtype):
    kinds = {"c": np.result_type(dtype, np.complex64)}
    return [np.asarray(a).astype(kinds.get(np.asarray(a).dtype.kind, dtype)) for a in args]


def widened(args):
    return [a.astype(complex if a.dtype.kind == "c" else float) for a in args]


def check(out, expected, rtol):
    outs, wanted = (v if isinstance(v, tuple) else (v,) for v in (out, expected))
    for got, value in zip(outs, wanted, strict=True):
        np.testing.assert_allclose(got, value, rtol=rtol, atol=rtol / 100)


@pytest.mark.parametrize(
    ("name", "args"), [(n, a) for n, rows in CASES.items() for a in rows],
    ids=lambda v: v if isinstance(v, str) else "",
)  # fmt: skip
def test_values_equal_scipy(name, args, dtype):
    args = narrowed(args, dtype)
    rtol = LOOSE.get(name, RTOL)[dtype]
    function = getattr(special, name)
    expected = getattr(sp, name)(*widened(args))
    check(function(*args), expected, rtol)
    check(jit(function)(*args), expected, rtol)
    mapped = vmap(function, (None,) * (len(args) - 1) + (0,))
    if np.ndim(args[-1]) == 1:
        check(mapped(*args), expected, rtol)


@pytest.mark.parametrize("a", [0.0, -1.0, -3.0])
@pytest.mark.parametrize("b", [1.5, 4.0])
def test_polynomials_of_kummer_equal_scipy_far_out(a, b, dtype):
    x = np.array([-300, -60, -2, 0, 2, 49, 51, 70, 300], dtype)
    found = special.hyp1f1(x.dtype.type(a), x.dtype.type(b), x)
    check(found, sp.hyp1f1(a, b, x.astype(float)), 1e-5)


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ((0, 0, 2), 1), ((0, -1, -2), 1), ((0, 0, 60), 1), ((1, 0, 2), np.inf),
        ((-2, -1, 2), -np.inf), ((1.5, -1, 60), -np.inf), ((0.5, -2, 0), 1),
    ],
)  # fmt: skip
def test_series_that_end_before_a_pole(args, expected):
    assert special.hyp1f1(*map(np.float32, args)) == expected


@pytest.mark.parametrize(("args", "expected"), [
    ((-1, 1, -2, 0.5), 1.25), ((0, 1, -2, 0.5), 1), ((0, 0, 0, 0), 1), ((1, 1, 0, 0.5), np.inf),
])  # fmt: skip
def test_series_of_gauss_that_end_before_a_pole(args, expected):
    assert special.hyp2f1(*map(np.float32, args)) == expected


def test_slopes_of_polynomials_of_kummer():
    slope = grad(lambda x: special.hyp1f1(np.float32(-2), np.float32(3), x))(np.float32(500))
    np.testing.assert_allclose(slope, -2 / 3 + 2 * 500 / 12, rtol=1e-5)


@pytest.mark.parametrize("kind", ["float16", "float32"])
def test_tails_of_pairs_have_the_default_float(kind, dtype):
    assert special.owens_t(np.ones(2, kind), np.ones(2, kind)).dtype == dtype


@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 1, 3)], ids=str)
@pytest.mark.parametrize("name", ["dawsn", "fresnel", "sici", "spence", "wofz"])
def test_shapes_are_kept(name, shape):
    outs = getattr(special, name)(jnp.full(shape, 0.5))
    for out in outs if isinstance(outs, tuple) else (outs,):
        assert out.shape == shape


POINTS = np.array([0.31, 0.77, 1.6, 2.9, 5.3])
SLOPES = {
    "dawsn": (POINTS,), "spence": (POINTS,), "expn": (2.0, POINTS),
    "owens_t": (POINTS, 0.7), "hyp1f1": (0.7, 1.6, POINTS), "hyp2f1": (0.7, 1.2, 2.6, POINTS / 7),
}  # fmt: skip
VARIED = {"owens_t": (0, 1), "hyp1f1": (0, 1, 2), "hyp2f1": (0, 1, 2, 3), "expn": (1,)}


@pytest.mark.parametrize(
    ("name", "which"), [(n, k) for n in SLOPES for k in VARIED.get(n, (0,))], ids=str
)
def test_slopes_are_those_of_central_differences(name, which):
    with enable_x64(True):
        args = [np.broadcast_to(a, POINTS.shape).astype(float) for a in SLOPES[name]]
        dots = [np.ones_like(a) if k == which else np.zeros_like(a) for k, a in enumerate(args)]
        _, slope = jvp(getattr(special, name), tuple(args), tuple(dots))
        up, down = ([a + s * 1e-5 * d for a, d in zip(args, dots, strict=True)] for s in (1, -1))
        central = (getattr(sp, name)(*up) - getattr(sp, name)(*down)) / 2e-5
        np.testing.assert_allclose(slope, central, rtol=3e-6, atol=1e-8)


@pytest.mark.parametrize("name", ["fresnel", "sici"])
def test_slopes_of_pairs_are_those_of_central_differences(name):
    with enable_x64(True):
        for k in range(2):
            slope = vmap(grad(lambda x: getattr(special, name)(x)[k]))(POINTS)  # noqa: B023
            ends = [getattr(sp, name)(POINTS + h)[k] for h in (1e-5, -1e-5)]
            np.testing.assert_allclose(slope, (ends[0] - ends[1]) / 2e-5, rtol=1e-7, atol=1e-8)


def test_bernoulli_numbers_equal_scipy(dtype):
    out = special.bernoulli(30)
    np.testing.assert_allclose(out, sp.bernoulli(30), rtol=RTOL[dtype])
    assert out.dtype == dtype
    assert special.bernoulli(0).tolist() == [1.0]


@pytest.mark.parametrize("shape", [(), (0,), (17,), (2, 3, 1)], ids=str)
def test_bessel_functions_equal_scipy(shape, dtype):
    z = np.resize(REAL, shape).astype(dtype)
    expected = np.stack([sp.jv(k, z.astype(float)) for k in range(6)])
    function = lambda z: special.bessel_jn(z, v=5, n_iter=90)  # noqa: E731
    for out in (function(z), jit(function)(z)):
        np.testing.assert_allclose(out, expected, rtol=RTOL[dtype], atol=RTOL[dtype] / 10)


def test_slope_of_a_bessel_function():
    with enable_x64(True):
        slope = grad(lambda z: special.bessel_jn(z, v=0)[0])(1.3)
        np.testing.assert_allclose(slope, -sp.jv(1, 1.3), rtol=1e-10)


def test_spherical_harmonics_equal_scipy(dtype):
    n, m = np.array([0, 1, 1, 2, 3, 5, 5, 4, 2]), np.array([0, 0, -1, 2, -3, 1, -4, 4, 3])
    theta, phi = np.linspace(0.1, 3, 9).astype(dtype), np.linspace(-3, 3, 9).astype(dtype)
    expected = sp.sph_harm_y(n, m, theta.astype(float), phi.astype(float))
    np.testing.assert_allclose(
        special.sph_harm_y(n, m, theta, phi), expected, rtol=RTOL[dtype], atol=RTOL[dtype] / 10
    )
    out = jit(lambda *a: special.sph_harm_y(*a, n_max=5))(n, m, theta, phi)
    np.testing.assert_allclose(out, expected, rtol=RTOL[dtype], atol=RTOL[dtype] / 10)


@pytest.mark.parametrize(
    ("call", "error", "fact"),
    [
        (lambda: special.bernoulli(-1), ValueError, "n=-1"),
        (lambda: special.bessel_jn(1.0, v=-1), ValueError, "v=-1"),
        (lambda: special.bessel_jn(1.0, v=60), ValueError, "n_iter=50"),
        (lambda: special.sph_harm_y(1, 0, 0.1, 0.2, 1), NotImplementedError, "diff_n=1"),
        (lambda: special.sph_harm_y(1.5, 0, 0.1, 0.2), TypeError, "given n of type f32"),
        (lambda: special.sph_harm_y(1, 0.5, 0.1, 0.2), TypeError, "given m of type f32"),
        (lambda: special.dawsn(1j), ValueError, "real numbers"),
        (lambda: special.hyp2f1(1.0, 1.0, 2.0, 1j), ValueError, "real numbers"),
    ],
)
def test_bad_arguments_are_refused(call, error, fact):
    with pytest.raises(error, match=fact):
        call()
