"""custom_jvp: the rule is used in every mode and composition."""

import numpy as np
import pytest

import tans_lax as lax
from tans_autodiff import SymbolicZero, custom_jvp, grad, jvp
from tans_batching import vmap
from tans_core.errors import UnexpectedTracerError
from tans_xla import jit, make_jaxpr

f32 = np.float32


def tenfold():
    """sin(x) y with the rule 10 dx + dy."""

    @custom_jvp
    def f(x, y):
        return lax.mul(lax.sin(x), y)

    @f.defjvp
    def rule(primals, tangents):
        return f(*primals), lax.add(lax.mul(10.0, tangents[0]), tangents[1])

    return f


def test_forward_and_reverse_use_the_rule():
    f = tenfold()
    assert float(jvp(f, (1.0, 2.0), (1.0, 0.0))[1]) == 10.0
    assert list(map(float, grad(f, (0, 1))(1.0, 2.0))) == [10.0, 1.0]


@pytest.mark.parametrize("wrap", [jit])
def test_inside_jit(wrap):
    f = tenfold()
    assert list(map(float, grad(wrap(f), (0, 1))(1.0, 2.0))) == [10.0, 1.0]
    assert list(map(float, jit(grad(f, (0, 1)))(1.0, 2.0))) == [10.0, 1.0]


def test_under_vmap_with_a_shared_argument():
    f = tenfold()
    y = np.arange(3, dtype=f32)

    def mapped(x):
        return lax.reduce_sum(vmap(f, in_axes=(None, 0))(x, y), (0,))

    assert float(grad(mapped)(1.0)) == 30.0
    assert float(grad(jit(mapped))(1.0)) == 30.0
    tangents = jvp(vmap(f, in_axes=(None, 0)), (1.0, y), (1.0, np.ones(3, f32)))[1]
    np.testing.assert_array_equal(tangents, [11, 11, 11])


def test_inside_scan():
    f = tenfold()

    def body(c, x):
        return (f(c, x), None)

    def loop(c):
        return lax.scan(body, c, np.ones(2, f32))[0]

    assert float(grad(loop)(0.5)) == 100.0


def test_without_tangents_the_function_runs_not_the_rule():
    f = custom_jvp(lax.sin)
    f.defjvp(lambda primals, tangents: 1 / 0)
    assert float(f(0.0)) == 0.0
    assert float(grad(lambda x: lax.mul(x, f(0.5)))(1.0)) == pytest.approx(np.sin(0.5))


def test_defjvps_sums_contributions():
    f = custom_jvp(lax.mul)
    f.defjvps(lambda t, out, x, y: lax.mul(7.0, t), None)
    assert list(map(float, grad(f, (0, 1))(2.0, 3.0))) == [7.0, 0.0]


def test_nondiff_arguments_come_first():
    @custom_jvp
    def plain(n, x):
        return x

    f = custom_jvp(lambda n, x: x, nondiff_argnums=(0,))
    f.defjvp(lambda n, primals, tangents: (primals[0], lax.mul(100.0 * n, tangents[0])))
    assert float(grad(lambda x: f(3, x))(1.0)) == 300.0
    named = custom_jvp(lambda x, n: x, nondiff_argnames=("n",))
    named.defjvp(lambda n, primals, tangents: (primals[0], lax.mul(100.0 * n, tangents[0])))
    assert float(grad(lambda x: named(x, n=3))(1.0)) == 300.0


def test_symbolic_zeros_reach_the_rule():
    seen = []
    f = custom_jvp(lax.mul)

    def rule(primals, tangents):
        seen.extend(tangents)
        return lax.mul(*primals), tangents[0]

    f.defjvp(rule, symbolic_zeros=True)
    assert float(jvp(lambda x: f(x, 2.0), (1.0,), (1.0,))[1]) == 1.0
    assert type(seen[1]) is SymbolicZero
    f.defjvp(lambda primals, tangents: (lax.mul(*primals), tangents[1]), symbolic_zeros=True)
    assert float(grad(lambda x: f(x, 2.0))(1.0)) == 0.0


def test_keyword_arguments_and_defaults_are_bound_to_positions():
    @custom_jvp
    def f(x, scale=2.0):
        return lax.mul(x, scale)

    f.defjvp(lambda primals, tangents: (f(*primals), lax.mul(primals[1], tangents[0])))
    assert float(grad(f)(1.0)) == 2.0
    assert float(grad(lambda x: f(scale=5.0, x=x))(1.0)) == 5.0
    with pytest.raises(TypeError, match="positional"):
        f(1.0, y=2.0)


def test_trees_in_and_out():
    f = custom_jvp(lambda d: {"out": lax.mul(d["a"], d["b"])})
    f.defjvp(lambda p, t: (f(*p), {"out": lax.mul(4.0, t[0]["a"])}))
    result = grad(lambda d: f(d)["out"])({"a": 2.0, "b": 3.0})
    assert (float(result["a"]), float(result["b"])) == (4.0, 0.0)


