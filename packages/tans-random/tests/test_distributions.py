"""Samples against the distribution functions of SciPy (Kolmogorov-Smirnov and chi-square)."""

import numpy as np
import pytest
import scipy.stats as stats

import tans_numpy as jnp
import tans_random as random
from tans_batching import vmap
from tans_xla import jit

COUNT = 20_000
N = (COUNT,)

CONTINUOUS = {
    "uniform": (lambda k: random.uniform(k, N, None, -1.0, 3.0), stats.uniform(-1, 4)),
    "normal": (lambda k: random.normal(k, N), stats.norm()),
    "truncated_normal": (
        lambda k: random.truncated_normal(k, -0.5, 2.0, N),
        stats.truncnorm(-0.5, 2.0),
    ),
    "lognormal": (lambda k: random.lognormal(k, 0.7, N), stats.lognorm(0.7)),
    "maxwell": (lambda k: random.maxwell(k, N), stats.maxwell()),
    "double_sided_maxwell": (
        lambda k: random.double_sided_maxwell(k, 1.0, 2.0, N),
        lambda x: 0.5 + 0.5 * np.sign(x - 1) * stats.maxwell().cdf(np.abs(x - 1) / 2),
    ),
    "exponential": (lambda k: random.exponential(k, N), stats.expon()),
    "laplace": (lambda k: random.laplace(k, N), stats.laplace()),
    "logistic": (lambda k: random.logistic(k, N), stats.logistic()),
    "cauchy": (lambda k: random.cauchy(k, N), stats.cauchy()),
    "gumbel": (lambda k: random.gumbel(k, N), stats.gumbel_r()),
    "gumbel high": (lambda k: random.gumbel(k, N, mode="high"), stats.gumbel_r()),
    "pareto": (lambda k: random.pareto(k, 3.0, N), stats.pareto(3.0)),
    "rayleigh": (lambda k: random.rayleigh(k, 2.0, N), stats.rayleigh(scale=2.0)),
    "weibull_min": (
        lambda k: random.weibull_min(k, 2.0, 1.5, N),
        stats.weibull_min(1.5, scale=2.0),
    ),
    "triangular": (
        lambda k: random.triangular(k, -1.0, 0.5, 2.0, N),
        stats.triang(0.5, loc=-1, scale=3),
    ),
    "wald": (lambda k: random.wald(k, 2.0, N), stats.invgauss(2.0)),
    "gamma": (lambda k: random.gamma(k, 3.5, N), stats.gamma(3.5)),
    "gamma small": (lambda k: random.gamma(k, 0.4, N), stats.gamma(0.4)),
    "gamma approximate": (
        lambda k: random.gamma(k, 0.4, N, method="approximate"),
        stats.gamma(0.4),
    ),
    "loggamma": (lambda k: random.loggamma(k, 0.2, N), stats.loggamma(0.2)),
    "beta": (lambda k: random.beta(k, 0.7, 2.0, N), stats.beta(0.7, 2.0)),
    "dirichlet": (
        lambda k: random.dirichlet(k, jnp.array([1.0, 2.0, 0.5]), N)[:, 1],
        stats.beta(2.0, 1.5),
    ),
    "chisquare": (lambda k: random.chisquare(k, 3.0, N), stats.chi2(3.0)),
    "f": (lambda k: random.f(k, 3.0, 5.0, N), stats.f(3.0, 5.0)),
    "t": (lambda k: random.t(k, 3.0, N), stats.t(3.0)),
    "generalized_normal": (
        lambda k: random.generalized_normal(k, 3.0, N),
        stats.gennorm(3.0),
    ),
    "ball": (
        lambda k: jnp.sum(random.ball(k, 3, 2, N) ** 2, -1) ** 0.5,
        lambda r: np.clip(r, 0, 1) ** 3,
    ),
    "multivariate_normal": (
        lambda k: (
            random.multivariate_normal(k, jnp.zeros(2), jnp.array([[2.0, 1.0], [1.0, 3.0]]), N)
            @ jnp.array([1.0, -1.0])
        ),
        stats.norm(0, 3**0.5),
    ),
    "orthogonal": (
        # The first entry of a random unit vector in three dimensions is uniform.
        lambda k: random.orthogonal(k, 3, (2000,))[:, 0, 0],
        stats.uniform(-1, 2),
    ),
}

