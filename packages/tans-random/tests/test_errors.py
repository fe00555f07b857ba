"""Wrong arguments of samplers: the class of the error and the facts in its text."""

import numpy as np
import pytest

import tans_numpy as jnp
import tans_random as random
from tans_xla import jit

ERRORS = [
    (lambda k: random.normal(k, (1.5,)), TypeError, "1.5"),
    (lambda k: random.normal(k, (-1,)), ValueError, "-1"),
    (lambda k: jit(lambda n: random.normal(k, (n,)))(2), TypeError, "static"),
    (lambda k: random.normal(k, dtype=int), ValueError, "int32"),
    (lambda k: random.uniform(k, (2,), int), ValueError, "int32"),
    (
        lambda k: random.uniform(k, (2,), minval=jnp.zeros(3)),
        TypeError,
        "uniform: given the shapes",
    ),
    (lambda k: random.uniform(k, (7, 4), maxval=jnp.zeros(3)), TypeError, "(7, 4), (3,)"),
    (lambda k: random.uniform(k, (2,), minval=jnp.zeros((3, 4))), ValueError, "(2,), (3, 4)"),
    (lambda k: random.bits(k, dtype=int), ValueError, "unsigned"),
    (lambda k: random.randint(k, (2,), 0, 10, float), TypeError, "float32"),
    (lambda k: random.randint(k, (2,), 0, 2**40), OverflowError, "1099511627776"),
    (lambda k: random.randint(k, (2,), 0, jnp.arange(3)), ValueError, "broadcast"),
    (lambda k: random.randint(k, (2,), 0, 1j), TypeError, "real numbers"),
    (lambda k: random.permutation(k, 2.0), TypeError, "integer"),
    (lambda k: random.permutation(k, [1, 2]), TypeError, "list"),
    (lambda k: random.permutation(k, jnp.zeros((2, 3)), axis=2), ValueError, "axis=2"),
    (lambda k: random.bernoulli(k, 1), TypeError, "1.0"),
    (lambda k: random.bernoulli(k, 0.5, mode="x"), ValueError, "'x'"),
    (lambda k: random.bernoulli(k, jnp.zeros(2), (3,)), ValueError, "broadcast"),
    (lambda k: random.choice(k, 0, (2,)), ValueError, "0 elements"),
    (lambda k: random.choice(k, 3, (5,), replace=False), ValueError, "5 picks of 3"),
    (lambda k: random.choice(k, 3, (2,), p=jnp.ones(2)), ValueError, "3 elements"),
    (lambda k: random.choice(k, [1, 2]), TypeError, "list"),
    (lambda k: random.choice(k, 3, p=[0.5, 0.5]), TypeError, "list"),
    (lambda k: random.choice(k, jnp.zeros((2, 3)), axis=2), ValueError, "axis=2"),
    (lambda k: random.categorical(k, jnp.zeros(3), axis=1), IndexError, "axis=1"),
    (lambda k: random.categorical(k, jnp.zeros(3), shape=(4,), replace=False), ValueError, "4"),
    (lambda k: random.categorical(k, jnp.zeros((2, 3)), shape=(3,)), ValueError, "broadcast"),
    (lambda k: random.categorical(k, jnp.zeros(3, int)), ValueError, "int32"),
    (lambda k: random.categorical(k, [0.0, 1.0]), TypeError, "list"),
    (lambda k: random.gumbel(k, (2,), mode="x"), ValueError, "'x'"),
    (lambda k: random.gamma(k, 2.0, method="x"), ValueError, "'x'"),
    (lambda k: random.gamma(k, jnp.ones(2), (3,)), ValueError, "broadcast"),
    (lambda k: random.gamma(k, 2.0, dtype=int), ValueError, "int32"),
    (lambda k: random.dirichlet(k, 2.0), ValueError, "dimension"),
    (lambda k: random.dirichlet(k, jnp.ones((3, 2)), (4,)), ValueError, "broadcast"),
    (lambda k: random.poisson(k, 3.0, dtype=float), ValueError, "float32"),
    (lambda k: random.poisson(k, 3.0, method="x"), ValueError, "'x'"),
    (lambda k: random.binomial(k, 3, 0.5, dtype=int), ValueError, "int32"),
    (lambda k: random.multinomial(k, 3, 0.5), ValueError, "dimension"),
    (lambda k: random.multinomial(k, 3, jnp.ones((2, 2)) / 2, shape=(3,)), ValueError, "(3,)"),
    (lambda k: random.geometric(k, 0.5, dtype=float), ValueError, "float32"),
    (lambda k: random.multivariate_normal(k, jnp.zeros(3), jnp.eye(2)), ValueError, "(3,)"),
    (lambda k: random.multivariate_normal(k, 0.0, jnp.eye(2)), ValueError, "mean"),
    (
        lambda k: random.multivariate_normal(k, jnp.zeros(2), jnp.eye(2), method="x"),
        ValueError,
        "cholesky",
    ),
    (lambda k: random.orthogonal(k, -1), ValueError, "-1"),
    (lambda k: random.orthogonal(k, 2, dtype=int), ValueError, "int32"),
    (lambda k: random.orthogonal(k, 0, dtype=jnp.bfloat16), TypeError, "bfloat16"),
]


@pytest.mark.parametrize("i", range(len(ERRORS)))
def test_errors_of_samplers(i):
    use, error, text = ERRORS[i]
    with pytest.raises(error) as caught:
        use(random.key(0))
    assert text in str(caught.value)


@pytest.mark.parametrize("dtype", ["int8", "int32", "float16", "complex64", "bool"])
def test_counts_have_the_dtype_that_is_asked_for(dtype):
    p = np.array([0.2, 0.3, 0.5], np.float32)
    expected = random.multinomial(random.key(1), 10, p)
    found = random.multinomial(random.key(1), 10, p, dtype=dtype)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, np.asarray(expected).astype(dtype))


@pytest.mark.parametrize("m", [None, 3])
def test_orthogonal_matrices_without_rows(m):
    assert random.orthogonal(random.key(0), 0, (2,), m=m).shape == (2, 0, m or 0)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="nothing"):
        _ = random.nothing
    assert "normal" in dir(random)


def test_a_half_precision_scalar_is_a_float_parameter():
    assert random.bernoulli(random.key(0), np.float16(1.0)).item()
