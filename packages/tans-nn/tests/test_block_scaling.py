"""Products with operands rounded to block-scaled formats."""

import ml_dtypes
import numpy as np
import pytest

import tans_nn as nn
import tans_numpy as jnp
from tans_autodiff import grad
from tans_core import config_module as config
from tans_xla import jit

MODES = {
    "mxfp8": (32, "float8_e4m3fn"),
    "mxfp4": (32, "float4_e2m1fn"),
    "nvfp4": (16, "float4_e2m1fn"),
}
LAST = (((2,), (2,)), ((0,), (0,)))


def sample(shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def rounded(x, mode):
    """Round in float64, by the definition of the formats."""
    block, data = MODES[mode]
    blocks = x.astype(float).reshape(*x.shape[:-1], -1, block)
    largest = float(ml_dtypes.finfo(data).max)
    scale = np.abs(blocks).max(-1, keepdims=True) / largest
    if mode == "nvfp4":
        scale = scale.astype(ml_dtypes.float8_e4m3fn).astype(float)
    else:
        scale = 2.0 ** np.ceil(np.log2(scale))
    narrow = np.clip(blocks / scale, -largest, largest).astype(np.dtype(data)).astype(float)
    return (narrow * scale).reshape(x.shape)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shapes", [((2, 3, 64), (2, 5, 64)), ((1, 1, 32), (1, 2, 32))], ids=str)
def test_product_is_that_of_the_rounded_operands(mode, shapes):
    x, y = sample(shapes[0]), sample(shapes[1], 1)
    settings = [nn.get_scaled_dot_general_config(mode)] * 3
    product = lambda x, y: nn.scaled_dot_general(x, y, LAST, configs=settings)  # noqa: E731
    expected = np.einsum("bmk,bnk->bmn", rounded(x, mode), rounded(y, mode))
    np.testing.assert_allclose(product(x, y), expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(jit(product)(x, y), expected, rtol=1e-5, atol=1e-5)


def test_contracted_and_batch_dimensions_may_lie_anywhere():
    x, y = sample((8, 3, 2, 4)), sample((2, 4, 5, 8), 1)
    dims = (((0, 3), (3, 1)), ((2,), (0,)))
    settings = [nn.get_scaled_dot_general_config("mxfp8")] * 3
    out = nn.scaled_dot_general(x, y, dims, configs=settings)
    exact = np.einsum("kabj,bjck->bac", x, y)
    assert out.shape == (2, 3, 5)
    np.testing.assert_allclose(out, exact, atol=0.6)
    plain = nn.scaled_dot_general(x, y, dims, jnp.bfloat16)
    assert plain.dtype == jnp.bfloat16
    np.testing.assert_allclose(np.asarray(plain, float), exact, rtol=1e-2, atol=0.1)


def test_slopes_are_those_of_the_exact_product():
    x, y = sample((1, 2, 32)), sample((1, 3, 32), 1)
    settings = [nn.get_scaled_dot_general_config("mxfp8")] * 3
    loss = lambda x: nn.scaled_dot_general(x, y, LAST, configs=settings).sum()  # noqa: E731
    np.testing.assert_allclose(grad(loss)(x), np.broadcast_to(y.sum(1), x.shape), rtol=1e-5)


def test_blocks_of_zeros_and_a_global_scale():
    x = np.zeros((1, 2, 32), np.float32)
    settings = [nn.get_scaled_dot_general_config("nvfp4", jnp.float32(0.5))] * 3
    assert np.all(nn.scaled_dot_general(x, x, LAST, configs=settings) == 0)
    ones = np.ones((1, 2, 32), np.float32)
    np.testing.assert_allclose(
        nn.scaled_dot_general(ones, ones, LAST, configs=settings), 32.0, rtol=0.1
    )


def test_bad_settings_are_refused():
    with pytest.raises(ValueError, match="'x'"):
        nn.get_scaled_dot_general_config("x")
    with pytest.raises(ValueError, match="mxfp8"):
        nn.get_scaled_dot_general_config("mxfp8", jnp.ones(1))
    one = nn.get_scaled_dot_general_config("mxfp8")
    with pytest.raises(ValueError, match="1 configs"):
        nn.scaled_dot_general(jnp.ones((1, 1, 32)), jnp.ones((1, 1, 32)), LAST, configs=[one])
    with pytest.raises(ValueError, match="30 contracted"):
        nn.scaled_dot_general(jnp.ones((1, 1, 30)), jnp.ones((1, 1, 30)), LAST, configs=[one] * 3)


def test_vectors_of_the_specification():
    assert repr(nn.softmax(jnp.array([1.0, jnp.inf]))) == "Array([nan, nan], dtype=float32)"  # V362
    both = jnp.array([-jnp.inf, -jnp.inf])
    assert repr(nn.logsumexp(both)) == "Array(-inf, dtype=float32)"  # V363
    assert not config.enable_x64.value
