"""cond and switch."""

import numpy as np
import pytest

from tans_autodiff import custom_jvp, grad, jvp, linear_transpose, linearize, vjp
from tans_batching import vmap
from tans_core import config, dce_jaxpr
from tans_lax.control_flow.cond import cond, cond_p, switch
from tans_lax.elementwise.arithmetic import add, div, mul, neg
from tans_lax.elementwise.comparison import gt
from tans_lax.elementwise.exponential import exp, log
from tans_lax.elementwise.trigonometric import cos, sin
from tans_lax.reductions import reduce_sum
from tans_xla import jit, make_jaxpr


def conds(jaxpr):
    return [e for e in jaxpr.eqns if e.primitive is cond_p]


def total(x):
    return reduce_sum(x, tuple(range(x.ndim)))


@pytest.mark.parametrize("pred", [True, False, np.bool_(True), 1, 0.0, np.float32(2)])
def test_cond_picks_a_branch(pred):
    f = lambda x: add(x, 1)  # noqa: E731
    want = 5 if pred else -4
    assert int(cond(pred, f, neg, 4)) == want
    assert int(jit(lambda p: cond(p, f, neg, 4))(pred)) == want


def test_cond_without_operands():
    x = np.float32(3)
    assert float(cond(True, lambda: mul(x, x), lambda: x)) == 9.0
    assert float(jit(lambda p, y: cond(p, lambda: mul(y, y), lambda: y))(False, x)) == 3.0


def test_cond_with_named_operand_and_old_form():
    assert int(cond(True, lambda x: x, neg, operand=3)) == 3
    assert cond(True, lambda x: x, lambda x: x, operand=None) is None
    assert float(cond(False, 1.0, lambda x: x, 2.0, neg)) == -2.0


def test_only_the_chosen_branch_runs():
    text = jit(lambda p, x: cond(p, sin, cos, x)).lower(True, np.float32(1)).as_text()
    assert text.count("stablehlo.case") == 1
    assert text.count("stablehlo.sine") == text.count("stablehlo.cosine") == 1


@pytest.mark.parametrize(
    ("index", "want"),
    [(0, 3), (1, -3), (2, 9), (7, 9), (-2, 3), (np.uint32(2**32 - 1), 9), (np.int8(1), -3)],
)
def test_switch_clamps_the_index(index, want):
    branches = [lambda x: x, neg, lambda x: mul(x, x)]
    assert int(switch(index, branches, 3)) == want
    assert int(jit(lambda i: switch(i, branches, 3))(index)) == want


def test_switch_with_one_branch_calls_it():
    assert make_jaxpr(lambda i: switch(i, [lambda x: x], 3.0))(1).eqns == []


def test_weak_results_adapt():
    out = jit(lambda p: cond(p, lambda: 1.0, lambda: np.float32(2)))(True)
    assert out.dtype == np.float32
    assert not out.weak_type
    out = jit(lambda p: cond(p, lambda: 1.0, lambda: np.float16(2)))(True)
    assert out.dtype == np.float16


def test_branches_that_capture_different_values():
    a, b = np.ones(2, np.float32), np.full(2, 2, np.float32)
    f = jit(lambda p, x: cond(p, lambda: add(x, a), lambda: mul(mul(x, b), a)))
    np.testing.assert_array_equal(f(True, a), [2, 2])
    np.testing.assert_array_equal(f(False, b), [4, 4])


def test_derivative_rules_of_branches_capture_different_values():
    def scaled(*factors):
        f = custom_jvp(lambda x: x)

        def rule(primals, tangents):
            (dot,) = tangents
            for factor in factors:
                dot = mul(dot, factor)
            return primals[0], dot

        f.defjvp(rule)
        return f

    def program(i, x, a, b, c):
        return switch(i, [scaled(a), scaled(b, c), scaled(c)], x)

    slopes = jit(grad(program, 1))
    found = [float(slopes(i, 1.0, 2.0, 3.0, 5.0)) for i in range(3)]
    assert found == [2.0, 15.0, 5.0]


