"""What holds for every sampler: vmap is a loop, jit changes nothing, shapes and dtypes are kept."""

import numpy as np
import pytest

import tans_numpy as jnp
import tans_random as random
from tans_batching import vmap
from tans_xla import jit

COV = np.array([[2.0, 1.0], [1.0, 3.0]], np.float32)

# Name to a function of key and shape; results have the shape, plus vector dimensions.
SAMPLERS = {
    "bits": random.bits,
    "uniform": lambda k, s: random.uniform(k, s, None, -1.0, 2.0),
    "normal": random.normal,
    "complex normal": lambda k, s: random.normal(k, s, "complex64"),
    "bfloat16 normal": lambda k, s: random.normal(k, s, "bfloat16"),
    "truncated_normal": lambda k, s: random.truncated_normal(k, -1.0, 1.0, s),
    "randint": lambda k, s: random.randint(k, s, 0, 9),
    "bernoulli": lambda k, s: random.bernoulli(k, 0.4, s),
    "gumbel": random.gumbel,
    "categorical": lambda k, s: random.categorical(k, jnp.zeros(3), shape=s),
    "cauchy": random.cauchy,
    "gamma": lambda k, s: random.gamma(k, 0.5, s),
    "loggamma": lambda k, s: random.loggamma(k, 0.5, s),
    "beta": lambda k, s: random.beta(k, 0.5, 2.0, s),
    "dirichlet": lambda k, s: random.dirichlet(k, jnp.ones(3), s),
    "poisson": lambda k, s: random.poisson(k, 12.0, s),
    "binomial": lambda k, s: random.binomial(k, 40, 0.5, s),
    "multinomial": lambda k, s: random.multinomial(k, 9, jnp.array([0.5, 0.5]), shape=s),
    "choice": lambda k, s: random.choice(k, 30, s, replace=False),
    "wald": lambda k, s: random.wald(k, 2.0, s),
    "multivariate_normal": lambda k, s: random.multivariate_normal(k, jnp.zeros(2), COV, s),
    "ball": lambda k, s: random.ball(k, 2, 2, s),
    "rademacher": random.rademacher,
}


