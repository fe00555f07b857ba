"""custom_vjp: the rules run in reverse mode, everywhere."""

import numpy as np
import pytest

import tans_lax as lax
from tans_autodiff import (
    CustomVJPPrimal,
    SymbolicZero,
    custom_vjp,
    custom_vjp_primal_tree_values,
    grad,
    hessian,
    jvp,
    linearize,
    vjp,
)
from tans_batching import vmap
from tans_core.config import default_matmul_precision
from tans_core.errors import UnexpectedTracerError
from tans_xla import jit, make_jaxpr

f32 = np.float32


def scaled(factor=10.0):
    """x y with the rule (factor g, None)."""
    f = custom_vjp(lax.mul)
    f.defvjp(lambda x, y: (lax.mul(x, y), None), lambda _, g: (lax.mul(factor, g), None))
    return f


def test_rule_is_used():
    assert list(map(float, grad(scaled(), (0, 1))(2.0, 3.0))) == [10.0, 0.0]
    assert float(scaled()(2.0, 3.0)) == 6.0


def test_inside_and_outside_jit():
    f = scaled()
    assert float(grad(jit(f))(2.0, 3.0)) == 10.0
    assert float(jit(grad(f))(2.0, 3.0)) == 10.0
    assert float(jit(grad(jit(f)))(2.0, 3.0)) == 10.0


def test_inside_scan_and_cond():
    f = scaled(2.0)

    def loop(x):
        return lax.scan(lambda c, _: (f(c, 1.0), None), x, None, length=3)[0]

    assert float(grad(loop)(1.0)) == 8.0

    def branch(x):
        return lax.cond(lax.gt(x, 0.0), lambda x: f(x, 1.0), lax.neg, x)

    assert [float(grad(branch)(x)) for x in (1.0, -1.0)] == [2.0, -1.0]


@pytest.mark.parametrize("out_axes", [(0, 0), (1, 1), (0, 1)])
def test_under_vmap_the_backward_rule_gets_cotangents_of_elements(out_axes):
    # Of two outputs one has no cotangent; the rule still sees zeros of one element's shape.
    seen = []

    @custom_vjp
    def f(x):
        return lax.sin(x), lax.cos(x)

    def backward(x, cts):
        seen.extend(ct.shape for ct in cts)
        return (lax.add(lax.mul(cts[0], lax.cos(x)), lax.mul(cts[1], x)),)

    f.defvjp(lambda x: (f(x), x), backward)
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    used = lambda x: lax.reduce_sum(vmap(f, 0, out_axes)(x)[0], (0, 1))  # noqa: E731
    np.testing.assert_allclose(grad(used)(x), np.cos(x), rtol=1e-6)
    assert set(seen) == {(3,)}


def test_under_vmap_cotangents_of_shared_arguments_are_summed():
    f = custom_vjp(lax.mul)
    f.defvjp(
        lambda x, y: (lax.mul(x, y), (x, y)), lambda r, g: (lax.mul(g, r[1]), lax.mul(g, r[0]))
    )
    y = np.arange(3, dtype=f32)
    mapped = vmap(f, in_axes=(None, 0))

    def total(x, y):
        return lax.reduce_sum(mapped(x, y), (0,))

    for g in (grad(total, (0, 1)), jit(grad(total, (0, 1))), grad(jit(total), (0, 1))):
        dx, dy = g(2.0, y)
        assert float(dx) == 3.0
        np.testing.assert_array_equal(dy, [2, 2, 2])
    each = vmap(grad(f), in_axes=(None, 0))(2.0, y)
    np.testing.assert_array_equal(each, y)


def test_none_stands_for_a_leaf_or_a_subtree():
    f = custom_vjp(lambda d: lax.mul(d["a"], d["b"]))
    f.defvjp(lambda d: (f(d), None), lambda _, g: (None,))
    result = grad(f)({"a": 2.0, "b": 3.0})
    assert [float(result[k]) for k in "ab"] == [0.0, 0.0]
    f.defvjp(lambda d: (f(d), None), lambda _, g: ({"a": g, "b": None},))
    result = grad(f)({"a": 2.0, "b": 3.0})
    assert [float(result[k]) for k in "ab"] == [1.0, 0.0]


