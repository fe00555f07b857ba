"""Initializers: moments, dtypes, shapes, refusals."""

import numpy as np
import pytest

import tans_nn.initializers as init
import tans_numpy as jnp
import tans_random as random

SCALED = {
    "glorot_normal": lambda n_in, n_out: 2 / (n_in + n_out),
    "glorot_uniform": lambda n_in, n_out: 2 / (n_in + n_out),
    "lecun_normal": lambda n_in, n_out: 1 / n_in,
    "lecun_uniform": lambda n_in, n_out: 1 / n_in,
    "he_normal": lambda n_in, n_out: 2 / n_in,
    "he_uniform": lambda n_in, n_out: 2 / n_in,
}
KEY = 0


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
@pytest.mark.parametrize("name", SCALED)
def test_variance_follows_the_fans(name, dtype):
    x = np.asarray(getattr(init, name)()(random.key(0), (3, 60, 80), dtype))
    assert x.dtype == dtype
    np.testing.assert_allclose(np.var(x), SCALED[name](180, 240), rtol=0.05)
    assert abs(x.mean()) < 0.01


@pytest.mark.parametrize(
    ("mode", "fan"), [("fan_in", 30), ("fan_out", 50), ("fan_avg", 40), ("fan_geo_avg", 1500**0.5)]
)
def test_modes_with_batch_and_input_axes(mode, fan):
    f = init.variance_scaling(1.0, mode, "normal", in_axis=1, out_axis=2, batch_axis=(0,))
    np.testing.assert_allclose(
        np.var(np.asarray(f(random.key(1), (8, 30, 50)))), 1 / fan, rtol=0.05
    )


def test_plain_distributions():
    key = random.key(0)
    x = np.asarray(init.uniform(2.0)(key, (5000,)))
    assert 0 <= x.min() < 0.1
    assert 1.9 < x.max() < 2
    np.testing.assert_allclose(np.asarray(init.normal(2.0)(key, (5000,))).std(), 2, rtol=0.05)
    cut = np.asarray(init.truncated_normal(3.0)(key, (5000,)))
    assert abs(cut).max() <= 6
    np.testing.assert_array_equal(init.zeros(key, (2, 1)), np.zeros((2, 1)))
    np.testing.assert_array_equal(init.ones(key, (2,), "int8"), np.ones(2, np.int8))
    np.testing.assert_array_equal(init.constant(jnp.arange(2.0))(key, (3, 2))[1], [0, 1])


def test_dtype_of_the_initializer_and_of_the_call():
    assert init.normal(dtype="bfloat16")(random.key(0), (2,)).dtype == jnp.bfloat16
    assert init.he_normal(dtype="bfloat16")(random.key(0), (2, 2), "float32").dtype == np.float32


def test_values_of_jax_for_the_same_key():
    key = random.key(0)
    for f, expected in [
        (init.normal(), [0.01622642, 0.02025265, -0.00433594]),
        (init.uniform(), [0.00947667, 0.0097858, 0.00332291]),
        (init.truncated_normal(), [0.01455959, 0.01714749, -0.00412675]),
        (init.glorot_uniform(), [0.9807893, 1.048516, -0.36743096]),
        (init.lecun_normal(), [1.1704054, 1.3784391, -0.3317383]),
    ]:
        np.testing.assert_allclose(f(key, (2, 3)).ravel()[:3], expected, rtol=1e-5)


def test_orthogonal_rows_or_columns():
    for shape, axis in [((5, 3), -1), ((3, 5), -1), ((2, 3, 4), 0)]:
        x = np.asarray(init.orthogonal(2.0, axis)(random.key(0), shape))
        m = np.moveaxis(x, axis, -1).reshape(-1, shape[axis])
        product = m @ m.T if m.shape[0] < m.shape[1] else m.T @ m
        np.testing.assert_allclose(product, 4 * np.eye(len(product)), atol=1e-5)


def test_delta_orthogonal_is_orthogonal_at_the_centre():
    x = np.array(init.delta_orthogonal()(random.key(0), (3, 3, 2, 4)))
    np.testing.assert_allclose(x[1, 1] @ x[1, 1].T, np.eye(2), atol=1e-5)
    x[1, 1] = 0
    assert not x.any()


@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (lambda: init.glorot_normal(), (3,)),
        (lambda: init.variance_scaling(1.0, "fan", "normal"), (3, 2)),
        (lambda: init.variance_scaling(1.0, "fan_in", "cauchy"), (3, 2)),
        (lambda: init.orthogonal(), (3,)),
        (lambda: init.delta_orthogonal(), (3, 4, 2)),
    ],
)
def test_refusals(make, shape):
    with pytest.raises(ValueError, match="given"):
        make()(random.key(0), shape)
