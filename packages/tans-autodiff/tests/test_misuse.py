"""Errors that name who made the mistake: leaked tracers, rules, edited VJP objects."""

import numpy as np
import pytest

import tans_lax as lax
from tans_autodiff import NotNeeded, custom_vjp, grad, jvp, linearize, vjp
from tans_batching import vmap
from tans_core.errors import UnexpectedTracerError
from tans_xla import jit

f32 = np.float32


@pytest.mark.parametrize(
    ("run", "name"),
    [
        (lambda f: grad(f)(1.0), "grad"),
        (lambda f: vjp(f, 1.0), "vjp"),
        (lambda f: jvp(f, (1.0,), (1.0,)), "jvp"),
        (lambda f: linearize(f, 1.0), "linearize"),
        (lambda f: vmap(f)(np.ones(2, f32)), "vmap"),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_a_leaked_tracer_names_its_function(run, name):
    leaked = []

    def square(x):
        leaked.append(x)
        return lax.mul(x, x)

    run(square)
    with pytest.raises(UnexpectedTracerError, match=rf"inside {name} of square at .*test_misuse"):
        lax.neg(leaked[0])


@pytest.fixture
def f_vjp():
    weights = {"w": np.ones((3, 3), f32), "b": np.ones(3, f32)}

    def layer(x, p):
        return lax.tanh(lax.add(lax.dot(x, p["w"]), p["b"]))

    x = np.ones(3, f32)
    return vjp(layer, x, weights, saveable_args=(True, {"w": False, "b": True}))[1]


def test_saved_arguments_are_assigned_in_place(f_vjp):
    with pytest.raises(ValueError, match=r"args\[1\]\['w'\]"):
        f_vjp(np.ones(3, f32))
    f_vjp.args_res[1]["w"] = np.ones((3, 3), f32)
    assert f_vjp(np.ones(3, f32))[1]["w"].shape == (3, 3)


def test_a_mark_in_place_of_an_argument_names_the_value_that_is_needed(f_vjp):
    f_vjp.args_res[1] = NotNeeded()
    with pytest.raises(ValueError, match=r"args_res\[1\]\['w'\].*NotNeeded.*float32\[3,3\]"):
        f_vjp(np.ones(3, f32))


def test_a_mark_stands_for_an_argument_that_nothing_reads():
    f_vjp = vjp(lambda x, t: lax.add(lax.mul(x, 2.0), lax.add(t[0], t[1])), 1.0, (1.0, 2.0))[1]
    f_vjp.args_res[1] = NotNeeded()
    assert [float(ct) for ct in f_vjp(1.0)[1]] == [1.0, 1.0]


def test_a_forward_rule_with_another_output_is_blamed():
    def doubled(x):
        return lax.broadcast(x, (2,)), None

    f = custom_vjp(lambda x: x)
    f.defvjp(doubled, lambda _, ct: (ct,))
    with pytest.raises(TypeError, match=r"doubled.*float32\[2\].*float32\[\]"):
        grad(jit(f))(1.0)
    g = custom_vjp(lambda x: {"a": x})
    g.defvjp(doubled, lambda _, ct: (ct,))
    with pytest.raises(TypeError, match=r"doubled.*structure"):
        grad(jit(lambda x: g(x)["a"]))(1.0)