def test_a_list_is_accepted_for_the_tuple():
    f = custom_vjp(lax.mul)
    f.defvjp(lambda x, y: (lax.mul(x, y), None), lambda _, g: [g, g])
    assert float(grad(f)(2.0, 3.0)) == 1.0


def test_integer_arguments_take_any_cotangent():
    f = custom_vjp(lambda x, n: x)
    for ct in (None, 7, np.zeros((), [("float0", np.void, 0)])):
        f.defvjp(lambda x, n: (x, None), lambda _, g, ct=ct: (g, ct))
        assert float(grad(f)(2.0, 3)) == 1.0


def test_cotangent_of_another_precision_is_converted():
    f = custom_vjp(lambda x: x)
    f.defvjp(lambda x: (x, None), lambda _, g: (lax.convert_element_type(g, "float16"),))
    assert grad(f)(f32(1)).dtype == np.float32


def test_nondiff_arguments_go_first_to_the_backward_rule():
    f = custom_vjp(lambda n, x: x, nondiff_argnums=(0,))
    f.defvjp(lambda n, x: (x, x), lambda n, res, g: (lax.mul(g, 1.0 * n),))
    assert float(grad(lambda x: f(3, x))(1.0)) == 3.0
    with pytest.raises(UnexpectedTracerError, match="nondiff"):
        jit(lambda n: f(n, 1.0))(2.0)


def test_symbolic_zeros():
    seen = {}
    f = custom_vjp(lambda x, y: (lax.mul(x, y), y))

    def fwd(x, y):
        seen["perturbed"] = x.perturbed, y.perturbed
        assert isinstance(x, CustomVJPPrimal)
        x, y = custom_vjp_primal_tree_values((x, y))
        return (lax.mul(x, y), y), y

    def bwd(y, ct):
        seen["ct"] = ct
        return lax.mul(ct[0], y), None

    f.defvjp(fwd, bwd, symbolic_zeros=True)
    assert float(grad(lambda x: f(x, 3.0)[0])(2.0)) == 3.0
    assert seen["perturbed"] == (True, False)
    assert type(seen["ct"][1]) is SymbolicZero


def test_forward_mode_is_refused_but_over_reverse_it_works():
    f = scaled()
    for run in (
        lambda: jvp(lambda x: f(x, 1.0), (1.0,), (1.0,)),
        lambda: linearize(lambda x: f(x, 1.0), 1.0)[1](1.0),
    ):
        with pytest.raises(TypeError, match="forward-mode"):
            run()
    g = custom_vjp(lax.sin)
    g.defvjp(lambda x: (lax.sin(x), x), lambda x, ct: (lax.mul(ct, lax.cos(x)),))
    assert float(hessian(g)(1.0)) == pytest.approx(-np.sin(1.0), rel=1e-6)
    assert float(grad(grad(g))(1.0)) == pytest.approx(-np.sin(1.0), rel=1e-6)


def test_captured_tracer_of_an_enclosing_jit():
    def h(y, x):
        f = custom_vjp(lambda x: lax.mul(x, y))
        f.defvjp(lambda x: (lax.mul(x, y), y), lambda y, g: (lax.mul(lax.mul(g, y), 7.0),))
        return f(x)

    assert float(grad(lambda x: jit(h)(2.0, x))(3.0)) == 14.0
    assert float(jit(grad(lambda x: h(2.0, x)))(3.0)) == 14.0
    with pytest.raises(UnexpectedTracerError, match="argument"):
        grad(lambda y: jit(h)(y, 3.0))(2.0)
    with pytest.raises(UnexpectedTracerError, match="argument"):
        grad(lambda y: h(y, 3.0))(2.0)


