"""custom_vjp.defremat: what checkpoint keeps of a custom rule, and what it computes anew."""

import numpy as np
import pytest

import tans_lax as lax
from tans_autodiff import checkpoint, checkpoint_policies, custom_vjp, grad, vjp
from tans_batching import vmap
from tans_xla import jit, make_jaxpr

f32 = np.float32


def sine(calls=None, saved=lax.neg):
    calls = [] if calls is None else calls
    f = custom_vjp(lax.sin)
    f.defremat(
        lambda x: calls.append("fwd") or (lax.sin(x), saved(x)),
        lambda saved, x: calls.append("rem") or (lax.sin(x), lax.cos(lax.neg(saved))),
        lambda cosine, ct: calls.append("bwd") or (lax.mul(lax.mul(ct, cosine), 10.0),),
    )
    return f


@pytest.mark.parametrize("wrap", [lambda f: f, checkpoint, jit, lambda f: jit(checkpoint(f))])
def test_V25_order_of_calls(wrap):
    calls = []
    assert float(grad(wrap(sine(calls)))(1.0)) == pytest.approx(5.403023, rel=1e-6)
    assert calls == ["fwd", "rem", "bwd"]


@pytest.mark.parametrize("policy", [None, checkpoint_policies.nothing_saveable])
def test_checkpoint_keeps_what_fwd_saves(policy):
    x = np.arange(3, dtype=f32)
    total = lambda x: lax.reduce_sum(x, (0,))  # noqa: E731
    f = checkpoint(lambda x: lax.exp(sine(saved=total)(lax.square(x))), policy=policy)
    _, f_vjp = vjp(lambda x: f(lax.mul(x, 2.0)), x)
    assert sorted(r.shape for r in f_vjp.opaque_residuals if r.size < 3) == [()]
    kept = [r for r in f_vjp.opaque_residuals if r.size == 3]
    assert len(kept) == 1  # the argument of the checkpointed function


def test_fwd_is_not_computed_anew():
    f = custom_vjp(lax.sin)
    f.defremat(
        lambda x: (lax.tan(lax.atan(lax.sin(x))), x),
        lambda saved, x: (lax.sin(x), lax.cos(saved)),
        lambda cosine, ct: (lax.mul(ct, cosine),),
    )
    closed = make_jaxpr(grad(checkpoint(lambda x: lax.exp(f(lax.square(x))))))(1.0)
    remat = next(eqn for eqn in closed.eqns if eqn.primitive.name == "remat2")
    names = {eqn.primitive.name for eqn in remat.params["jaxpr"].eqns}
    assert "sin" in names
    assert "tan" not in names
    assert "tan" in {eqn.primitive.name for eqn in closed.eqns}
    expected = np.exp(np.sin(1)) * np.cos(1) * 2
    assert float(grad(checkpoint(lambda x: lax.exp(f(lax.square(x)))))(1.0)) == pytest.approx(
        expected, rel=1e-5
    )


def test_under_vmap_and_twice():
    x = np.linspace(0, 1, 3, dtype=f32)
    f = checkpoint(sine())
    np.testing.assert_allclose(vmap(grad(f))(x), 10 * np.cos(x), rtol=1e-6)
    second = vmap(grad(grad(f)))(x)
    np.testing.assert_allclose(second, -10 * np.sin(x), rtol=1e-6)


@pytest.mark.parametrize(
    ("fwd", "rem", "fact"),
    [
        (lambda x: x, lambda r, x: (x, r), "fwd"),
        (lambda x: (x, x), lambda r, x: x, "rem"),
        (lambda x: (x, x), lambda r, x: ((x, x), r), "structure"),
    ],
)
def test_wrong_rules(fwd, rem, fact):
    f = custom_vjp(lambda x: x)
    f.defremat(fwd, rem, lambda r, ct: (ct,))
    with pytest.raises(TypeError, match=fact):
        grad(f)(1.0)
