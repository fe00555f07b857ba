"""Tokens: eagerly, in programs and under the transformations."""

import numpy as np
import pytest

import tans_lax as lax
from tans_autodiff import grad
from tans_batching import vmap
from tans_core import typeof
from tans_lax.tokens import Token
from tans_xla import jit, make_jaxpr

X = np.array([1.0, 2.0], np.float32)


def test_tokens_are_values():
    token = lax.after_all(lax.create_token(X), lax.create_token())
    assert type(token) is Token
    assert typeof(token) is typeof(lax.create_token())
    assert token.block_until_ready() is token
    assert repr(token) == "Token()"


def test_tokens_enter_and_leave_compiled_functions():
    join = jit(lambda *tokens: (lax.after_all(*tokens), X + 1))
    for count in range(3):
        token, x = join(*[lax.create_token()] * count)
        assert type(token) is Token
        np.testing.assert_array_equal(x, X + 1)
    assert "optimization_barrier" in join.lower(lax.create_token()).as_text()


def test_tokens_are_carried():
    token, xs = lax.scan(lambda t, x: (lax.after_all(t, t), lax.add(x, x)), lax.create_token(), X)
    assert type(token) is Token
    np.testing.assert_array_equal(xs, X * 2)
    token = lax.cond(True, lax.after_all, lambda t: t, lax.create_token())
    assert type(token) is Token


def test_programs_print_tokens():
    jaxpr = str(make_jaxpr(lambda t: lax.after_all(t, lax.create_token()))(lax.create_token()))
    assert "create_token" in jaxpr
    assert "after_all" in jaxpr


def ordered(x):
    token = lax.after_all(lax.create_token(x))
    lax.after_all(token, token)
    return lax.sin(x)


def test_transformations_pass_tokens_by():
    np.testing.assert_allclose(vmap(ordered)(X), np.sin(X), rtol=1e-6)
    np.testing.assert_allclose(grad(ordered)(X[0]), np.cos(X[0]), rtol=1e-6)
    np.testing.assert_allclose(jit(vmap(grad(ordered)))(X), np.cos(X), rtol=1e-6)
    token, _ = vmap(lambda x: (lax.after_all(lax.create_token(x)), x), out_axes=(None, 0))(X)
    assert type(token) is Token


@pytest.mark.parametrize("operand", [1.0, X])
def test_only_tokens_are_joined(operand):
    with pytest.raises(TypeError, match=r"after_all: .* operand 1 of type .* expected a token"):
        lax.after_all(lax.create_token(), operand)