def test_gradient_of_the_branch_taken():
    # Vector A27.
    f = lambda x: cond(gt(x, 0.0), lambda x: mul(x, x), neg, x)  # noqa: E731
    assert float(grad(f)(np.float32(3))) == 6.0
    assert float(grad(f)(np.float32(-3))) == -1.0
    assert float(jit(grad(f))(np.float32(3))) == 6.0
    assert float(grad(grad(f))(np.float32(3))) == 2.0


def test_jvp_and_linearize_agree():
    f = lambda p, x, y: cond(p, lambda: mul(sin(x), y), lambda: exp(x))  # noqa: E731
    args = (np.float32(0.3), np.float32(2))
    for p in (True, False):
        g = lambda x, y, p=p: f(p, x, y)  # noqa: E731
        _, dot = jvp(g, args, args)
        _, f_jvp = linearize(g, *args)
        np.testing.assert_allclose(f_jvp(*args), dot, rtol=1e-6)


def test_outputs_without_tangent_have_zeros_of_their_type():
    one, two = np.ones(3), np.ones((2, 1))
    f = lambda p, x: cond(p, lambda: (one, two, sin(x)), lambda: (one, two, x))  # noqa: E731
    x = np.float32(0.5)
    for p, slope in ((True, np.cos(x)), (False, 1)):
        _, found = jvp(lambda x, p=p: f(p, x), (x,), (np.float32(1),))
        _, f_jvp = linearize(lambda x, p=p: f(p, x), x)
        for dots in (found, f_jvp(np.float32(1))):
            assert [np.shape(t) for t in dots] == [(3,), (2, 1), ()]
            assert not np.any(dots[0])
            assert not np.any(dots[1])
            np.testing.assert_allclose(dots[2], slope, rtol=1e-6)


def test_branches_share_residual_slots():
    # Vector L4: one slot for sin, cos, 2x and exp, and the index.
    branches = [sin, cos, lambda x: mul(x, 2.0), exp]
    f = jit(lambda i, x: vjp(lambda x: switch(i, branches, x), x)[1])
    back = f(1, np.ones((2, 3), np.float32))
    assert sorted(x.shape for x in back.opaque_residuals) == [(), (2, 3)]
    for i, want in enumerate([np.cos(1), -np.sin(1), 2, np.exp(1)]):
        (got,) = f(i, np.ones((2, 3), np.float32))(np.ones((2, 3), np.float32))
        np.testing.assert_allclose(got, np.full((2, 3), want), rtol=1e-5)


def test_operands_are_residuals_as_they_are():
    x = np.ones((2, 3), np.float32)
    _, back = vjp(lambda x: total(cond(np.bool_(True), lambda x: mul(x, x), lambda x: x, x)), x)
    assert back.args_res[0] is not None
    assert all(r.shape == () for r in back.opaque_residuals)


def test_result_shared_by_all_branches_is_its_own_residual():
    def f(p, x):
        return cond(p, exp, lambda x: exp(mul(x, 1.0)), x)

    jaxpr = make_jaxpr(grad(f, argnums=1))(True, np.float32(1))
    forward, _ = conds(jaxpr)
    assert len(forward.outvars) <= 2


def test_vmap_of_the_operand_keeps_one_branch():
    f = lambda p, x: cond(p, sin, lambda x: x, x)  # noqa: E731
    jaxpr = make_jaxpr(vmap(f, in_axes=(None, 0)))(True, np.ones(3, np.float32))
    assert len(conds(jaxpr)) == 1


