"""checkpoint: values and gradients stay, what is saved changes."""

import numpy as np
import pytest

import tans_lax as lax
from tans_autodiff import (
    NotNeeded,
    checkpoint,
    checkpoint_name,
    checkpoint_policies,
    custom_vjp,
    grad,
    jvp,
    remat,
    vjp,
)
from tans_batching import vmap
from tans_core.errors import TracerBoolConversionError
from tans_xla import device_put, jit, make_jaxpr
from tans_xla.callbacks import debug_callback, effects_barrier

f32 = np.float32
policies = checkpoint_policies


def twice(x):
    return lax.sin(lax.sin(x))


def net(w, x):
    h = checkpoint_name(lax.tanh(lax.dot(x, w)), "a")
    return lax.tanh(lax.dot(h, w))


TEXT = """\
{ lambda ; a:f32[]. let
    b:f32[] = sin a
    _:f32[] = sin b
    c:f32[] = remat2[
      differentiated=True
      jaxpr={ lambda ; d:f32[] e:f32[]. let
          f:f32[] = sin d
          g:f32[] = cos d
          h:f32[] = cos f
          i:f32[] = mul e h
          j:f32[] = mul i g
        in (j,) }
      policy=None
      prevent_cse=True
    ] a 1.0:f32[]
  in (c,) }"""


def test_gradient_as_text():
    assert str(make_jaxpr(grad(checkpoint(twice)))(1.0)) == TEXT


@pytest.mark.parametrize("wrap", [checkpoint, remat, lambda f: jit(checkpoint(f))])
def test_values_and_gradients_do_not_change(wrap):
    f = wrap(twice)
    assert float(f(1.0)) == pytest.approx(float(twice(1.0)))
    assert float(grad(f)(1.0)) == pytest.approx(float(grad(twice)(1.0)))
    assert float(jit(grad(f))(1.0)) == pytest.approx(float(grad(twice)(1.0)))
    assert float(grad(grad(f))(1.0)) == pytest.approx(float(grad(grad(twice))(1.0)))
    assert float(jvp(f, (1.0,), (1.0,))[1]) == pytest.approx(float(grad(twice)(1.0)))


def test_under_vmap_and_scan():
    x = np.linspace(0, 1, 3, dtype=f32)
    np.testing.assert_allclose(vmap(grad(checkpoint(twice)))(x), vmap(grad(twice))(x), rtol=1e-6)
    body = checkpoint(lambda c, x: (lax.sin(lax.mul(c, x)), None), prevent_cse=False)

    def loop(c):
        return lax.scan(body, c, x)[0]

    def plain(c):
        return lax.scan(lambda c, x: (lax.sin(lax.mul(c, x)), None), c, x)[0]

    assert float(grad(loop)(1.0)) == pytest.approx(float(grad(plain)(1.0)))


@pytest.mark.parametrize(("prevent_cse", "barriers"), [(True, 1), (False, 0)])
def test_barrier_in_the_lowered_program(prevent_cse, barriers):
    f = grad(checkpoint(twice, prevent_cse=prevent_cse))
    assert jit(f).lower(1.0).as_text().count("optimization_barrier") == barriers


def saved(policy, matrix, batch):
    _, f_vjp = vjp(checkpoint(net, policy=policy), matrix, batch)
    return f_vjp


@pytest.mark.parametrize("policy", [None, policies.nothing_saveable])
def test_nothing_is_saved_but_arguments(policy, matrix, batch):
    f_vjp = saved(policy, matrix, batch)
    assert f_vjp.opaque_residuals == []
    assert f_vjp.args_res[0] is matrix
    assert f_vjp.args_res[1] is batch


def test_named_values_are_saved(matrix, batch):
    f_vjp = saved(policies.save_only_these_names("a"), matrix, batch)
    (a,) = f_vjp.opaque_residuals
    np.testing.assert_allclose(a, lax.tanh(lax.dot(batch, matrix)), rtol=1e-6)
    assert saved(policies.save_any_names_but_these("a"), matrix, batch).opaque_residuals == []


def test_dots_are_saved(matrix, batch):
    f_vjp = saved(policies.dots_saveable, matrix, batch)
    assert [r.shape for r in f_vjp.opaque_residuals] == [(2, 3), (2, 3)]


