"""Block-scaled products against NumPy."""

import numpy as np
import pytest

import tans_nn as nn
import tans_numpy as jnp


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float32"])
def test_values(dtype):
    rng = np.random.default_rng(0)
    a, b = rng.integers(-4, 5, size=(2, 3, 8)), rng.integers(-4, 5, size=(2, 5, 8))
    s, t = 2.0 ** rng.integers(-2, 3, size=(2, 3, 2)), 2.0 ** rng.integers(-2, 3, size=(2, 5, 2))
    expected = np.einsum("bmk,bnk->bmn", a * np.repeat(s, 4, 2), b * np.repeat(t, 4, 2))
    operands = [jnp.asarray(x, dtype) for x in (a, b)]
    out = nn.scaled_matmul(*operands, jnp.asarray(s, "float32"), jnp.asarray(t, "float32"))
    np.testing.assert_allclose(out, expected, rtol=1e-6)
    half = nn.scaled_matmul(*operands, jnp.asarray(s), jnp.asarray(t), jnp.bfloat16)
    assert half.dtype == jnp.bfloat16


@pytest.mark.parametrize(
    "shapes",
    [
        ((2, 8), (1, 3, 8), (1, 2, 2), (1, 3, 2)),
        ((1, 2, 8), (1, 3, 4), (1, 2, 2), (1, 3, 2)),
        ((1, 2, 8), (1, 3, 8), (1, 2, 3), (1, 3, 3)),
        ((1, 2, 8), (1, 3, 8), (1, 2, 1), (1, 3, 2)),
    ],
)
def test_shapes_that_do_not_fit_are_refused(shapes):
    with pytest.raises(ValueError, match="scaled_matmul"):
        nn.scaled_matmul(*map(jnp.ones, shapes))