def test_vmap_of_the_predicate_selects():
    f = lambda p, x: cond(p, sin, lambda x: mul(x, 2.0), x)  # noqa: E731
    p, x = np.array([True, False, True]), np.arange(3, dtype=np.float32)
    jaxpr = make_jaxpr(vmap(f))(p, x)
    assert conds(jaxpr) == []
    np.testing.assert_allclose(vmap(f)(p, x), np.where(p, np.sin(x), 2 * x), rtol=1e-6)


def test_vmap_of_switch():
    branches = [lambda x: x, neg, lambda x: mul(x, x)]
    i, x = np.array([0, 1, 2, 9], np.int32), np.arange(4, dtype=np.float32)
    np.testing.assert_allclose(vmap(lambda i, x: switch(i, branches, x))(i, x), [0, -1, 4, 9])


def test_branch_not_taken_does_not_disturb_gradients():
    f = lambda x: cond(gt(x, 0.0), log, lambda x: mul(x, 2.0), x)  # noqa: E731
    x = np.array([2.0, 0.0, -1.0], np.float32)
    got = grad(lambda x: total(vmap(f)(x)))(x)
    np.testing.assert_allclose(got, [0.5, 2, 2])


def test_shared_operand_of_lanes_not_taken_does_not_disturb_gradients():
    f = lambda p, w: cond(p, lambda w: div(1.0, w), lambda w: mul(w, 2.0), w)  # noqa: E731
    p = np.array([False, False])
    got = grad(lambda w: total(vmap(f, in_axes=(0, None))(p, w)))(np.float32(0))
    np.testing.assert_allclose(got, 4)


def test_batched_cond_has_a_transpose():
    p = np.array([True, False])
    f = lambda x: vmap(lambda p, x: cond(p, lambda x: mul(x, 2.0), neg, x))(p, x)  # noqa: E731
    (got,) = linear_transpose(f, np.ones(2, np.float32))(np.ones(2, np.float32))
    np.testing.assert_allclose(got, [2, -1])


def test_dead_results_and_operands_are_removed():
    def f(p, x, y):
        return cond(p, lambda x, y: (x, sin(y)), lambda x, y: (neg(x), y), x, y)[0]

    one = np.float32(1)
    small, used = dce_jaxpr(make_jaxpr(f)(True, one, one), [True])
    (eqn,) = conds(small)
    assert used == [True, True, False]
    assert len(eqn.outvars) == 1


def test_cond_under_disable_jit_runs_one_python_branch():
    seen = []
    with config.disable_jit(True):
        cond(True, lambda: seen.append("t"), lambda: seen.append("f"))
    assert seen == ["t"]


@pytest.mark.parametrize(
    ("call", "error", "fact"),
    [
        (lambda: cond(np.ones(3), neg, neg, 1.0), TypeError, "scalar"),
        (lambda: cond("a", neg, neg, 1.0), TypeError, "pred = 'a'"),
        (lambda: cond(True, 1.0, 2.0), TypeError, "true_fun"),
        (
            lambda: cond(True, lambda x: x, lambda x: np.ones(3, np.float32), 1.0),
            TypeError,
            r"float32\[3\]",
        ),
        (
            lambda: cond(True, lambda x: {"a": x}, lambda x: {"a": (x,)}, 1.0),
            TypeError,
            r"result\['a'\]",
        ),
        (lambda: cond(True, lambda x: x, neg, "s"), TypeError, "operands"),
        (lambda: cond(True, lambda: np.float32(1), lambda: np.int32(1)), TypeError, "int32"),
        (lambda: switch(1.0, [neg, neg], 3.0), TypeError, "index"),
        (lambda: switch(True, [neg, neg], 3.0), TypeError, "bool"),
        (lambda: switch(np.ones(2, np.int32), [neg, neg], 3.0), TypeError, "index"),
        (lambda: switch(1, [], 3.0), ValueError, "branches"),
        (lambda: switch(1, [neg, 3], 3.0), TypeError, r"branches\[1\]"),
    ],
)
def test_bad_input_is_refused(call, error, fact):
    with pytest.raises(error, match=fact):
        call()
