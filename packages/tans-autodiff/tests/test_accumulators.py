"""Accumulators of the backward pass, and rules that push into them; vector A37."""

import numpy as np
import pytest

import tans_lax as lax
from tans_autodiff import (
    NullAccum,
    RefAccum,
    ValAccum,
    ad,
    custom_gradient,
    custom_vjp,
    grad,
    vjp,
)
from tans_batching import vmap
from tans_core import Zero, tree, typeof
from tans_xla import jit, make_jaxpr

f32 = np.float32


def product(seen=None):
    f = custom_vjp(lax.mul)

    def bwd(res, g, x_bar, y_bar):
        if seen is not None:
            seen.append((type(x_bar), type(y_bar)))
        x, y = res
        x_bar.accum(lax.mul(lax.mul(10.0, g), y))
        y_bar.accum(lax.mul(g, x))
        return {"g": g}

    f.defvjp_with_accums(lambda x, y: (lax.mul(x, y), (x, y)), bwd)
    return f


@pytest.mark.parametrize("wrap", [lambda f: f, jit], ids=["plain", "jit"])
def test_a_rule_pushes_into_accumulators(wrap):
    _, f_vjp = vjp(wrap(product()), 2.0, 3.0)
    (x_bar, y_bar), logs = f_vjp.with_logs(1.0)
    assert [float(x_bar), float(y_bar), float(logs["g"])] == [30.0, 2.0, 1.0]


def test_arguments_that_do_not_move_have_null_accumulators():
    seen = []
    assert float(grad(product(seen))(2.0, 3.0)) == 30.0
    _, f_vjp = vjp(product(seen), 2.0, 3.0)
    assert f_vjp.with_refs(ad.GradValue(), ad.DontWant())(1.0)[1] == ad.DidntWant()
    assert seen == [(ValAccum, NullAccum)] * 2


def test_accumulators_under_vmap():
    xs = np.arange(3, dtype=f32)
    np.testing.assert_array_equal(vmap(grad(product()))(xs, np.ones(3, f32)), [10.0] * 3)
    (found,) = vjp(lambda x: vmap(product(), in_axes=(0, None))(x, 2.0), xs)[1](np.ones(3, f32))
    np.testing.assert_array_equal(found, [20.0] * 3)


def test_accumulators_mirror_the_arguments():
    f = custom_vjp(lambda d: lax.mul(d["a"], d["b"][0]))

    def bwd(d, g, d_bar):
        d_bar["a"].accum(lax.mul(g, d["b"][0]))
        d_bar["a"].accum(1.0)
        d_bar["b"][0].accum(None)

    f.defvjp_with_accums(lambda d: (lax.mul(d["a"], d["b"][0]), d), bwd)
    found = grad(f)({"a": 2.0, "b": [3.0]})
    assert tree.map(float, found) == {"a": 4.0, "b": [0.0]}


def test_A37_custom_gradient_with_accumulators():
    def f(x, y):
        def pull(g, x_bar, y_bar):
            x_bar.accum(lax.mul(lax.mul(10.0, g), y))
            y_bar.accum(lax.mul(g, x))

        return lax.mul(x, y), pull

    for classes in (ValAccum, (ValAccum, ValAccum)):
        g = custom_gradient(f, with_accums=classes)
        assert list(map(float, grad(g, (0, 1))(2.0, 3.0))) == [30.0, 2.0]
        assert float(jit(grad(g))(2.0, 3.0)) == 30.0


def test_custom_gradient_shows_null_accumulators_of_arguments_at_rest():
    seen = []

    def f(x, y):
        def pull(g, x_bar, y_bar):
            seen.append((type(x_bar), type(y_bar)))
            x_bar.accum(g)

        return lax.mul(x, y), pull

    grad(custom_gradient(f, with_accums=ValAccum))(2.0, 3.0)
    assert seen == [(ValAccum, NullAccum)]


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"with_accums": True}, TypeError, "True"),
        ({"with_accums": [ValAccum]}, ValueError, "prefix"),
        ({"with_accums": ValAccum, "remat": True}, NotImplementedError, "remat"),
    ],
)
def test_wrong_requests_are_refused(options, error, text):
    with pytest.raises(error, match=text):
        custom_gradient(lambda x: (x, lambda g, a: a.accum(g)), **options)(1.0)


def test_a_contribution_of_another_shape_is_refused():
    total = ValAccum(typeof(np.ones(3, f32)))
    with pytest.raises(ValueError, match=r"float32\[2\].*float32\[3\]"):
        total.accum(np.ones(2, f32))
    assert type(total.freeze()) is Zero


def test_accumulators_start_from_nothing():
    aval = typeof(1.0)
    for kind in (ValAccum, RefAccum, NullAccum):
        total = kind(aval)
        total.accum(None)
        total.accum(Zero(aval))
        assert type(total.freeze()) is Zero
    total.accum(3.0)
    total.accum_at(None, 3.0, None)
    assert type(total.freeze()) is Zero
    part = ValAccum(typeof(np.ones(3, f32)))
    part.accum_at(None, np.ones(1, f32), lambda ct: lax.pad(ct, f32(0), [(1, 1, 0)]))
    np.testing.assert_array_equal(part.freeze(), [0, 1, 0])


def test_what_nobody_wants_is_not_computed():
    w, x = np.ones((2, 2), f32), np.ones(2, f32)
    _, f_vjp = vjp(lax.dot, w, x)
    pull = f_vjp.with_refs(ad.GradValue(), ad.DontWant())
    text = str(make_jaxpr(lambda ct: pull(ct)[0])(x))
    assert text.count("dot_general") == 1
    found, other = pull(x)
    np.testing.assert_array_equal(found, np.ones((2, 2)))
    assert other == ad.DidntWant()


def test_entries_mirror_the_arguments():
    _, f_vjp = vjp(lambda d, n: lax.mul(d["a"], d["b"]), {"a": 2.0, "b": 3.0}, 1)
    found = f_vjp.with_refs({"a": ad.GradValue(), "b": ad.DontWant()}, ad.DontWant())(1.0)
    assert float(found[0]["a"]) == 3.0
    assert found[0]["b"] == found[1] == ad.DidntWant()
    assert tree.leaves(found[1]) == []
    for wrong in ((None,), (1.0, None), ({"a": None, "b": 1.0}, 1.0), ({"a": 1.0}, 1.0)):
        with pytest.raises(ValueError, match=r"structure.*None"):
            f_vjp.with_refs(*wrong)
