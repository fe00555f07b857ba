"""Types of cotangents over devices; vectors V17 and V18 of the autodiff part."""

import pytest

import tans
import tans.numpy as jnp
from tans.sharding import PartitionSpec as P


@pytest.fixture(autouse=True)
def _mesh():
    with tans.set_mesh(tans.make_mesh((4,), ("X",))):
        yield


def types(values):
    return [str(tans.typeof(x).str_short(True)) for x in values]


def test_V17_cotangents_lie_like_their_primals():
    x, w = tans.reshard(jnp.ones((8, 2)), P("X")), jnp.ones((4, 2))
    y, f_vjp = tans.vjp(lambda w, x: x @ w.T, w, x)
    assert types([y]) == ["f32[8@X,4]"]
    assert types(f_vjp(y)) == ["f32[4,2]", "f32[8@X,2]"]


def test_V18_the_cotangent_of_a_reduced_value_is_unreduced():
    w = tans.reshard(jnp.ones((4, 2)), P(reduced={"X"}))
    x = tans.reshard(jnp.ones((8, 2)), P("X"))
    y, f_vjp = tans.vjp(lambda w: x @ w.T, w)
    assert types(f_vjp(y)) == ["f32[4,2]{U:X}"]


def test_a_cotangent_that_lies_elsewhere_is_refused_with_the_remedy():
    x = tans.reshard(jnp.ones((8, 2)), P("X"))
    f_vjp = tans.vjp(lambda x: x * 2, x)[1]
    with pytest.raises(ValueError, match=r"float32\[8,2\].*float32\[8@X,2\].*reshard") as caught:
        f_vjp(jnp.ones((8, 2)))
    assert "astype" not in str(caught.value)
    with pytest.raises(ValueError, match="astype"):
        f_vjp(jnp.ones((8, 3)))


def _inside(body):
    x = tans.reshard(jnp.ones(4), P("X"))
    return tans.shard_map(body, in_specs=P("X"), out_specs=P("X"))(x)


def _rule_with_a_constant(v):
    f = tans.custom_jvp(lambda v: v * 2)
    f.defjvp(lambda p, t: (p[0] * 2, jnp.ones(1)))
    return tans.jvp(f, (v,), (v,))[1]


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (lambda v: tans.linearize(jnp.sin, v)[1](jnp.ones(1)), ValueError),
        (lambda v: tans.vjp(jnp.sin, v)[1](jnp.ones(1))[0], ValueError),
        (lambda v: tans.linear_transpose(lambda v: 2 * v, v)(jnp.ones(1))[0], TypeError),
        (_rule_with_a_constant, TypeError),
    ],
    ids=["linearize", "vjp", "linear_transpose", "custom_jvp"],
)
def test_a_value_that_does_not_vary_is_to_be_cast(body, error):
    with pytest.raises(error, match=r"lax\.pcast\(.*'X'.*to='varying'\)"):
        _inside(body)


def test_a_tangent_that_lies_elsewhere_is_to_be_resharded():
    x = tans.reshard(jnp.ones(8), P("X"))
    with pytest.raises(ValueError, match=r"tans\.reshard\(tangent, P\('X',\)\)"):
        tans.linearize(jnp.sin, x)[1](jnp.ones(8))
