"""`out_sharding` of functions that apply it to what they computed: type, value and gradient."""

from typing import Any

import numpy as np
import pytest

import tans
import tans.numpy as jnp
from tans import P, lax

HOST = np.arange(32, dtype=np.float32).reshape(8, 4)
COUNTS = np.array([1, 2, 3, 2, 0, 2, 2, 4])
FUNCTIONS = {
    "percentile": (lambda x, s: jnp.percentile(x, 50.0, axis=1, out_sharding=s), P("X")),
    "repeat": (lambda x, s: jnp.repeat(x, 2, axis=0, out_sharding=s), P("X", "Y")),
    "repeat each": (lambda x, s: x.repeat(COUNTS, axis=0, out_sharding=s), P("Y")),
    "repeat counted": (
        lambda x, s: jnp.repeat(
            x, jnp.array(COUNTS), axis=0, total_repeat_length=16, out_sharding=s
        ),
        P("X", "Y"),
    ),
    "histogram": (lambda x, s: jnp.histogram(x, bins=8, out_sharding=s)[0], P("Y")),
    "bincount": (
        lambda x, s: jnp.bincount(
            jnp.ravel(x, out_sharding=P("X") if s else P()).astype(int), length=32, out_sharding=s
        ),
        P("X"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("spec", [P(), P("X", "Y")], ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_have_the_sharding_that_was_asked_for(mesh: Any, name: str, spec: P) -> None:
    function, wanted = FUNCTIONS[name]
    x = tans.reshard(HOST, spec)
    plain = function(tans.reshard(HOST, P()), None)
    for run in (function, tans.jit(function, static_argnums=1)):
        out = run(x, wanted)
        assert tans.typeof(out).sharding.spec == wanted.padded(out.ndim)
        np.testing.assert_array_equal(out, plain)


@pytest.mark.parametrize("name", ["percentile", "repeat", "repeat each", "repeat counted"])
def test_gradients_have_the_sharding_of_the_operand(mesh: Any, name: str) -> None:
    function, wanted = FUNCTIONS[name]
    x = tans.reshard(HOST, P("X", "Y"))
    slope = tans.grad(lambda x: (function(x, wanted) ** 2).sum())(x)
    plain = tans.grad(lambda x: (function(x, None) ** 2).sum())(tans.reshard(HOST, P()))
    assert tans.typeof(slope) == tans.typeof(x)
    np.testing.assert_allclose(slope, plain, rtol=1e-6)


def test_gradient_of_a_sum_that_out_sharding_places(mesh: Any) -> None:
    x = tans.reshard(HOST, P())
    slope = tans.grad(lambda x: (lax.reduce_sum(x, (1,), out_sharding=P("X")) ** 2).sum())(x)
    assert tans.typeof(slope) == tans.typeof(x)
    np.testing.assert_allclose(slope, np.repeat(2 * HOST.sum(1, keepdims=True), 4, axis=1))
