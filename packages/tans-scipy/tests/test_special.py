"""Special functions against SciPy in double precision, with first and second derivatives."""

import numpy as np
import pytest
from scipy import special as sp

import tans_numpy as jnp
from tans_autodiff import grad, jvp, vjp
from tans_batching import vmap
from tans_scipy import special
from tans_xla import jit

RTOL = {"float32": 1e-5, "float64": 2e-12}
POSITIVE = np.array([0.02, 0.3, 0.9, 1.0, 1.7, 4.0, 9.5, 33.0])
REAL = np.array([-8.0, -2.5, -0.6, 0.0, 0.2, 1.0, 3.3, 7.0])
UNIT = np.array([1e-6, 0.02, 0.3, 0.5, 0.61, 0.9, 0.999, 0.75])
# Function, the points of its operands, whether it is checked to second order.
CASES = {
    "erf": (REAL,),
    "erfc": (REAL,),
    "erfinv": (UNIT * 0.999,),
    "erfcinv": (UNIT,),
    "erfcx": (np.array([-3.0, -0.5, 0.0, 1.0, 2.9, 3.1, 5.2, 100.0]),),
    "ndtr": (REAL,),
    "ndtri": (UNIT,),
    "log_ndtr": (np.array([-40.0, -10.0, -5.0, -1.0, -0.1, 0.3, 3.0, 6.0]),),
    "exp1": (np.array([1e-5, 0.37, 1.0, 2.0, 2.1, 5.0, 20.0, 41.0]),),
    "expi": (np.array([-20.0, -5.0, -2.0, -0.3, 0.37, 1.0, 20.0, 41.0]),),
    "gammaln": (POSITIVE,),
    "gamma": (np.array([-2.5, -0.5, 0.02, 0.3, 1.0, 1.7, 4.0, 9.5]),),
    "loggamma": (POSITIVE,),
    "digamma": (POSITIVE,),
    "factorial": (POSITIVE[:7],),
    "beta": (POSITIVE, POSITIVE[::-1].copy()),
    "betaln": (np.array([0.02, 0.3, 30.0, 1e4]), np.array([0.5, 40.0, 35.0, 2e4])),
    "betainc": (POSITIVE, POSITIVE[::-1].copy(), UNIT),
    "gammainc": (POSITIVE, POSITIVE[::-1].copy()),
    "gammaincc": (POSITIVE, POSITIVE[::-1].copy()),
    "zeta": (np.array([1.5, 2.0, 3.3, 8.0]), np.array([0.5, 1.0, 2.5, 10.0])),
    "poch": (POSITIVE[:6], np.array([0.0, 1.0, 2.0, 3.0, 0.5, 2.5])),
    "comb": (np.array([5.0, 10.0, 3.0, 20.0]), np.array([2.0, 0.0, 4.0, 10.0])),
    "xlogy": (np.array([0.0, 0.0, 1.5, 2.0]), np.array([0.0, 2.0, 0.5, 3.0])),
    "xlog1py": (np.array([0.0, 0.0, 1.5, 2.0]), np.array([-1.0, 2.0, 1e-9, 3.0])),
    "entr": (np.array([-1.0, 0.0, 0.3, 1.0, 4.0]),),
    "rel_entr": (np.array([0.0, 1.0, -1.0, 2.0]), np.array([0.0, 0.0, 1.0, 0.7])),
    "kl_div": (np.array([0.0, 1.0, -1.0, 2.0]), np.array([2.0, 0.0, 1.0, 0.7])),
    "logit": (UNIT,),
    "expit": (REAL,),
    "boxcox": (POSITIVE, np.array([0.0, 1.0, -1.0, 2.0, 0.5, 0.0, 0.1, -0.5])),
    "boxcox1p": (POSITIVE, np.array([0.0, 1.0, -1.0, 2.0, 0.5, 0.0, 0.1, -0.5])),
    "i0": (REAL,),
    "i0e": (POSITIVE,),
    "i1": (REAL,),
    "i1e": (POSITIVE,),
}
# Operands in which a derivative exists at all points above, and is checked.
SLOPES = {
    **dict.fromkeys(CASES, (0,)),
    "beta": (0, 1), "betaln": (0, 1), "xlog1py": (), "xlogy": (), "entr": (), "rel_entr": (),
    "kl_div": (), "zeta": (1,), "betainc": (2,), "gammainc": (1,), "gammaincc": (1,), "comb": (),
    "boxcox": (0,), "boxcox1p": (0,), "poch": (0,),
}  # fmt: skip


@pytest.mark.parametrize("dtype", RTOL)
@pytest.mark.parametrize("name", CASES)
def test_values_equal_scipy(name, dtype, x64):
    args = [a.astype(dtype) for a in CASES[name]]
    out = getattr(special, name)(*map(jnp.asarray, args))
    assert out.dtype == dtype
    expected = getattr(sp, name)(*(a.astype(np.float64) for a in args))
    rtol = RTOL[dtype] * (5 if name in ("gamma", "factorial", "betainc", "poch") else 1)
    np.testing.assert_allclose(out, expected, rtol=rtol, atol=rtol / 10)


