"""checkpoint: offloading, static arguments by name, and rules that step back (optimize_remat)."""

import numpy as np
import pytest

import tans_lax as lax
from tans_autodiff import (
    NotNeeded,
    Offloadable,
    checkpoint,
    checkpoint_name,
    checkpoint_policies,
    custom_vjp,
    fwd_and_bwd,
    grad,
    vjp,
)
from tans_batching import vmap
from tans_xla import jit, make_jaxpr
from tans_xla.memory import MemorySpace

f32 = np.float32
policies = checkpoint_policies


def net(w, x):
    h = checkpoint_name(lax.tanh(lax.dot(x, w)), "a")
    y = checkpoint_name(lax.tanh(lax.dot(h, w)), "b")
    return lax.reduce_sum(lax.tanh(y), axes=(0, 1))


@pytest.fixture
def w():
    return np.linspace(-1, 1, 9, dtype=f32).reshape(3, 3)


@pytest.fixture
def x():
    return np.linspace(0, 1, 6, dtype=f32).reshape(2, 3)


BOTH = policies.save_and_offload_only_these_names(
    names_which_can_be_saved=("a",),
    names_which_can_be_offloaded=("b",),
    offload_src="device",
    offload_dst="pinned_host",
)


def kinds(f_vjp):
    return [r.sharding.memory_kind for r in f_vjp.opaque_residuals]


def test_offloaded_values_are_kept_in_host_memory(w, x):
    _, f_vjp = vjp(checkpoint(net, policy=BOTH), w, x)
    assert f_vjp.args_res[0] is not NotNeeded()
    assert kinds(f_vjp) == ["device", "pinned_host"]
    for found, expected in zip(f_vjp(1.0), vjp(net, w, x)[1](1.0), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5)
    policy = policies.offload_dot_with_no_batch_dims("device", "pinned_host")
    _, f_vjp = vjp(checkpoint(net, policy=policy), w, x)
    assert kinds(f_vjp) == ["pinned_host"] * 2


def test_offloading_is_seen_in_the_program(w, x):
    text = str(make_jaxpr(grad(checkpoint(net, policy=BOTH)))(w, x))
    assert text.count("f32<host>[2,3] = device_put[") == 1
    assert text.count("f32[2,3] = device_put[") == 1
    assert text.count("devices=(MemorySpace.Host,)") == 1


@pytest.mark.parametrize("wrap", [jit, lambda f: f], ids=["jit", "plain"])
def test_offloading_under_transformations(wrap, w, x):
    f = checkpoint(net, policy=BOTH)
    np.testing.assert_allclose(wrap(grad(f))(w, x), grad(net)(w, x), rtol=1e-5)
    xs = np.stack([x, 2 * x])
    np.testing.assert_allclose(
        wrap(vmap(grad(f), (None, 0)))(w, xs), vmap(grad(net), (None, 0))(w, xs), rtol=1e-5
    )
    fwd, bwd = fwd_and_bwd(f, 0)
    np.testing.assert_allclose(bwd(fwd(w, x)[1], 1.0), grad(net)(w, x), rtol=1e-5)


def test_a_memory_that_there_is_not_is_refused(w, x):
    policy = policies.offload_dot_with_no_batch_dims("device", "tape")
    with pytest.raises(ValueError, match=r"'tape'.*pinned_host"):
        vjp(checkpoint(net, policy=policy), w, x)


def test_memories_are_given_as_kinds_or_spaces(w, x):
    decision = Offloadable(MemorySpace.Device, MemorySpace.Host)
    policy = lambda prim, *_, **__: decision if prim.name == "tanh" else False  # noqa: E731
    assert set(kinds(vjp(checkpoint(net, policy=policy), w, x)[1])) == {"pinned_host"}
    stay = policies.offload_dot_with_no_batch_dims("device", "device")
    assert kinds(vjp(checkpoint(net, policy=stay), w, x)[1]) == ["device"] * 2


def test_an_answer_that_is_no_decision_is_refused(w, x):
    with pytest.raises(TypeError, match=r"dot_general.*Saveable"):
        vjp(checkpoint(net, policy=lambda *_, **__: "save"), w, x)


