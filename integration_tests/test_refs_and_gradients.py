"""Refs and the backward pass: gradients added to refs, refs inside of functions, refs in rules.

Vectors V10 to V12 and V23 of the autodiff part, and B18 of the hijax part.
"""

import numpy as np
import pytest

import tans
import tans.numpy as jnp
from tans import lax
from tans.ad_checkpoint import checkpoint_name
from tans_autodiff import NullAccum, RefAccum, ValAccum
from tans_refs import freeze, new_ref

GradValue, GradRef, DontWant, DidntWant = (
    tans.ad.GradValue,
    tans.ad.GradRef,
    tans.ad.DontWant,
    tans.ad.DidntWant,
)


@pytest.fixture
def v():
    """Return the pullback of sum(w * x)."""
    return tans.vjp(lambda w, x: (w * x).sum(), jnp.ones(3), jnp.arange(3.0))[1]


def test_V10_V11_gradients_are_added_to_a_ref(v):
    ref = new_ref(jnp.zeros(3))
    marker, gradient = v.with_refs(ref, GradValue())(1.0)
    assert marker == GradRef()
    np.testing.assert_array_equal(gradient, np.ones(3))
    np.testing.assert_array_equal(ref[...], [0, 1, 2])
    assert v.with_refs(ref, DontWant())(1.0) == (GradRef(), DidntWant())
    np.testing.assert_array_equal(ref[...], [0, 2, 4])


def test_V12_accumulation_in_a_loop():
    w, total = jnp.ones(3), new_ref(jnp.zeros(3))

    def body(i, carry):
        f_vjp = tans.vjp(lambda w: (w * i).sum(), w)[1]
        f_vjp.with_refs(total)(1.0)
        return carry

    lax.fori_loop(0, 4, body, 0)
    np.testing.assert_array_equal(total[...], [6, 6, 6])


@pytest.mark.parametrize("wanted", [True, False])
def test_V23_gradient_with_respect_to_a_ref(wanted):
    ref, slope = new_ref(jnp.array([1.0, 2.0])), new_ref(jnp.zeros(2))

    def f(ref, x):
        ref[...] = ref[...] * x
        return ref[...].sum()

    y, f_vjp = tans.vjp(f, ref, 3.0)
    assert float(y) == 9.0
    np.testing.assert_array_equal(ref[...], [3, 6])
    with pytest.raises(ValueError, match=r"args\[0\].*Ref-typed"):
        f_vjp(1.0)
    with pytest.raises(ValueError, match=r"args\[0\].*can't be returned as a value"):
        f_vjp.with_refs(GradValue(), GradValue())
    marker, found = f_vjp.with_refs(slope if wanted else DontWant(), GradValue())(1.0)
    assert marker == (GradRef() if wanted else DidntWant())
    assert float(found) == 3.0
    np.testing.assert_array_equal(slope[...], [3, 3] if wanted else [0, 0])


def test_the_pullback_and_the_ref_are_arguments_of_jit(v):
    ref = new_ref(jnp.zeros(3))
    add = tans.jit(lambda v, ref: v.with_refs(ref, DontWant())(2.0)[1])
    assert add(v, ref) == add(v, ref) == DidntWant()
    np.testing.assert_array_equal(ref[...], [0, 4, 8])


def test_a_ref_of_another_type_is_refused(v):
    for wrong in (jnp.zeros(2), jnp.zeros(3, jnp.int32), jnp.zeros((3, 1))):
        with pytest.raises(ValueError, match=r"args\[0\].*Ref\{float32\[3\]\}"):
            v.with_refs(new_ref(wrong), DontWant())
    integer = tans.vjp(lambda x, n: x * n, 3.0, 2)[1]
    with pytest.raises(ValueError, match=r"args\[1\]"):
        integer.with_refs(GradValue(), new_ref(2))


def test_B18_logs_and_refs_together():
    tap = tans.custom_vjp(lambda x: x)
    tap.defvjp_with_logs(lambda x: (x, None), lambda _, g: ((g,), {"z": jnp.sqrt(jnp.sum(g * g))}))
    f_vjp = tans.vjp(lambda x: (tap(x) ** 2).sum(), jnp.array([3.0, 4.0]))[1]
    ref = new_ref(jnp.zeros(2))
    markers, logs = f_vjp.with_logs.with_refs(ref)(1.0)
    assert markers == (GradRef(),)
    assert float(logs["z"]) == 10.0
    np.testing.assert_array_equal(ref[...], [6, 8])


INDEXINGS = {
    "slice": (lambda x: x[2:8:2], "+="),
    "dynamic": (tans.jit(lambda x: lax.dynamic_slice(x, (jnp.int32(3),), (2,))), "+="),
    "row": (lambda x: x[jnp.array([3, 5, 3])], "+="),
    "clip": (lambda x: x.at[jnp.array([3, 100])].get(mode="clip"), "scatter-add"),
}


