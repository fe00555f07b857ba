"""What rules report from the backward pass: `VJP.with_logs`; vectors V19 and V20."""

import numpy as np
import pytest

import tans_lax as lax
from tans_autodiff import checkpoint, custom_gradient, custom_vjp, grad, vjp
from tans_batching import vmap
from tans_core import tree
from tans_lax.control_flow.cond.transposition import CondSum
from tans_xla import jit


def square(key):
    """Return the square whose backward rule logs its cotangent under a key."""
    f = custom_vjp(lax.square)
    f.defvjp_with_logs(
        lambda x: (lax.square(x), x),
        lambda x, g: ((lax.mul(lax.mul(2.0, x), g),), {key: g}),
    )
    return f


def floats(tree_):
    return tree.map(lambda x: np.asarray(x).tolist(), tree_)


@pytest.mark.parametrize("wrap", [lambda f: f, jit, checkpoint], ids=["plain", "jit", "checkpoint"])
def test_V19_logs_of_a_custom_rule(wrap):
    _, f_vjp = vjp(wrap(square("g")), 3.0)
    assert floats(f_vjp.with_logs(1.0)) == ((6.0,), {"g": 1.0})
    assert floats(f_vjp(1.0)) == (6.0,)
    assert tree.map(lambda x: x, f_vjp.with_logs).want_logs


def test_V20_a_repeated_key_is_refused_also_without_logs():
    f = square("g")
    _, f_vjp = vjp(lambda x: f(f(x)), 3.0)
    calls = [
        lambda: f_vjp(1.0),
        lambda: f_vjp.with_logs(1.0),
        lambda: grad(lambda x: f(f(x)))(3.0),
    ]
    for call in calls:
        with pytest.raises(ValueError, match="key 'g'"):
            call()


def test_logs_of_a_scan_are_stacked_in_forward_order():
    f = square("g")
    _, f_vjp = vjp(lambda x: lax.scan(lambda c, _: (f(c), None), x, None, length=3)[0], 1.5)
    (slope,), logs = f_vjp.with_logs(1.0)
    # With x, x^2, x^4 as the inputs of the three steps.
    np.testing.assert_allclose(logs["g"], [4 * 1.5**6, 2 * 1.5**4, 1.0], rtol=1e-6)
    np.testing.assert_allclose(slope, 8 * 1.5**7, rtol=1e-6)


def test_logs_of_a_cond_are_a_sum_over_its_branches():
    def f(x):
        def double(x):
            return lax.mul(square("other")(x), 2.0)

        def nested(x):
            return lax.cond(lax.gt(x, -9.0), double, square("g"), x)

        return lax.cond(lax.gt(x, 0.0), square("g"), nested, x)

    (slope,), logs = vjp(f, 3.0)[1].with_logs(1.0)
    assert float(slope) == 6.0
    assert sorted(logs) == ["g", "other"]
    assert int(logs["g"].index) == 1
    inner, ran = logs["g"].branches
    assert float(ran) == 1.0
    assert isinstance(inner, CondSum)
    assert [None if b is None else float(b) for b in inner.branches] == [0.0, None]
    assert logs["other"].branches[1] is None
    (slope,), logs = vjp(f, -3.0)[1].with_logs(1.0)
    assert float(slope) == -12.0
    assert int(logs["other"].index) == 0
    assert float(logs["other"].branches[0].branches[1]) == 2.0


def test_logs_of_a_mapped_rule_have_a_leading_axis():
    xs = np.arange(3, dtype=np.float32)
    cts = 2 * np.ones(3, np.float32)
    logs = vjp(vmap(square("g")), xs)[1].with_logs(cts)[1]
    np.testing.assert_array_equal(logs["g"], cts)
    logs = vmap(lambda x: vjp(square("g"), x)[1].with_logs(3.0)[1])(xs)
    np.testing.assert_array_equal(logs["g"], [3.0, 3.0, 3.0])


def test_a_log_that_nobody_reads_is_not_compiled():
    f = custom_vjp(lambda x: x)
    f.defvjp_with_logs(lambda x: (x, None), lambda _, g: ((g,), {"root": lax.sqrt(g)}))
    assert "sqrt" not in jit(grad(lambda x: f(lax.square(x)))).lower(3.0).as_text()
    logged = jit(lambda x: vjp(f, x)[1].with_logs(x)).lower(3.0)
    assert "sqrt" in logged.as_text()


@pytest.mark.parametrize("key", ["name", 7, ("a", 1)])
def test_keys_are_any_hashable(key):
    assert floats(vjp(square(key), 3.0)[1].with_logs(1.0)[1]) == {key: 1.0}


@pytest.mark.parametrize(
    ("bwd", "given"),
    [(lambda x, g: (g,), "pair"), (lambda x, g: ((g,), [g]), "list")],
    ids=["no pair", "no dict"],
)
def test_other_results_of_a_logging_rule_are_refused(bwd, given):
    f = custom_vjp(lax.square)
    f.defvjp_with_logs(lambda x: (lax.square(x), x), bwd)
    with pytest.raises(TypeError, match=given):
        vjp(f, 3.0)[1](1.0)


def test_none_is_no_log():
    f = custom_vjp(lambda x: x)
    f.defvjp_with_logs(lambda x: (x, None), lambda _, g: ((g,), None))
    assert floats(vjp(f, 3.0)[1].with_logs(1.0)) == ((1.0,), {})


def test_custom_gradient_with_logs():
    f = custom_gradient(
        lambda x: (lax.square(x), lambda g: (lax.mul(g, x), {"q": g})), with_logs=True
    )
    assert floats(vjp(f, 3.0)[1].with_logs(1.0)) == ((3.0,), {"q": 1.0})
    bad = custom_gradient(lambda x: (x, lambda g: g), with_logs=True)
    with pytest.raises(TypeError, match="with_logs"):
        vjp(bad, 3.0)


def test_a_remat_rule_logs():
    f = custom_vjp(lax.sin)
    f.defremat_with_logs(
        lambda x: (lax.sin(x), ()),
        lambda _, x: (lax.sin(x), lax.cos(x)),
        lambda cosine, g: ((lax.mul(g, cosine),), {"slope": cosine}),
    )
    for g in (f, checkpoint(f)):
        assert floats(vjp(g, 0.0)[1].with_logs(1.0)) == ((1.0,), {"slope": 1.0})