def test_integer_outputs():
    f = custom_jvp(lambda x: (x, 3))
    f.defjvp(lambda p, t: ((p[0], 3), (t[0], np.zeros((), [("float0", np.void, 0)]))))
    assert float(grad(lambda x: f(x)[0])(1.0)) == 1.0


def test_second_order_differentiates_the_rule():
    f = custom_jvp(lax.sin)
    f.defjvp(lambda p, t: (lax.sin(*p), lax.mul(lax.square(p[0]), t[0])))
    assert float(grad(grad(f))(3.0)) == 6.0


def test_captured_tracer_of_an_enclosing_jit():
    def h(y, x):
        f = custom_jvp(lambda x: lax.mul(x, y))
        f.defjvp(lambda p, t: (lax.mul(p[0], y), lax.mul(lax.mul(t[0], y), 7.0)))
        return f(x)

    assert float(grad(lambda x: jit(h)(2.0, x))(3.0)) == 14.0
    assert float(jit(grad(lambda x: h(2.0, x)))(3.0)) == 14.0
    with pytest.raises(UnexpectedTracerError, match="argument"):
        grad(lambda y: jit(h)(y, 3.0))(2.0)
    with pytest.raises(UnexpectedTracerError):
        grad(lambda y: h(y, 3.0))(2.0)


def test_methods_can_be_decorated():
    class Model:
        scale = 2.0

        @custom_jvp
        def __call__(self, x):
            return x

    Model.__call__.defjvp(lambda p, t: None)
    assert float(Model.__call__.fun(None, 1.0)) == 1.0


def test_printed_form():
    text = str(make_jaxpr(tenfold())(1.0, 2.0))
    assert "custom_jvp_call[" in text
    assert "jvp=rule" in text


def misuse(rule, call=lambda f: jvp(f, (1.0,), (1.0,))):
    f = custom_jvp(lambda x: x)
    if rule is not None:
        f.defjvp(rule)
    return call(f)


@pytest.mark.parametrize(
    ("rule", "error", "facts"),
    [
        (None, AttributeError, ["no rule", "defjvp"]),
        (lambda p, t: p, TypeError, ["two things"]),
        (lambda p, t: (p[0], (t[0],)), TypeError, ["structure"]),
        (lambda p, t: (p[0], lax.convert_element_type(t[0], "float16")), TypeError, ["float16"]),
        (lambda p, t: (p[0], lax.broadcast(t[0], (2,))), TypeError, ["float32[2]"]),
    ],
)
def test_rule_checks(rule, error, facts):
    with pytest.raises(error) as caught:
        misuse(rule)
    for fact in facts:
        assert fact in str(caught.value)


def test_defjvps_refuses_nondiff_arguments():
    f = custom_jvp(lambda n, x: x, nondiff_argnums=(0,))
    with pytest.raises(TypeError, match="nondiff"):
        f.defjvps(None)


def test_primal_output_must_have_the_function_structure():
    f = custom_jvp(lambda x: x)
    f.defjvp(lambda p, t: ((p[0],), (t[0],)))
    with pytest.raises(TypeError, match="structure"):
        grad(jit(f))(1.0)


@pytest.mark.parametrize("wrap", [lambda f: f, jit], ids=["eager", "jit"])
def test_a_rule_may_give_a_constant_as_its_primal_result(wrap):
    f = custom_jvp(lambda x: lax.mul(x, 2.0))
    f.defjvp(lambda primals, tangents: (lax.full((), 3.0), tangents[0]))
    x = np.arange(3, dtype=f32)
    value, slope = jvp(wrap(f), (1.0,), (5.0,))
    assert (float(value), float(slope)) == (3, 5)
    assert float(wrap(grad(f))(1.0)) == 1
    outs, slopes = jvp(wrap(vmap(f)), (x,), (x,))
    np.testing.assert_array_equal(outs, [3, 3, 3])
    np.testing.assert_array_equal(slopes, x)
    total = lambda x: lax.reduce_sum(vmap(f)(x), (0,))  # noqa: E731
    np.testing.assert_array_equal(wrap(grad(total))(x), [1, 1, 1])


@pytest.mark.parametrize(
    "rule",
    [lambda p, t: (p[0], t[0]), lambda p, t: (lax.full((), 3.0), t[0])],
    ids=["output", "tangent"],
)
def test_a_rule_that_maps_what_the_function_does_not(rule):
    f = custom_jvp(lambda x: lax.full((), 3.0))
    f.defjvp(rule)
    x = np.arange(3, dtype=f32)
    np.testing.assert_array_equal(jvp(vmap(f), (x,), (x,))[1], x)
    with pytest.raises(ValueError, match=r"same for all; expected .* depend on the mapped"):
        jvp(jit(vmap(f)), (x,), (x,))