@pytest.mark.parametrize("name", INDEXINGS)
def test_a_gradient_of_a_part_is_added_to_that_part(name):
    f, operation = INDEXINGS[name]
    x = jnp.arange(10.0)
    y, f_vjp = tans.vjp(f, x)
    ct = jnp.arange(1.0, 1.0 + y.size)
    ref = new_ref(jnp.ones(10))
    f_vjp.with_refs(ref)(ct)
    np.testing.assert_array_equal(ref[...], 1 + f_vjp(ct)[0])
    text = str(tans.make_jaxpr(lambda ref: f_vjp.with_refs(ref)(ct))(ref))
    assert operation in text
    assert ("zeros" in text or "0.0" in text) is (name == "clip")


@pytest.mark.parametrize("index", [(0, jnp.array([1, 2])), (jnp.array([1, 0]), slice(None))])
def test_a_gradient_of_rows_of_a_matrix(index):
    x = jnp.arange(6.0).reshape(2, 3)
    y, f_vjp = tans.vjp(lambda x: x[index], x)
    ref = new_ref(jnp.zeros((2, 3)))
    f_vjp.with_refs(ref)(2 * jnp.ones_like(y))
    np.testing.assert_array_equal(ref[...], f_vjp(2 * jnp.ones_like(y))[0])


def test_a_scan_adds_to_the_ref_in_each_step():
    def f(w, x):
        return lax.scan(lambda c, _: (jnp.tanh(w @ c), None), x, None, length=3)[0].sum()

    w, x = jnp.ones((2, 2)), jnp.ones(2)
    f_vjp = tans.vjp(f, w, x)[1]
    ref = new_ref(jnp.zeros((2, 2)))
    f_vjp.with_refs(ref, DontWant())(1.0)
    np.testing.assert_allclose(ref[...], f_vjp(1.0)[0], rtol=1e-6)
    pull = f_vjp.with_refs(ref, DontWant())
    assert str(tans.make_jaxpr(lambda: pull(1.0)[1])()).count("+=") == 1


@pytest.mark.parametrize("wrap", [lambda f: f, tans.jit, tans.checkpoint], ids=["", "jit", "remat"])
def test_all_kinds_of_gradients_through_control_flow(wrap):
    def f(w, x, bias):
        def step(c, x):
            c = lax.cond(c[0] > 0, lambda c: jnp.sin(w @ c) + x, lambda c: w @ c - x, c)
            return c, c.sum()

        c, ys = lax.scan(step, bias, x)
        return (c * ys.sum()).sum()

    args = jnp.arange(4.0).reshape(2, 2) / 5, jnp.linspace(0, 1, 6).reshape(3, 2), jnp.ones(2)
    f_vjp = tans.vjp(wrap(f), *args)[1]
    expected = tans.vjp(f, *args)[1](1.0)
    for chosen in np.ndindex(3, 3, 3):
        refs = [new_ref(jnp.zeros_like(x)) for x in args]
        entries = [(r, GradValue(), DontWant())[k] for r, k in zip(refs, chosen, strict=True)]
        found = f_vjp.with_refs(*entries)(1.0)
        for k, ref, got, want in zip(chosen, refs, found, expected, strict=True):
            if k == 2:
                assert got == DidntWant()
            else:
                assert (got == GradRef()) if k == 0 else True
                np.testing.assert_allclose(ref[...] if k == 0 else got, want, rtol=1e-5, atol=1e-6)


def test_rules_push_into_refs():
    seen = []
    f = tans.custom_vjp(lambda w, i: w[i])

    def bwd(res, g, w_bar, i_bar):
        i, size = res
        seen.append((type(w_bar), type(i_bar)))
        if isinstance(w_bar, RefAccum):
            w_bar.ref[i] += g
        else:
            w_bar.accum(jnp.zeros(size).at[i].add(g))

    f.defvjp_with_accums(lambda w, i: (w[i], (i, w.shape)), bwd)
    f_vjp = tans.vjp(f, jnp.arange(4.0), 1)[1]
    ref = new_ref(jnp.zeros(4))
    f_vjp.with_refs(ref, DontWant())(5.0)
    np.testing.assert_array_equal(ref[...], [0, 5, 0, 0])
    np.testing.assert_array_equal(f_vjp(5.0)[0], [0, 5, 0, 0])
    assert seen == [(RefAccum, NullAccum), (ValAccum, NullAccum)]


