"""Derivatives of nested jit: calls stay calls, bodies are transformed once."""

import numpy as np
import pytest

import tans_lax as lax
from tans_autodiff import grad, jvp, vjp
from tans_batching import vmap
from tans_xla import Inline, device_put, jit, make_jaxpr

f32 = np.float32


def jits(closed):
    return [e for e in closed.eqns if e.primitive.name == "jit"]


@jit
def layer(w, x):
    return lax.tanh(lax.mul(w, x))


def three(w, x):
    return layer(w, layer(w, layer(w, x)))


def test_equal_layers_share_forward_and_backward_bodies():
    calls = jits(make_jaxpr(grad(three))(1.0, 2.0))
    assert len(calls) == 6
    assert all(e.params["name"] == "layer" for e in calls)
    # The innermost layer's x has no tangent, so its bodies differ.
    forward = {id(e.params["jaxpr"]) for e in calls[1:3]}
    backward = {id(e.params["jaxpr"]) for e in calls[3:5]}
    assert len(forward) == len(backward) == 1


def test_lowered_program_holds_each_body_once():
    text = jit(grad(three, (0, 1))).lower(1.0, 2.0).as_text()
    assert text.count("func.func private") <= 4


def test_values():
    def f(w, x):
        return three(w, x)

    def plain(w, x):
        return lax.tanh(lax.mul(w, lax.tanh(lax.mul(w, lax.tanh(lax.mul(w, x))))))

    for g in (grad(f), jit(grad(f)), grad(jit(f))):
        np.testing.assert_allclose(g(0.5, 2.0), grad(plain)(0.5, 2.0), rtol=1e-6)
    np.testing.assert_allclose(
        jvp(f, (0.5, 2.0), (1.0, 0.0))[1], jvp(plain, (0.5, 2.0), (1.0, 0.0))[1], rtol=1e-6
    )


def test_inputs_are_forwarded_as_residuals():
    w, x = device_put(f32(2)), device_put(f32(3))
    _, f_vjp = vjp(jit(lax.mul), w, x)
    assert f_vjp.args_res[0] is w
    assert f_vjp.args_res[1] is x
    assert f_vjp.opaque_residuals == []


def test_functions_run_once_under_repeated_gradients():
    traced = []

    @jit
    def f(x):
        traced.append(x)
        return lax.sin(x)

    for _ in range(3):
        grad(f)(device_put(f32(1)))
    assert len(traced) == 1


def test_under_vmap():
    x = np.linspace(0, 1, 3, dtype=f32)
    mapped = vmap(grad(layer), in_axes=(None, 0))(2.0, x)
    np.testing.assert_allclose(mapped, [grad(layer)(2.0, v) for v in x], rtol=1e-6)
    whole = grad(lambda w: lax.reduce_sum(vmap(layer, in_axes=(None, 0))(w, x), (0,)))(2.0)
    np.testing.assert_allclose(whole, np.sum(mapped), rtol=1e-6)


def test_captured_tracers_are_differentiated():
    def f(w):
        return jit(lambda x: lax.mul(w, x))(3.0)

    assert float(grad(f)(2.0)) == 3.0
    assert float(jit(grad(f))(2.0)) == 3.0


def test_outputs_without_tangents():
    @jit
    def f(x):
        return lax.sin(x), lax.convert_element_type(x, "int32"), 2.0

    assert float(grad(lambda x: f(x)[0])(0.0)) == 1.0
    assert float(grad(lambda x: f(x)[2])(0.0)) == 0.0


def test_dead_outputs_are_removed_from_the_backward_call():
    @jit
    def f(x):
        return lax.sin(x), lax.exp(lax.cos(x))

    closed = make_jaxpr(grad(lambda x: f(x)[0]))(1.0)
    last = jits(closed)[-1].params["jaxpr"]
    assert [e.primitive.name for e in last.eqns] == ["mul"]


@pytest.mark.parametrize("inline", [Inline.JAX_EARLY, True, False])
def test_inline_option_is_kept(inline):
    f = jit(lax.sin, inline=inline)
    calls = 0 if inline is Inline.JAX_EARLY else 2
    assert len(jits(make_jaxpr(grad(f))(1.0))) == calls