@pytest.mark.parametrize(
    "policy",
    [
        None,
        policies.everything_saveable,
        policies.dots_saveable,
        policies.dots_with_no_batch_dims_saveable,
        policies.save_only_these_names("a"),
        policies.save_from_both_policies(
            policies.dots_saveable, policies.save_only_these_names("a")
        ),
    ],
)
def test_gradients_are_equal_under_every_policy(policy, matrix, batch):
    def loss(f):
        return lambda w: lax.reduce_sum(lax.square(f(w, batch)), (0, 1))

    expected = grad(loss(net))(matrix)
    for f in (checkpoint(net, policy=policy), checkpoint(jit(net), policy=policy)):
        np.testing.assert_allclose(grad(loss(f))(matrix), expected, rtol=1e-5)


def test_policies_see_inside_nested_jit(matrix, batch):
    _, f_vjp = vjp(checkpoint(jit(net), policy=policies.dots_saveable), matrix, batch)
    assert [r.shape for r in f_vjp.opaque_residuals] == [(2, 3), (2, 3)]


def test_captured_values_are_differentiated():
    def f(w):
        return checkpoint(lambda x: lax.mul(lax.sin(w), x))(2.0)

    assert float(grad(f)(1.0)) == pytest.approx(2 * np.cos(1.0), rel=1e-6)
    assert float(jit(grad(f))(1.0)) == pytest.approx(2 * np.cos(1.0), rel=1e-6)


def test_custom_vjp_inside():
    g = custom_vjp(lax.sin)
    g.defvjp(lambda x: (lax.sin(x), x), lambda x, ct: (lax.mul(ct, 5.0),))
    assert float(grad(checkpoint(lambda x: g(lax.mul(x, 2.0))))(1.0)) == 10.0


def test_static_arguments_are_python_values():
    f = checkpoint(lambda flag, x: lax.sin(x) if flag else x, static_argnums=0)
    assert float(grad(f, argnums=1)(False, 2.0)) == 1.0
    with pytest.raises(ValueError, match="static_argnums"):
        checkpoint(twice, static_argnums=3)(1.0)


def test_branch_on_an_argument_recommends_static_argnums():
    f = checkpoint(lambda flag, x: lax.sin(x) if flag else x)
    with pytest.raises(TracerBoolConversionError) as caught:
        f(True, 1.0)
    assert any("static_argnums" in note for note in caught.value.__notes__)


def test_the_body_is_traced_once_per_type():
    traced = []

    @checkpoint
    def f(x):
        traced.append(x)
        return lax.sin(x)

    x = device_put(f32(1))
    grad(lambda x: f(f(x)))(x)
    grad(lambda x: f(f(x)))(x)
    assert len(traced) == 1


@pytest.mark.parametrize("flags", [(True,), (True, (False,)), ()])
def test_a_tree_for_prevent_cse_fits_the_arguments(flags):
    with pytest.raises(ValueError, match="prevent_cse"):
        checkpoint(lambda x, y: lax.mul(x, y), prevent_cse=flags)(1.0, 2.0)


def test_prevent_cse_may_be_given_by_argument():
    f = lambda x, y: lax.mul(lax.sin(lax.sin(x)), y["w"])  # noqa: E731
    for flags, barriers in (((False, True), 1), ((False, {"w": False}), 0), ((False, False), 0)):
        slope = jit(grad(checkpoint(f, prevent_cse=flags)))
        text = slope.lower(1.0, {"w": 2.0}).as_text()
        assert text.count("optimization_barrier") == barriers


@pytest.mark.parametrize("value", ["yes", (1,), None])
def test_prevent_cse_must_be_bools(value):
    with pytest.raises(TypeError, match="prevent_cse"):
        checkpoint(twice, prevent_cse=value)


def test_unused_arguments_are_not_kept():
    _y, f_vjp = vjp(checkpoint(lambda x, y: lax.sin(x)), device_put(f32(1)), device_put(f32(2)))
    assert f_vjp.args_res[1] == NotNeeded()


def test_effects_happen_once():
    seen = []

    @checkpoint
    def f(x):
        debug_callback(lambda v: seen.append(float(v)), x)
        return lax.sin(lax.sin(x))

    grad(f)(1.0)
    jit(grad(f))(1.0)
    effects_barrier()
    assert seen == [1.0, 1.0]