@pytest.mark.parametrize("kinds", [RefAccum, (RefAccum, ValAccum), ValAccum], ids=str)
def test_A37_custom_gradient_sees_the_accumulators_it_asked_for(kinds):
    seen = []

    def f(x, y):
        def pull(g, x_bar, y_bar):
            seen.append((type(x_bar), type(y_bar)))
            x_bar.accum(10 * g * y)
            y_bar.accum(g * x)

        return x * y, pull

    g = tans.custom_gradient(f, with_accums=kinds)
    assert list(map(float, tans.grad(g, (0, 1))(2.0, 3.0))) == [30.0, 2.0]
    ref = new_ref(1.0)
    marker, slope = tans.vjp(g, 2.0, 3.0)[1].with_refs(ref, GradValue())(1.0)
    assert (marker, float(slope), float(ref[...])) == (GradRef(), 2.0, 31.0)
    wanted = kinds if isinstance(kinds, tuple) else (kinds, kinds)
    assert set(seen) == {wanted}


def test_the_backward_rule_writes_to_a_ref_argument():
    stash = tans.custom_vjp(lambda ref, x: x)

    def bwd(ref, g):
        ref[...] = g
        return None, g

    stash.defvjp(lambda ref, x: (x, ref), bwd)
    for transform in (lambda f: f, tans.jit):
        ref = new_ref(0.0)
        slope = transform(tans.grad(lambda x, ref=ref: jnp.sin(stash(ref, x))))(1.0)
        assert float(slope) == float(ref[...]) == pytest.approx(np.cos(1.0), rel=1e-6)


def test_misuse_of_refs_in_rules_is_refused():
    f = tans.custom_vjp(lambda ref, x: x)
    f.defvjp(lambda ref, x: (x, new_ref(x)), lambda res, g: (None, g))
    ref = new_ref(0.0)
    with pytest.raises(ValueError, match="not an argument"):
        tans.grad(lambda x: f(ref, x))(1.0)
    returns = tans.custom_vjp(lambda ref, x: ref)
    returns.defvjp(lambda ref, x: (x, None), lambda res, g: (None, g))
    with pytest.raises(ValueError, match=r"Ref\{float32\[\]\} as output"):
        tans.jit(lambda x: returns(ref, x))(1.0)
    twice = tans.custom_vjp(lambda a, b, x: x)
    twice.defvjp(lambda a, b, x: (x, None), lambda res, g: (None, None, g))
    with pytest.raises(ValueError, match="as a and b"):
        tans.grad(lambda x: twice(ref, ref, x))(1.0)


def test_checkpointed_functions_make_refs_of_their_own():
    @tans.checkpoint
    def f(y):
        r = new_ref(jnp.zeros_like(y))
        r[...] = jnp.sin(y)
        return checkpoint_name(r[...], "square") ** 2

    for g in (tans.grad(f), tans.jit(tans.grad(f)), tans.grad(tans.jit(f))):
        assert float(g(2.0)) == pytest.approx(np.sin(4.0), rel=1e-6)


def test_what_a_checkpointed_function_read_from_a_ref_is_kept():
    w = new_ref(2.0)
    f_vjp = tans.vjp(tans.checkpoint(lambda y: jnp.sin(w[...] * y)), 1.0)[1]
    w[...] = 100.0
    assert float(f_vjp(1.0)[0]) == pytest.approx(2 * np.cos(2.0), rel=1e-6)


def test_checkpointed_functions_write_to_refs_that_are_made_for_it():
    def f(kind):
        r = new_ref(1.0, kind=kind)

        @tans.checkpoint
        def product(y):
            out = y * r[...]
            r[...] += 1
            return jnp.sin(out)

        return tans.grad(product)(2.0), r

    slope, r = f("no_grad_no_remat")
    assert float(slope) == pytest.approx(np.cos(2.0), rel=1e-6)
    assert float(r[...]) == 2.0
    with pytest.raises(ValueError, match="no_grad_no_remat"):
        f(None)


def test_gradients_of_refs_to_second_order():
    def f(x):
        r = new_ref(jnp.zeros(4))

        def body(c, i):
            r[i] = jnp.sin(c) * x
            return r[i] + c, r[i]

        c, ys = lax.scan(body, x, jnp.arange(4))
        return c + ys.sum() + freeze(r).sum()

    def pure(x):
        ys, c = [], x
        for _ in range(4):
            ys.append(jnp.sin(c) * x)
            c = ys[-1] + c
        return c + 2 * sum(ys)

    for g, h in ((f, pure), (tans.checkpoint(f), pure), (tans.jit(f), pure)):
        np.testing.assert_allclose(tans.grad(g)(0.5), tans.grad(h)(0.5), rtol=1e-6)
        second = tans.grad(tans.grad(h))(0.5)
        np.testing.assert_allclose(tans.grad(tans.grad(g))(0.5), second, rtol=1e-5)
        along = tans.jvp(tans.grad(g), (0.5,), (1.0,))[1]
        np.testing.assert_allclose(along, second, rtol=1e-5)
        np.testing.assert_allclose(tans.hessian(g)(0.5), second, rtol=1e-5)