DISCRETE = {
    "randint": (lambda k: random.randint(k, N, -2, 5), stats.randint(-2, 5)),
    "randint uint8": (lambda k: random.randint(k, N, 0, 256, "uint8") // 32, stats.randint(0, 8)),
    "bernoulli": (lambda k: random.bernoulli(k, 0.3, N), stats.bernoulli(0.3)),
    "bernoulli high": (lambda k: random.bernoulli(k, 0.3, N, mode="high"), stats.bernoulli(0.3)),
    "geometric": (lambda k: random.geometric(k, 0.4, N), stats.geom(0.4)),
    "rademacher": (lambda k: (random.rademacher(k, N) + 1) // 2, stats.bernoulli(0.5)),
    "poisson": (lambda k: random.poisson(k, 4.0, N), stats.poisson(4.0)),
    "poisson large": (lambda k: random.poisson(k, 30.0, N), stats.poisson(30.0)),
    "poisson approximate": (
        lambda k: random.poisson(k, 4.0, N, method="approximate"),
        stats.poisson(4.0),
    ),
    "poisson approximate large": (
        lambda k: random.poisson(k, 30.0, N, method="approximate"),
        stats.poisson(30.0),
    ),
    "binomial": (lambda k: random.binomial(k, 12, 0.3, N), stats.binom(12, 0.3)),
    "binomial large": (lambda k: random.binomial(k, 60, 0.7, N), stats.binom(60, 0.7)),
    "multinomial": (
        lambda k: random.multinomial(k, 15, jnp.array([0.2, 0.5, 0.3]), shape=N)[:, 2],
        stats.binom(15, 0.3),
    ),
    "categorical": (
        lambda k: random.categorical(k, jnp.log(jnp.array([0.3, 0.7])), shape=N),
        stats.bernoulli(0.7),
    ),
    "choice": (
        lambda k: random.choice(k, 2, N, p=jnp.array([0.3, 0.7])),
        stats.bernoulli(0.7),
    ),
}


@pytest.mark.parametrize("name", list(CONTINUOUS))
def test_samples_have_the_distribution_function(name):
    sampler, distribution = CONTINUOUS[name]
    samples = np.asarray(jit(sampler)(random.key(17)), np.float64)
    cdf = distribution if callable(distribution) else distribution.cdf
    assert stats.kstest(samples, cdf).pvalue > 1e-3


@pytest.mark.parametrize("name", list(DISCRETE))
def test_samples_have_the_probabilities(name):
    sampler, distribution = DISCRETE[name]
    samples = np.asarray(jit(sampler)(random.key(17)), np.float64)
    values = np.arange(samples.min(), samples.max() + 1)
    expected = distribution.pmf(values) * len(samples)
    observed = (samples[:, None] == values).sum(0)
    enough = expected >= 10
    parts = [np.append(x[enough], x[~enough].sum() + 1) for x in (observed, expected)]
    assert stats.chisquare(*(p * len(samples) / p.sum() for p in parts)).pvalue > 1e-3


def test_choice_without_replacement_takes_weights_in_order():
    weights = np.array([0.1, 0.2, 0.3, 0.4])
    draw = jit(lambda k: random.choice(k, 4, (2,), replace=False, p=jnp.asarray(weights)))
    pairs = np.asarray(vmap(draw)(random.split(random.key(0), 5000)))
    assert (pairs[:, 0] != pairs[:, 1]).all()
    first = np.bincount(pairs[:, 0], minlength=4)
    assert stats.chisquare(first, weights * 5000).pvalue > 1e-3


def test_permutations_are_uniform():
    orders = np.asarray(vmap(lambda k: random.permutation(k, 3))(random.split(random.key(0), 6000)))
    _, counts = np.unique(orders, axis=0, return_counts=True)
    assert stats.chisquare(counts).pvalue > 1e-3
