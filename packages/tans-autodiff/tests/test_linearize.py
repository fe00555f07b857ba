"""linearize, the split of primal and linear work, and what a gradient's program looks like."""

import numpy as np
import pytest

import tans_lax as lax
from tans_autodiff import custom_jvp, grad, jvp, linearize, vjp
from tans_core import tree
from tans_core.errors import NotDifferentiableError
from tans_xla import device_put, jit, make_jaxpr

f32 = np.float32


def test_linearized_function_is_a_pytree_of_residuals():
    _y, f_jvp = linearize(lax.sin, device_put(f32(0.5)))
    assert float(f_jvp(3.0 * f32(1))) == pytest.approx(3 * np.cos(0.5), rel=1e-6)
    (residual,) = tree.leaves(f_jvp)
    assert float(residual) == pytest.approx(np.cos(0.5), rel=1e-6)
    assert f_jvp.out_nzs is True


def test_out_nzs_says_which_outputs_have_tangents():
    def f(x, y):
        return (x, y, {"a": lax.mul(x, y)})

    *_, f_jvp = linearize(f, 2.0, 3.0, in_nzs=(True, False))
    assert f_jvp.out_nzs == (True, False, {"a": True})
    outs = f_jvp(1.0, 0.0)
    assert [float(outs[0]), float(outs[1]), float(outs[2]["a"])] == [1.0, 0.0, 3.0]


def test_aux():
    _y, f_jvp, aux = linearize(lambda x: (lax.sin(x), "aux"), 0.0, has_aux=True)
    assert (float(f_jvp(1.0)), aux) == (1.0, "aux")


def test_integer_outputs_have_float0_tangents():
    _, f_jvp = linearize(lambda x: (x, lax.convert_element_type(x, "int32")), 1.0)
    assert f_jvp(1.0)[1].dtype.names == ("float0",)


@pytest.mark.parametrize(
    ("tangents", "error", "facts"),
    [
        ((np.ones(2, f32),), ValueError, ["float32[2]", "float32[3]"]),
        ((np.ones(3, np.int32),), ValueError, ["int32[3]"]),
        (((np.ones(3, f32),),), TypeError, ["structure"]),
        ((np.ones(3, f32), 1.0), TypeError, ["structure"]),
    ],
)
def test_wrong_tangents(tangents, error, facts):
    _, f_jvp = linearize(lax.sin, np.ones(3, f32))
    with pytest.raises(error) as caught:
        f_jvp(*tangents)
    for fact in facts:
        assert fact in str(caught.value)


def test_primal_is_computed_once_and_linear_program_has_only_linear_work(primitives):
    def f(x):
        y, _f_jvp = linearize(lambda v: lax.tanh(lax.sin(v)), x)
        return y

    assert primitives(make_jaxpr(f)(1.0))["tanh"] == 1
    _, f_jvp = linearize(lambda v: lax.tanh(lax.sin(v)), device_put(f32(1)))
    assert primitives(f_jvp.func.linear) == {"mul": 2}


TEXT = """\
{ lambda ; a:f32[]. let
    b:f32[] = sin a
    c:f32[] = cos a
    _:f32[] = sin b
    d:f32[] = cos b
    e:f32[] = mul 1.0:f32[] d
    f:f32[] = mul e c
  in (f,) }"""


def test_gradient_of_a_composition_as_text():
    assert str(make_jaxpr(grad(lambda x: lax.sin(lax.sin(x))))(1.0)) == TEXT


@pytest.mark.parametrize("n", [1, 10, 40])
def test_gradient_of_a_chain_of_sines_emits_three_equations_each(primitives, n):
    def chain(x):
        for _ in range(n):
            x = lax.sin(x)
        return x

    assert primitives(make_jaxpr(grad(chain))(1.0)) == {"sin": n, "cos": n, "mul": n}


def test_gradient_of_a_linear_chain_emits_nothing_for_the_derivative_rules(primitives):
    def chain(x):
        for _ in range(5):
            x = lax.mul(lax.neg(x), 2.0)
        return x

    # Forward neg and mul, and their transposes; no residual work.
    assert primitives(make_jaxpr(grad(chain))(1.0)) == {"neg": 10, "mul": 10}


def test_mixed_chain_meets_the_equation_budget():
    def chain(x):
        y = x
        for _ in range(20):
            y = lax.sub(lax.tanh(lax.add(lax.mul(lax.sin(y), 0.5), x)), 0.25)
        return y

    assert len(make_jaxpr(grad(chain))(1.0).eqns) <= 2.45 * 100


def test_unused_branch_leaves_no_residual():
    def f(x):
        lax.exp(lax.sin(x))
        return lax.mul(x, 2.0)

    _, f_vjp = vjp(f, device_put(f32(1)))
    assert tree.leaves(f_vjp) == []


def test_fan_out_is_added(primitives):
    closed = make_jaxpr(grad(lambda x: lax.add(lax.sin(x), lax.cos(x))))(1.0)
    assert primitives(closed)["add_any"] == 1
    assert float(grad(lambda x: lax.mul(x, lax.mul(x, x)))(2.0)) == 12.0


def test_a_rule_whose_primal_depends_on_a_tangent_is_named():
    @custom_jvp
    def f(x):
        return x

    f.defjvp(lambda primals, tangents: (lax.add(primals[0], tangents[0]), tangents[0]))
    with pytest.raises(NotDifferentiableError, match="custom_jvp_call"):
        grad(f)(1.0)


def test_a_rule_with_a_constant_tangent():
    @custom_jvp
    def f(x):
        return x

    f.defjvp(lambda primals, tangents: (primals[0], np.float32(5)))
    assert float(jvp(f, (1.0,), (1.0,))[1]) == 5.0
    assert float(linearize(f, 1.0)[1](1.0)) == 5.0
    assert float(grad(f)(1.0)) == 0.0


def test_rule_that_calls_a_jitted_function_of_primal_and_tangent(primitives):
    @jit
    def both(x, t):
        return lax.exp(x), lax.mul(lax.exp(x), t)

    @custom_jvp
    def f(x):
        return lax.exp(x)

    f.defjvp(lambda primals, tangents: both(primals[0], tangents[0]))
    assert float(grad(f)(1.0)) == pytest.approx(np.e, rel=1e-6)
    assert float(jit(grad(f))(1.0)) == pytest.approx(np.e, rel=1e-6)
    # The known half runs once, forwards.
    names = [e.primitive.name for e in make_jaxpr(grad(f))(1.0).eqns]
    assert names.count("jit") == 2


@pytest.mark.parametrize("shape", [(), (3,), (0, 3), (2, 3)])
def test_linearize_equals_jvp(shape):
    rng = np.random.default_rng(0)
    x, t = rng.standard_normal((2, *shape)).astype(f32)

    def f(v):
        return lax.tanh(lax.mul(v, lax.sin(v)))

    np.testing.assert_allclose(linearize(f, x)[1](t), jvp(f, (x,), (t,))[1], rtol=1e-5, atol=1e-6)