@pytest.mark.parametrize("name", CASES)
def test_jit_and_vmap_change_nothing(name):
    f = getattr(special, name)
    args = [jnp.asarray(a, "float32") for a in CASES[name]]
    out = f(*args)
    np.testing.assert_allclose(jit(f)(*args), out, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(vmap(f)(*args), out, rtol=1e-6, atol=1e-6)


def _difference(f, args, i):
    h = 1e-6 * np.where(args[i] == 0, 1, np.abs(args[i]))
    ahead, behind = list(args), list(args)
    ahead[i], behind[i] = args[i] + h, args[i] - h
    return (np.asarray(f(*ahead)) - np.asarray(f(*behind))) / (2 * h)


@pytest.mark.parametrize(("name", "i"), [(n, i) for n in CASES for i in SLOPES[n]])
def test_derivatives_to_second_order(name, i, x64):
    f = getattr(special, name)
    args = [a[1:-1] for a in CASES[name]] if name in ("erfinv", "erfcx") else list(CASES[name])

    def slope(*values):
        x_dot = np.ones_like(args[i])
        return jvp(lambda v: f(*values[:i], v, *values[i + 1 :]), (values[i],), (x_dot,))[1]

    y_dot = np.asarray(slope(*args))
    np.testing.assert_allclose(y_dot, _difference(f, args, i), rtol=5e-6, atol=1e-7)
    y_bar = np.random.default_rng(0).normal(size=y_dot.shape)
    _, pull = vjp(lambda v: f(*args[:i], v, *args[i + 1 :]), args[i])
    np.testing.assert_allclose(pull(jnp.asarray(y_bar))[0], y_bar * y_dot, rtol=1e-12, atol=1e-300)
    if name in ("betainc", "gammainc", "gammaincc"):
        return
    second = jvp(
        lambda v: slope(*args[:i], v, *args[i + 1 :]), (args[i],), (np.ones_like(args[i]),)
    )
    np.testing.assert_allclose(second[1], _difference(slope, args, i), rtol=5e-6, atol=1e-6)


@pytest.mark.parametrize("x", [-1000.0, -40.0, -5.0])
def test_slopes_of_log_ndtr_keep_their_digits_in_the_tail(x):
    ratio = np.sqrt(2 / np.pi) / sp.erfcx(-x / np.sqrt(2))
    np.testing.assert_allclose(grad(special.log_ndtr)(np.float32(x)), ratio, rtol=1e-6)
    # The second derivative is -r (x + r); the asymptotic series of r is used where x + r cancels.
    far = 1 - 1 / x**2 + 6 / x**4
    second = ratio * (x + ratio) if x > -20 else far
    np.testing.assert_allclose(grad(grad(special.log_ndtr))(np.float32(x)), -second, rtol=2e-5)


def test_slopes_of_log_ndtr_vanish_far_right():
    assert grad(special.log_ndtr)(np.float32(200.0)) == 0
    assert grad(grad(special.log_ndtr))(np.float32(200.0)) == 0


def test_slopes_at_0_of_products_with_logarithms():
    assert grad(special.xlogy, 1)(0.0, 0.0) == 0
    assert grad(special.xlogy)(0.0, 2.0) == np.log(np.float32(2))
    assert grad(special.xlogy)(0.0, 0.0) == -np.inf
    assert grad(special.entr)(0.0) == np.inf
    assert jvp(lambda y: special.xlogy(0.0, y), (0.0,), (1.0,))[1] == 0
    np.testing.assert_allclose(grad(special.kl_div)(2.0, 3.0), np.log(2 / 3), rtol=1e-6)


def test_gamma_at_its_poles():
    x = np.array([-0.5, -1.5, 0.0, -0.0, -1.0], np.float32)
    np.testing.assert_array_equal(special.gammasgn(x), [-1, 1, 1, -1, np.nan])
    assert special.gamma(np.float32(-0.0)) == -np.inf
    assert special.factorial(-1.0) == 0


def test_tails_of_ndtri():
    p = np.array([0.0, 1e-30, 1.0, 2.0], np.float32)
    np.testing.assert_allclose(special.ndtri(p), [-np.inf, -11.464024, np.inf, np.nan], rtol=1e-6)


@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_polygamma_of_integer_order(n, x64):
    x = np.array([0.3, 1.0, 7.5])
    np.testing.assert_allclose(special.polygamma(n, x), sp.polygamma(n, x), rtol=1e-11)
    slope = vmap(grad(lambda v: special.polygamma(n, v)))(x)
    np.testing.assert_allclose(slope, sp.polygamma(n + 1, x), rtol=1e-10)


def test_multigammaln(x64):
    a = np.array([2.0, 3.5])
    np.testing.assert_allclose(special.multigammaln(a, 3), sp.multigammaln(a, 3), rtol=1e-12)


def test_softmax_over_all_axes(x64):
    x = np.arange(6.0).reshape(2, 3)
    np.testing.assert_allclose(special.softmax(x), sp.softmax(x), rtol=1e-12)
    np.testing.assert_allclose(special.log_softmax(x, axis=0), sp.log_softmax(x, 0), rtol=1e-12)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: special.polygamma(1.5, 1.0), ValueError),
        (lambda: special.factorial(5, exact=True), NotImplementedError),
        (lambda: special.log_ndtr(1.0, series_order=40), ValueError),
        (lambda: special.log_ndtr(1.0, series_order=1.5), TypeError),
        (lambda: special.entr(1j), ValueError),
    ],
)
def test_what_is_refused(call, error):
    with pytest.raises(error, match="given"):
        call()
