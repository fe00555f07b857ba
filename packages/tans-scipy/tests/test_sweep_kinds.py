"""Kinds of faults that a wide sweep of calls found: edges of domains, half precision, batches."""

import numpy as np
import pytest
import scipy.fft
import scipy.linalg
import scipy.special
import scipy.stats

import tans_numpy as jnp
from tans_scipy import fft, image, linalg, special, stats


@pytest.mark.parametrize("name", ["gammainc", "gammaincc"])
def test_incomplete_gamma_at_order_zero(name):
    x = np.array([0, 0.5, 1, 30], np.float32)
    expected = getattr(scipy.special, name)(np.zeros(4), x)
    np.testing.assert_array_equal(getattr(special, name)(np.zeros(4, np.float32), x), expected)


def test_incomplete_beta_with_a_parameter_of_zero():
    a, b = np.array([[0, 1, 0, 1], [1, 0, 0, 1]], np.float32)
    for x in np.array([0.0, 0.25, 1.0], np.float32):
        expected = scipy.special.betainc(a, b, x)
        if x == 0:
            expected[0] = 1  # SciPy has 0 here, the limit of large b and not of small a
        np.testing.assert_allclose(special.betainc(a, b, x), expected, rtol=1e-6)


def test_sign_of_gamma_of_nan_is_nan():
    assert np.isnan(special.gammasgn(np.float32(np.nan)))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize(("name", "low", "high"), [("erfcinv", 0.1, 1.9), ("ndtri", 0.05, 0.95)])
def test_inverse_tails_in_half_precision(name, low, high, dtype):
    import ml_dtypes

    kind = np.dtype(getattr(ml_dtypes, dtype) if dtype == "bfloat16" else dtype)
    x = np.linspace(low, high, 9).astype(kind)
    found = getattr(special, name)(x)
    assert found.dtype == kind
    expected = getattr(scipy.special, name)(x.astype(float))
    np.testing.assert_allclose(np.asarray(found, float), expected, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_gauss_function_in_half_precision(dtype):
    import ml_dtypes

    x = np.linspace(0.1, 0.9, 5).astype(getattr(ml_dtypes, dtype, dtype))
    found = special.hyp2f1(x, x, x + 1, x)
    assert found.dtype == x.dtype
    wide = x.astype(float)
    expected = scipy.special.hyp2f1(wide, wide, (x + 1).astype(float), wide)
    np.testing.assert_allclose(np.asarray(found, float), expected, rtol=1e-2)


@pytest.mark.parametrize("method", ["linear", "cubic", "lanczos3", "lanczos5"])
def test_images_in_half_precision(method):
    import ml_dtypes

    x = np.random.default_rng(0).normal(size=(4, 6)).astype(ml_dtypes.bfloat16)
    found = image.resize(x, (8, 12), method)
    assert found.dtype == x.dtype
    wide = image.resize(x.astype(np.float32), (8, 12), method)
    np.testing.assert_allclose(np.asarray(found, float), wide, atol=0.03)


@pytest.mark.parametrize("method", ["average", "min", "max", "dense", "ordinal"])
def test_ranks_are_floats(method):
    x = np.array([3, 1, 1, 2])
    found = stats.rankdata(x, method)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, scipy.stats.rankdata(x, method))


def test_beta_with_parameters_that_are_not_positive():
    a, b = np.array([[0, 1.5, 0, -1, 2], [1.5, 0, 0, 2, -1]], np.float32)
    for x in np.array([0.0, 0.5, 1.0], np.float32):
        assert np.isnan(stats.beta.pdf(x, a, b)).all()
        assert np.isnan(stats.beta.cdf(x, a, b)[2:]).all()
    # A parameter of 0 puts all on one end.
    np.testing.assert_array_equal(stats.beta.cdf(np.float32([0, 0.5, 1]), 0.0, 1.5), [0, 1, 1])
    np.testing.assert_array_equal(stats.beta.sf(np.float32([0, 0.5, 1]), 1.5, 0.0), [1, 1, 0])


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_bernoulli_quantiles_keep_the_dtype(dtype):
    found = stats.bernoulli.ppf(np.array([0.3, 1.0, 1.5], dtype), 0.3)
    assert (found.dtype, found.weak_type) == (dtype, False)
    np.testing.assert_array_equal(found, [0, 1, np.nan])


def test_pareto_quantiles_without_a_shape():
    np.testing.assert_array_equal(
        stats.pareto.ppf(np.float32([0, 0.5, 1]), 0.0), [1, np.inf, np.inf]
    )


@pytest.mark.parametrize(
    "name", ["bernoulli", "cauchy", "expon", "gumbel_l", "gumbel_r", "norm", "pareto", "uniform"]
)
def test_quantiles_of_no_probability_are_nan(name):
    q = np.array([-0.5, 2.0, 0.25], np.float32)
    found = getattr(stats, name).ppf(q, *{"bernoulli": [0.5], "pareto": [2.0]}.get(name, []))
    np.testing.assert_array_equal(np.isnan(found), [True, True, False])


@pytest.mark.parametrize("name", ["cauchy", "expon", "gumbel_l", "logistic", "norm", "uniform"])
def test_distributions_refuse_complex_numbers(name):
    with pytest.raises(TypeError, match="given c64"):
        getattr(stats, name).pdf(1j)


@pytest.mark.parametrize("c", [0.0, 0.5, 1.0, 1.5])
def test_wrapped_cauchy_has_a_parameter_between_0_and_1(c):
    expected = scipy.stats.wrapcauchy.pdf(1.0, c)
    np.testing.assert_allclose(stats.wrapcauchy.pdf(np.float32(1), np.float32(c)), expected, 1e-5)