def test_static_arguments_by_name():
    f = checkpoint(
        lambda x, kind, *, twice: lax.sin(x) if kind == "sin" and twice else x,
        static_argnames=("kind", "twice"),
    )
    assert float(grad(f)(0.0, "sin", twice=True)) == 1.0
    assert float(grad(lambda x: f(x, kind="sin", twice=True))(0.0)) == 1.0
    assert float(grad(lambda x: f(x, kind="cos", twice=True))(0.0)) == 1.0
    one = checkpoint(lambda x, n: x if n == 0 else lax.mul(x, 3.0), static_argnames="n")
    assert [float(grad(one)(2.0, 0)), float(grad(one)(2.0, 1))] == [1.0, 3.0]


def test_an_unknown_static_name_is_refused():
    with pytest.raises(ValueError, match=r"kin.*x, kind"):
        checkpoint(lambda x, kind: x, static_argnames="kin")
    assert float(checkpoint(lambda x, **kw: x, static_argnames="kin")(1.0, kin="a")) == 1.0


def costly_sine(optimize):
    f = custom_vjp(lax.sin)
    f.defvjp(
        lambda x: (lax.sin(x), (lax.exp(x), lax.cos(x))),
        lambda res, g: (lax.mul(g, res[1]),),
        optimize_remat=optimize,
    )
    return f


def test_the_function_runs_where_only_its_output_is_read():
    def value_only(optimize):
        return jit(lambda x: vjp(costly_sine(optimize), x)[0]).lower(1.0).as_text()

    def checkpointed(optimize):
        f = checkpoint(lambda x: lax.sin(costly_sine(optimize)(x)))
        return make_jaxpr(lambda x: vjp(f, x)[0])(1.0)

    assert "exponential" not in value_only(True)
    assert "exp" not in str(checkpointed(True))
    text = str(make_jaxpr(grad(costly_sine(True)))(1.0))
    assert "remat_opt" in text
    assert "exp" in text


@pytest.mark.parametrize("optimize", [True, False])
def test_values_do_not_depend_on_the_permission(optimize):
    f = costly_sine(optimize)
    xs = np.linspace(-1, 1, 5, dtype=f32)
    for g in (f, jit(f), checkpoint(f), checkpoint(jit(f))):
        np.testing.assert_allclose(vmap(grad(g))(xs), np.cos(xs), rtol=1e-6)
        np.testing.assert_allclose(jit(vmap(grad(g)))(xs), np.cos(xs), rtol=1e-6)
        np.testing.assert_allclose(vmap(grad(grad(g)))(xs), -np.sin(xs), rtol=1e-6)
    np.testing.assert_allclose(
        grad(lambda x: lax.reduce_sum(vmap(f)(x), axes=(0,)))(xs), np.cos(xs), rtol=1e-6
    )


def test_a_rule_that_steps_back_captures_values():
    def f(y):
        g = custom_vjp(lambda x: lax.mul(x, 2.0))
        g.defvjp(
            lambda x: (lax.mul(x, 2.0), lax.stop_gradient(y)),
            lambda y, ct: (lax.mul(ct, y),),
            optimize_remat=True,
        )
        return jit(grad(checkpoint(lambda x: lax.sin(g(x)))))(1.0)

    assert float(jit(f)(3.0)) == pytest.approx(3 * np.cos(2.0), rel=1e-6)


@pytest.mark.parametrize(
    "wrap",
    [
        checkpoint,
        jit,
        lambda f: lambda x: lax.cond(lax.gt(x, 0.0), f, lambda x: x, x),
        lambda f: lambda x: lax.scan(lambda c, _: (f(c), None), x, None, length=1)[0],
    ],
    ids=["checkpoint", "jit", "cond", "scan"],
)
def test_a_rule_captures_a_value_of_an_enclosing_jit(wrap):
    def f(y):
        g = custom_vjp(lambda x: lax.mul(x, 2.0))
        g.defvjp(lambda x: (lax.mul(x, 2.0), lax.stop_gradient(y)), lambda y, ct: (lax.mul(ct, y),))
        return grad(wrap(lambda x: lax.sin(g(x))))(1.0)

    for y in (3.0, 4.0):
        assert float(jit(f)(y)) == pytest.approx(y * np.cos(2.0), rel=1e-6)