def same(x, y):
    x, y = np.asarray(x), np.asarray(y)
    assert (x.shape, x.dtype) == (y.shape, y.dtype)
    if x.dtype.kind in "iub":
        np.testing.assert_array_equal(x, y)
    else:
        # One program may contract a product and a sum where the other does not.
        kind = np.complex128 if x.dtype.kind == "c" else np.float64
        np.testing.assert_allclose(x.astype(kind), y.astype(kind), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", list(SAMPLERS))
def test_jit_and_vmap_change_nothing(name):
    sampler = SAMPLERS[name]
    keys = random.split(random.key(5), 2)
    each = [sampler(k, (3, 2)) for k in keys]
    same(jit(lambda k: sampler(k, (3, 2)))(keys[0]), each[0])
    same(vmap(lambda k: sampler(k, (3, 2)))(keys), np.stack(each))
    raw = random.key_data(keys)
    same(sampler(raw[0], (3, 2)), each[0])


@pytest.mark.parametrize("name", list(SAMPLERS))
def test_shapes_start_with_the_shape_that_was_asked_for(name):
    for shape in ((), (0,), (5,)):
        assert SAMPLERS[name](random.key(1), shape).shape[: len(shape)] == shape


def test_vmap_of_parameters_is_a_loop():
    key, a = random.key(2), jnp.array([0.5, 2.0, 9.0])
    each = [random.gamma(key, x, (2,)) for x in a]
    same(vmap(lambda a: random.gamma(key, a, (2,)))(a), np.stack(each))
    keys = random.split(key, 3)
    each = [random.gamma(k, x) for k, x in zip(keys, a, strict=True)]
    same(vmap(random.gamma)(keys, a), np.stack(each))


def test_a_split_extends_a_shorter_one():
    long, short = (random.key_data(random.split(random.key(9), n)) for n in (7, 4))
    np.testing.assert_array_equal(long[:4], short)
    folded = random.key_data(random.fold_in(random.key(9), 6))
    np.testing.assert_array_equal(folded, long[6])


# Values of JAX for parameters at or beyond the limits, and for narrow dtypes.
EDGES = [
    (lambda k: random.gamma(k, 0.0), 0.0),
    (lambda k: random.gamma(k, -1.0), np.nan),
    (lambda k: random.gamma(k, jnp.nan), np.nan),
    (lambda k: random.gamma(k, jnp.inf), np.inf),
    (lambda k: random.loggamma(k, 1e-3, (2,)), [-110.61791229248047, -95.5480728149414]),
    (lambda k: random.binomial(k, -1, 0.3), np.nan),
    (lambda k: random.binomial(k, 10.0, -0.3), np.nan),
    (lambda k: random.binomial(k, jnp.inf, 0.3), np.inf),
    (lambda k: random.binomial(k, 1000, jnp.array([0.3, 0.9, 0.01])), [279.0, 904.0, 12.0]),
    (lambda k: random.poisson(k, jnp.array([-1.0, 0.0, jnp.nan])), [-1, 0, -1]),
    (lambda k: random.poisson(k, jnp.array([3.0, 50.0, 1e6])), [0, 47, 998713]),
    (
        lambda k: random.poisson(k, jnp.array([3.0, 50.0, 1e6]), method="approximate"),
        None,
    ),
    (lambda k: random.truncated_normal(k, 2.0, 1.0), 0.9999999403953552),
    (lambda k: random.geometric(k, 1.0), 1),
    (lambda k: random.rayleigh(k, 0.0), 0.0),
    (lambda k: random.ball(k, 2, jnp.inf), [1.0, 1.0]),
    (lambda k: random.randint(k, (3,), 0, 5, "uint16"), [4, 0, 2]),
    (lambda k: random.randint(k, (3,), -100, 100, "int8"), [89, -100, 12]),
    (lambda k: random.randint(k, (4,), -10, 257, "uint8"), [101, 80, 200, 61]),
    (lambda k: random.randint(k, (4,), 0, 128, "int8"), [101, 80, 72, 61]),
    (lambda k: random.randint(k, (2,), 2.7, 9.9), [3, 4]),
    (lambda k: random.gumbel(k, (3,), "float16"), [-0.1561279296875, -0.436279296875, -1.06640625]),
    (lambda k: random.gamma(k, 2.0, (3,), "float16"), [1.5078125, 0.9580078125, 1.029296875]),
    (lambda k: random.uniform(k, (3,), "float8_e4m3fn"), [0.625, 0.5, 0.125]),
    (lambda k: random.rademacher(k, (3,), bool), [True, True, True]),
    (
        lambda k: random.gamma(k, 2.5, (3,), method="approximate"),
        [3.6340057849884033, 2.825835704803467, 2.1647870540618896],
    ),
    (lambda k: random.double_sided_maxwell(k, jnp.zeros(3), 1.0), None),
]


@pytest.mark.parametrize("i", range(len(EDGES)))
def test_limits_and_narrow_dtypes_are_those_of_jax(i):
    sampler, expected = EDGES[i]
    out = np.asarray(sampler(random.key(0))).astype(np.float64)
    if expected is not None:
        np.testing.assert_allclose(out, expected, rtol=2e-6)


def test_an_empty_shape_of_two_sided_maxwell_numbers_stands_for_that_of_the_parameters():
    assert random.double_sided_maxwell(random.key(0), jnp.zeros(3), 1.0).shape == (3, 3)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_factors_of_a_covariance_keep_their_dtype_for_narrow_samples(dtype):
    found = random.multivariate_normal(random.key(0), np.zeros(2), np.eye(2), (3,), dtype=dtype)
    z = random.normal(random.key(0), (3, 2), dtype)
    assert found.dtype == np.float32
    # A compiler may keep the digits of a narrow number until it is stored.
    np.testing.assert_allclose(found, z.astype(np.float32), rtol=2.0**-8)