def test_permutations_are_real():
    x = np.random.default_rng(0).normal(size=(3, 4)) + 1j
    permutation, lower, upper = linalg.lu(x.astype(np.complex64))
    assert permutation.dtype == np.float32
    np.testing.assert_allclose(permutation @ lower @ upper, x, rtol=1e-5)


@pytest.mark.parametrize("name", ["toeplitz", "hankel"])
@pytest.mark.parametrize("shape", [(3,), (2, 3), (2, 1, 3)])
def test_matrices_of_diagonals_in_batches(name, shape):
    c = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    r = np.random.default_rng(1).normal(size=4).astype(np.float32)
    found = getattr(linalg, name)(c, r)
    rows = [getattr(scipy.linalg, name)(row, r) for row in c.reshape(-1, 3)]
    np.testing.assert_array_equal(found, np.reshape(rows, (*shape[:-1], 3, 4)))


def test_complex_operands_are_refused():
    with pytest.raises(TypeError, match=r"ndtr: given c64\[\], expected real numbers"):
        special.ndtr(1j)


@pytest.mark.parametrize("shape", [(3, 5), (5, 3), (2, 3, 4)])
def test_factors_of_matrices_that_are_not_square(shape):
    a = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    factors, pivots = linalg.lu_factor(a)
    assert pivots.shape == (*shape[:-2], min(shape[-2:]))
    stacks = (x.reshape(-1, *shape[-2:]) for x in (factors, a))
    for one, expected in zip(*stacks, strict=True):
        wanted = scipy.linalg.lu_factor(expected)[0]
        np.testing.assert_allclose(one, wanted, atol=1e-5)
    with pytest.raises(TypeError, match=r"lu_factor.*\(3,\)"):
        linalg.lu_factor(np.ones(3))


@pytest.mark.parametrize("name", ["companion", "fiedler"])
@pytest.mark.parametrize("dtype", [np.int32, np.float32])
def test_matrices_of_several_vectors(name, dtype):
    a = np.array([[2, 5, 3], [4, 1, 7]], dtype)
    expected = [getattr(scipy.linalg, name)(row.astype(float)) for row in a]
    np.testing.assert_allclose(getattr(linalg, name)(a), expected, rtol=1e-6)


def test_roots_of_several_matrices_are_refused():
    with pytest.raises(ValueError, match=r"sqrtm.*\(2, 3, 3\)"):
        linalg.sqrtm(np.ones((2, 3, 3), np.float32))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", ["dct", "idct", "dctn", "idctn"])
def test_cosine_transforms_of_half_precision_are_float32(name, dtype):
    x = jnp.arange(6.0).astype(dtype)
    found = getattr(fft, name)(x)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, getattr(scipy.fft, name)(np.arange(6.0)), atol=1e-4)


@pytest.mark.parametrize(
    "name",
    """beta betaln boxcox boxcox1p comb gammainc gammaincc kl_div rel_entr xlogy xlog1py zeta poch
    owens_t""".split(),
)
def test_shapes_of_one_rank_that_do_not_broadcast(name):
    for shape, error in (((4,), TypeError), ((4, 5), ValueError)):
        with pytest.raises(error, match=rf"{name}: given the shapes \(3,\), \(4,"):
            getattr(special, name)(np.ones(3, np.float32), np.ones(shape, np.float32))


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda x, y: special.expn(x, y), ValueError),
        (lambda x, y: special.hyp1f1(x, x, y), ValueError),
        (lambda x, y: special.hyp2f1(x, x, x, y), ValueError),
        (lambda x, y: stats.truncnorm.cdf(x, x, y), ValueError),
        (lambda x, y: stats.norm.pdf(x, y), TypeError),
        (lambda x, y: stats.gamma.cdf(x, y), TypeError),
        (lambda x, y: stats.binom.pmf(x, x, y), TypeError),
    ],
)
def test_shapes_of_one_rank_that_do_not_broadcast_raise_as_they_are_used(call, error):
    with pytest.raises(error, match="do not broadcast"):
        call(np.ones(3, np.float32), np.ones(4, np.float32))
    with pytest.raises(ValueError, match="do not broadcast"):
        call(np.ones(3, np.float32), np.ones((4, 5), np.float32))


@pytest.mark.parametrize(("shape", "side"), [((4, 3), "right"), ((3, 4), "left")])
def test_bounds_of_the_iteration_of_polar_forms(shape, side):
    a = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    expected = scipy.linalg.polar(a, side)
    for found, wanted in zip(linalg.polar(a, side, max_iterations=12), expected, strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-5)
    u, _ = linalg.polar(a, side, max_iterations=0)
    assert np.abs(u - expected[0]).max() > 0.1
    other = "left" if side == "right" else "right"
    with pytest.raises(NotImplementedError, match=r"max_iterations=3 .*Leave the bounds out"):
        linalg.polar(a, other, max_iterations=3)
    with pytest.raises(ValueError, match=r"eps=0\.1 for method='svd'"):
        linalg.polar(a, side, method="svd", eps=0.1)


def test_determinants_keep_a_weak_type_and_toeplitz_ends_it():
    a = jnp.array([[2, 1], [1, 3]]) * 0.5
    assert linalg.det(a).weak_type
    np.testing.assert_allclose(linalg.det(a), 1.25, rtol=1e-6)
    assert not linalg.toeplitz(a[0]).weak_type