def test_rules_run_under_the_context_of_the_call():
    seen = []
    f = custom_vjp(lax.sin)

    def bwd(x, g):
        seen.append(default_matmul_precision.value)
        return (g,)

    def fwd(x):
        seen.append(default_matmul_precision.value)
        return lax.sin(x), x

    f.defvjp(fwd, bwd)

    @jit
    def inner(x):
        with default_matmul_precision("highest"):
            return f(x)

    grad(inner)(1.0)
    assert seen[0] == "highest"


def test_rules_are_traced_lazily():
    traced = []
    f = custom_vjp(lax.sin)
    f.defvjp(lambda x: traced.append("fwd") or (lax.sin(x), x), lambda x, g: (g,))
    jit(f)(1.0)
    assert traced == []


def test_printed_form():
    text = str(make_jaxpr(scaled())(1.0, 2.0))
    assert "custom_vjp_call[" in text


@pytest.mark.parametrize(
    ("fwd", "bwd", "error", "facts"),
    [
        (None, None, AttributeError, ["no rule", "defvjp"]),
        (lambda x: x, lambda r, g: (g,), TypeError, ["two things"]),
        (lambda x: (x, None), lambda r, g: g, TypeError, ["structure", "tuple"]),
        (lambda x: (x, None), lambda r, g: (g, g), TypeError, ["structure"]),
        (lambda x: (x, None), lambda r, g: (np.ones(3, f32),), ValueError, ["float32[3]"]),
    ],
)
def test_rule_checks(fwd, bwd, error, facts):
    f = custom_vjp(lambda x: x)
    if fwd is not None:
        f.defvjp(fwd, bwd)
    with pytest.raises(error) as caught:
        grad(f)(1.0)
    for fact in facts:
        assert fact in str(caught.value)


def test_residuals_are_leaves_of_the_vjp_object():
    f = custom_vjp(lax.sin)
    f.defvjp(lambda x: (lax.sin(x), {"x": lax.cos(x)}), lambda r, g: (lax.mul(r["x"], g),))
    _, f_vjp = vjp(f, 0.0)
    assert [float(r) for r in f_vjp.opaque_residuals] == [1.0]


@pytest.mark.parametrize("wrap", [lambda f: f, jit], ids=["eager", "jit"])
def test_outputs_that_elements_share_have_one_cotangent(wrap):
    def first(generic):
        f = custom_vjp(lambda x, y: x)
        f.defvjp(lambda x, y: (x, y), lambda y, ct: (lax.mul(ct, y), ct), generic_batching=generic)
        return lambda x, y: lax.reduce_sum(vmap(lambda e: f(x, e))(y), (0,))

    y = np.array([1, 2, 3], f32)
    x_bar, y_bar = wrap(grad(first(True), (0, 1)))(2.0, y)
    assert float(x_bar) == 3.0
    np.testing.assert_array_equal(y_bar, [3, 0, 0])
    with pytest.raises(ValueError, match="generic_batching=True"):
        wrap(grad(first(False), (0, 1)))(2.0, y)


@pytest.mark.parametrize("wrap", [lambda f: f, jit], ids=["eager", "jit"])
def test_a_value_that_the_backward_rule_captured_is_refused(wrap):
    def outer(x):
        inner = custom_vjp(lax.sin)
        inner.defvjp(lambda y: (lax.sin(y), None), lambda _, ct: (lax.mul(ct, x),))
        return inner(lax.mul(x, 2.0))

    with pytest.raises(UnexpectedTracerError, match="with the residuals"):
        wrap(grad(outer))(1.0)


def test_a_tracer_leaked_out_of_a_rule_is_refused():
    leaked = []
    f = custom_vjp(lax.sin)
    f.defvjp(lambda x: (leaked.append(x) or lax.sin(x), x), lambda x, ct: (ct,))
    jit(grad(f))(1.0)
    with pytest.raises(UnexpectedTracerError, match="argument x"):
        lax.add(leaked[0], 1.0)
