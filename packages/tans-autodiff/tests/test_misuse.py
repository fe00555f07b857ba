"""Errors that name who made the mistake: leaked tracers, rules, edited VJP objects."""

import numpy as np
import pytest

import tans_lax as lax
from tans_autodiff import NotNeeded, custom_jvp, custom_vjp, fwd_and_bwd, grad, jvp, linearize, vjp
from tans_batching import vmap
from tans_core.dtypes import float0
from tans_core.errors import ConcretizationTypeError, UnexpectedTracerError
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
    with pytest.raises(
        UnexpectedTracerError, match=rf" inside {name} of square at .*test_misuse.py:\d+ was"
    ):
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


@pytest.mark.parametrize("optimize_remat", [False, True])
def test_a_forward_rule_is_blamed_without_jit(optimize_remat):
    calls = []

    def wrapped(x):
        calls.append(x)
        return {"a": x}

    def bare(x):
        return x, None

    def doubled(x):
        return {"a": lax.broadcast(x, (2,))}, None

    f = custom_vjp(wrapped)
    f.defvjp(bare, lambda _, ct: (ct,), optimize_remat=optimize_remat)
    for _ in range(2):
        with pytest.raises(TypeError, match=r"forward rule bare .*structure.*'a'"):
            grad(lambda x: f(x)["a"])(1.0)
    f.defvjp(doubled, lambda _, ct: (ct["a"],), optimize_remat=optimize_remat)
    with pytest.raises(TypeError, match=r"forward rule doubled .*float32\[2\]"):
        grad(lambda x: f(x)["a"])(1.0)
    f.defvjp(lambda x: ({"a": x}, None), lambda _, ct: (ct["a"],))
    calls.clear()
    assert [float(grad(lambda x: f(x)["a"])(1.0)) for _ in range(3)] == [1, 1, 1]
    assert len(calls) == 1


def test_a_function_that_needs_concrete_values_has_a_rule():
    f = custom_vjp(lambda x: x if float(x) > 0 else lax.neg(x))
    f.defvjp(lambda x: (f(x), x), lambda x, ct: (lax.mul(ct, lax.sign(x)),))
    assert float(grad(f)(-1.0)) == -1


@pytest.mark.parametrize("argnums", [(0, 0), (1, -1)])
def test_an_argument_that_is_selected_twice_is_refused(argnums):
    for transform in (grad, lambda f, nums: fwd_and_bwd(f, nums)[0]):
        with pytest.raises(ValueError, match="selected twice"):
            transform(lax.mul, argnums)(1.0, 2.0)


@pytest.mark.parametrize(
    ("saveable", "path"),
    [
        (([{"w": False}], True), r"args_res\[0\]\[0\]\['w'\] = value;"),
        (([{"w": True}], (True, (False,))), r"args_res\[1\] = value, the whole tuple"),
    ],
)
def test_missing_values_say_where_to_assign(saveable, path):
    one = np.ones((), f32)

    def f(a, b):
        return lax.mul(lax.mul(a[0]["w"], b[0]), b[1][0])

    f_vjp = vjp(f, [{"w": one}], (one, (one,)), saveable_args=saveable)[1]
    with pytest.raises(ValueError, match=path):
        f_vjp(one)


def test_saved_arguments_in_no_list_are_refused():
    f_vjp = vjp(lax.sin, 1.0)[1].replace(args_res=None)
    with pytest.raises(ValueError, match=r"args_res of type NoneType.*1 entries"):
        f_vjp(1.0)


def test_a_backward_function_takes_the_object_of_its_forward_function():
    _, bwd = fwd_and_bwd(lax.sin, 0, jitted=False)
    with pytest.raises(TypeError, match=r"bwd of sin: given float.*fwd"):
        bwd(1.0, 1.0)


def test_a_wrong_cotangent_is_named_by_the_path_of_its_output():
    def f(x):
        return {"a": (x, lax.convert_element_type(x, np.int32))}

    f_vjp = vjp(f, np.ones(3, f32))[1]
    right, short, none = np.ones(3, f32), np.ones(2, f32), np.zeros(3, float0)
    with pytest.raises(ValueError, match=r"float32\[2\] for the output \['a'\]\[0\]"):
        f_vjp({"a": (short, right)})
    with pytest.raises(ValueError, match=r"\['a'\]\[1\]; expected float0\[3\]"):
        f_vjp({"a": (right, short)})
    with pytest.raises(ValueError, match=r"type float0\[3\] for the output \['a'\]\[0\]"):
        f_vjp({"a": (none, none)})
    assert f_vjp({"a": (right, none)})[0].shape == (3,)


def test_a_vjp_object_prints_its_function():
    def square(x):
        return lax.mul(x, x)

    shown = repr(vjp(square, 1.0)[1])
    assert "BackwardProgram(square at " in shown
    assert "object at 0x" not in shown


def test_concrete_values_are_asked_for_in_a_plain_sentence():
    with pytest.raises(ConcretizationTypeError, match=r"inside grad of .*test_misuse\.py:\d+; "):
        grad(lambda x: lax.mul(x, float(x)))(1.0)


def with_rule(fwd, bwd):
    f = custom_vjp(lambda x, y: lax.mul(x, y))
    f.defvjp(fwd, bwd)
    return grad(f)


@pytest.mark.parametrize("wrap", [lambda f: f, jit], ids=["eager", "jit"])
def test_rules_see_arrays_where_numbers_were_passed(wrap):
    seen = []

    def fwd(x, y):
        seen.extend((x, y))
        return lax.mul(x, y), (y, 2.0)

    def bwd(residuals, ct):
        seen.extend((*residuals, ct))
        return ct, None

    float(wrap(lambda x: with_rule(fwd, bwd)(x, 3.0))(1.0))
    f = custom_jvp(lambda x, y: lax.mul(x, y))

    @f.defjvp
    def rule(primals, tangents):
        seen.extend((*primals, *tangents))
        return primals[0], tangents[0]

    float(wrap(grad(lambda x: f(x, 3.0)))(1.0))
    assert len(seen) == 9
    assert all(hasattr(x, "aval") for x in seen)


@pytest.mark.parametrize(
    ("fwd", "bwd", "fact"),
    [
        (lambda x, y: (x, "res"), lambda _, ct: (ct, ct), "forward rule.*residual 'res'"),
        (lambda x, y: (x, y), lambda _, ct: (ct, "ct"), r"backward rule.*output\[1\].*'ct'"),
        (
            lambda x, y: (x, y),
            lambda _, ct: (lax.complex(ct, ct), None),
            r"output\[0\].*complex64\[\].*real",
        ),
    ],
    ids=["residual", "cotangent", "complex"],
)
@pytest.mark.parametrize("wrap", [lambda f: f, jit], ids=["eager", "jit"])
def test_wrong_values_of_rules_are_blamed_on_the_rule(wrap, fwd, bwd, fact):
    with pytest.raises(TypeError, match=fact):
        wrap(lambda x: with_rule(fwd, bwd)(x, x))(1.0)


def test_rules_are_functions():
    with pytest.raises(TypeError, match="defvjp: given None"):
        custom_vjp(lax.sin).defvjp(lambda x: (x, None), None)
    with pytest.raises(TypeError, match="defjvp: given 1"):
        custom_jvp(lax.sin).defjvp(1)
