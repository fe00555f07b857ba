"""User primitives: the vectors H1 to H24 of the specification."""

from typing import Any, ClassVar

import numpy as np
import pytest

import tans as jax
import tans.lax as lax
import tans.numpy as jnp
from tans.experimental import hijax as hj
from tans_autodiff.ref_entries import DidntWant, DontWant
from tans_core.dce import dce_jaxpr
from tans_core.refs import ReadEffect, WriteEffect


class Elementwise(hj.HiPrim):
    """A primitive from one array to one of the same type."""

    def __init__(self, t, **params):
        self.in_avals, self.out_aval, self.params = (t,), t, params
        super().__init__()


class Power(Elementwise):
    def expand(self, x):
        return x**self.p

    def vjp_fwd(self, nzs_in, x):
        return self(x), x

    def vjp_bwd_retval(self, x, g):
        return (g * self.p * x ** (self.p - 1),)

    def jvp(self, primals, tangents):
        return self(*primals), self.p * primals[0] ** (self.p - 1) * tangents[0]

    lin, linearized = hj.linearize_from_jvp

    def batch(self, axis_data, args, dims):
        return power(args[0], self.p), dims[0]


def power(x, p=3):
    return Power(jax.typeof(x), p=p)(x)


class Bare(Elementwise):
    def expand(self, x):
        return x * 2


def bare(x):
    return Bare(jax.typeof(x))(x)


def test_both_modes():  # H1
    assert power(2.0) == 8
    assert jax.grad(power)(2.0) == 12
    assert jax.jvp(power, (2.0,), (1.0,)) == (8, 12)
    assert jax.linearize(power, 2.0)[1](1.0) == 12


def test_vmap():  # H2
    np.testing.assert_array_equal(jax.vmap(power)(jnp.arange(3.0)), [0, 1, 8])
    np.testing.assert_array_equal(jax.vmap(jax.grad(power))(jnp.arange(3.0)), [0, 3, 12])


def test_printed_form():  # H3
    closed = jax.make_jaxpr(power)(2.0)
    assert len(closed.eqns) == 1
    assert "b:f32[] = Power[p=3] a" in str(closed)


def test_second_order():  # H4
    assert jax.grad(jax.grad(power))(2.0) == 12
    assert jax.hessian(power)(2.0) == 12


def test_jacfwd():  # H5
    np.testing.assert_array_equal(
        jax.jacfwd(power)(jnp.array([0.0, 1.0])), np.diag(np.float32([0, 3]))
    )


def test_lowered_text_has_only_operations():  # H6
    text = jax.jit(power).lower(2.0).as_text()
    assert "Power" not in text
    assert "hi_call" not in text
    assert "stablehlo.multiply" in text
    assert jax.jit(power).lower(2.0).compile()(2.0) == 8
    assert jax.jit(jax.grad(power))(2.0) == 12


@pytest.mark.parametrize(
    ("use", "rule"),
    [
        (lambda: jax.grad(bare)(2.0), "vjp_fwd"),
        (lambda: jax.jvp(bare, (2.0,), (1.0,)), "jvp"),
        (lambda: jax.linearize(bare, 2.0), "lin"),
        (lambda: jax.vmap(bare)(jnp.ones(3)), "batch"),
        (lambda: jax.linear_transpose(bare, 2.0)(1.0), "transpose"),
    ],
)
def test_missing_rules_are_named(use, rule):  # H7
    assert bare(2.0) == 4.0
    with pytest.raises(NotImplementedError, match=rf"Bare.*`{rule}`"):
        use()


def test_missing_expand():
    with pytest.raises(NotImplementedError, match=r"Elementwise.*`expand`"):
        Elementwise(jax.typeof(1.0))(1.0)


def test_reverse_from_jvp():  # H8
    class Sine(Elementwise):
        def expand(self, x):
            return jnp.sin(x)

        def jvp(self, primals, tangents):
            return self(*primals), 10 * jnp.cos(primals[0]) * tangents[0]

        vjp_fwd, vjp_bwd_retval = hj.vjp_from_jvp

    def sine(x):
        return Sine(jax.typeof(x))(x)

    assert jax.grad(sine)(0.0) == 10
    assert jax.linearize(sine, 0.0)[1](1.0) == 10


def test_reverse_and_jvp_from_lin():  # H9
    class Sine(Elementwise):
        def expand(self, x):
            return jnp.sin(x)

        def lin(self, nzs_in, x):
            return self(x), x

        def linearized(self, x, t):
            return 7 * jnp.cos(x) * t

        vjp_fwd, vjp_bwd_retval = hj.vjp_from_lin
        jvp = hj.jvp_from_lin

    def sine(x):
        return Sine(jax.typeof(x))(x)

    assert jax.grad(sine)(0.0) == 7
    assert jax.jit(jax.grad(sine))(0.0) == 7
    assert jax.jvp(sine, (0.0,), (1.0,)) == (0, 7)


def test_rules_derived_from_each_other():  # H10
    class Circular(Bare):
        lin, linearized = hj.linearize_from_jvp
        jvp = hj.jvp_from_lin

    with pytest.raises(TypeError, match=r"Circular.*jvp derived from lin"):
        jax.linearize(lambda x: Circular(jax.typeof(x))(x), 1.0)


def test_pair_of_rules_must_be_unpacked():
    with pytest.raises(TypeError, match="lin, linearized = linearize_from_jvp"):

        class Unpacked(Bare):
            lin = hj.linearize_from_jvp


class ProductAndSum(hj.HiPrim):
    """Records what its rules are given."""

    seen: ClassVar[dict[str, Any]] = {}

    def __init__(self, t, nzs_out=None):
        self.in_avals, self.out_aval, self.params = (t, t), {"p": t, "q": t}, {"nzs_out": nzs_out}
        super().__init__()

    def expand(self, x, y):
        return {"p": x * y, "q": x + y}

    def vjp_fwd(self, nzs_in, x, y):
        self.seen["nzs_in"] = nzs_in
        out = self(x, y), (x, y)
        return out if self.nzs_out is None else (*out, self.nzs_out)

    def vjp_bwd_retval(self, res, ct):
        self.seen["ct"] = {k: type(c) is hj.Zero for k, c in ct.items()}
        _x, y = res
        p, q = hj.instantiate_zeros(ct["p"]), hj.instantiate_zeros(ct["q"])
        return p * y + q, None

    def jvp(self, primals, tangents):
        self.seen["tangents"] = [type(t) is hj.Zero for t in tangents]
        (x, y), (dx, dy) = primals, map(hj.instantiate_zeros, tangents)
        return self(x, y), {"p": dx * y + x * dy, "q": dx + dy}


def product_and_sum(x, y, nzs_out=None):
    return ProductAndSum(jax.typeof(x), nzs_out)(x, y)


def test_symbolic_zeros_in_reverse():  # H11
    assert jax.grad(lambda x: product_and_sum(x, 3.0)["p"])(2.0) == 3
    assert ProductAndSum.seen["nzs_in"] == (True, False)
    assert ProductAndSum.seen["ct"] == {"p": False, "q": True}


def test_symbolic_zeros_in_forward():  # H12
    out, tangent = jax.jvp(lambda x: product_and_sum(x, 3.0), (2.0,), (1.0,))
    assert out == {"p": 6, "q": 5}
    assert tangent == {"p": 3, "q": 1}
    assert ProductAndSum.seen["tangents"] == [False, True]


@pytest.mark.parametrize("skip", [False, True])
def test_constants_only(skip, monkeypatch):  # H13, H14
    monkeypatch.setattr(ProductAndSum, "skip_linearization_on_zero_tangents", skip)
    ProductAndSum.seen.clear()
    assert jax.grad(lambda x: x * product_and_sum(2.0, 3.0)["p"])(1.0) == 6
    assert ProductAndSum.seen == ({} if skip else {"nzs_in": (False, False)})


def test_flags_of_outputs():  # H15
    _, f_vjp = jax.vjp(lambda x, y: tuple(product_and_sum(x, y, (True, False)).values()), 2.0, 3.0)
    assert f_vjp.out_nzs == (True, False)
    f_vjp((1.0, 1.0))
    assert ProductAndSum.seen["ct"] == {"p": False, "q": True}


def test_none_is_a_zero_cotangent():  # H16
    assert jax.grad(lambda y: product_and_sum(2.0, y)["p"])(3.0) == 0


class Scale(hj.HiPrim):
    """x * y, linear in each."""

    def __init__(self, t):
        self.in_avals, self.out_aval, self.params = (t, t), t, {}
        super().__init__()

    def expand(self, x, y):
        return x * y

    def transpose(self, ct, x, y):
        assert hj.is_undefined_primal(x)
        assert not hj.is_undefined_primal(y)
        x.accum(2 * ct * y)


def test_transpose():  # H19
    transposed = jax.linear_transpose(lambda x: Scale(jax.typeof(x))(x, 3.0), 1.0)
    assert transposed(1.0) == (6,)


class Two(hj.HiPrim):
    def __init__(self, t, keep=(True, True)):
        self.in_avals, self.out_aval, self.params = (t, t), [t for k in keep if k], {"keep": keep}
        super().__init__()

    def expand(self, x, y):
        return [out for out, keep in zip([x * y, x + y], self.keep, strict=True) if keep]

    def dce(self, used_outs, live_ins):
        assert live_ins == (True, True)
        return (True, True), used_outs, Two(self.in_avals[0], tuple(used_outs))


def test_dead_outputs():  # H20
    closed = jax.make_jaxpr(lambda x, y: Two(jax.typeof(x))(x, y))(1.0, 2.0)
    smaller, used = dce_jaxpr(closed, [True, False])
    assert used == [True, True]
    assert "Two[keep=(True, False)] a b" in str(smaller)
    assert [len(eqn.outvars) for eqn in smaller.eqns] == [1]


def test_trees_of_arguments():  # H21
    class Affine(hj.HiPrim):
        def __init__(self, t):
            self.in_avals, self.out_aval, self.params = ({"w": t, "b": (t, t)},), [t, t], {}
            super().__init__()

        def expand(self, p):
            return [p["w"] * p["b"][0], p["w"] + p["b"][1]]

        def vjp_fwd(self, nzs_in, p):
            return self(p), p

        def vjp_bwd(self, p, ct, accum):
            accum["w"].accum(ct[0] * p["b"][0])
            accum["b"][0].accum(ct[0] * p["w"])
            accum["b"][1].accum(ct[1])

    def total(p):
        return sum(Affine(jax.typeof(1.0))(p))

    found = jax.grad(total)({"w": 2.0, "b": (3.0, 4.0)})
    assert found == {"w": 3, "b": (2, 1)}


def test_implicit_derivative():  # H22
    class FixedPoint(Elementwise):
        """The solution of x = cos(a x)."""

        def expand(self, a):
            return lax.while_loop(
                lambda s: abs(s[0] - s[1]) > 1e-6,
                lambda s: (jnp.cos(a * s[0]), s[0]),
                (jnp.cos(a), a * 0.0),
            )[0]

        def vjp_fwd(self, nzs_in, a):
            x = self(a)
            return x, (a, x)

        def vjp_bwd_retval(self, res, ct):
            a, x = res
            slope = -jnp.sin(a * x)
            return (ct * slope * x / (1 - slope * a),)

    def solve(a):
        return FixedPoint(jax.typeof(a))(a)

    np.testing.assert_allclose(solve(1.0), 0.73908484, rtol=1e-5)
    np.testing.assert_allclose(jax.grad(solve)(1.0), -0.29747418, rtol=1e-5)


def test_automatic_batch_rule():  # H23
    class Auto(Elementwise):
        def expand(self, x):
            return jnp.sin(x).sum() * x

        def batch(self, axis_data, args, dims):
            return hj.vmap_rule(axis_data, self.expand, tuple(dims), 0)(*args), 0

    found = jax.vmap(lambda x: Auto(jax.typeof(x))(x))(jnp.ones((2, 3)))
    np.testing.assert_allclose(found, np.full((2, 3), 2.5244129), rtol=1e-6)


def test_equality():
    a, b = Power(jax.typeof(1.0), p=2), Power(jax.typeof(jnp.ones(3)), p=2)
    assert a == b
    assert hash(a) == hash(b)
    assert a != Power(jax.typeof(1.0), p=3)
    assert a != Bare(jax.typeof(1.0))
    assert repr(a) == "Power[p=2]"
    assert repr(Bare(jax.typeof(1.0))) == "Bare"


def test_params_without_hash():
    class Scaled(Elementwise):
        def expand(self, x):
            return x * self.factors[0]

    def scaled(x):
        return Scaled(jax.typeof(x), factors=[3.0])(x)

    assert scaled(2.0) == 6
    assert jax.jit(scaled)(2.0) == 6


def test_checkpoint_uses_reverse_rules():
    assert jax.grad(jax.checkpoint(power))(2.0) == 12
    assert jax.jit(jax.grad(jax.checkpoint(lambda x: jnp.sin(power(x)))))(2.0) == pytest.approx(
        12 * np.cos(8.0), rel=1e-5
    )


class Costly(Power):
    """Saves its result, so that a checkpointed backward pass does not compute it again."""

    def remat(self, trace, x):
        out = self(x)
        return out, out, lambda saved, x: saved


@pytest.mark.parametrize(("cls", "applications"), [(Power, 2), (Costly, 1)])
def test_what_a_checkpoint_saves(cls, applications):
    def f(x):
        return jnp.sin(jnp.sin(cls(jax.typeof(x), p=3)(x)))

    text = str(jax.make_jaxpr(jax.grad(jax.checkpoint(f)))(2.0))
    assert text.count(f"{cls.__name__}[p=3]") == applications
    gradient = jax.jit(jax.grad(jax.checkpoint(f)))(2.0)
    np.testing.assert_allclose(gradient, np.cos(np.sin(8.0)) * np.cos(8.0) * 12, rtol=1e-5)


def test_wrong_remat():
    class Wrong(Power):
        def remat(self, trace, x):
            return self(x), None

    with pytest.raises(TypeError, match=r"Wrong\.remat.*Return \(out, res, rem\)"):
        jax.grad(lambda x: Wrong(jax.typeof(x), p=3)(x))(2.0)


def test_own_staging():
    seen = []

    class Staged(Power):
        def staging(self, trace, source_info, *args):
            seen.append(type(trace).__name__)
            return super().staging(trace, source_info, *args)

    closed = jax.make_jaxpr(lambda x: Staged(jax.typeof(x), p=2)(x))(3.0)
    assert "Staged[p=2] a" in str(closed)
    assert seen == ["JaxprTrace"]
    assert jax.jit(lambda x: Staged(jax.typeof(x), p=2)(x))(3.0) == 9
    assert Power(jax.typeof(3.0), p=2).physicalize(None, 3.0) == 9


def test_inside_control_flow():
    def summed(xs):
        return lax.scan(lambda c, x: (c + power(x), power(x)), 0.0, xs)[0]

    np.testing.assert_array_equal(jax.grad(summed)(jnp.arange(3.0)), [0, 3, 12])
    np.testing.assert_array_equal(jax.jit(jax.grad(summed))(jnp.arange(3.0)), [0, 3, 12])
    assert jax.grad(lambda x: lax.cond(x > 0, power, lambda x: x * 2, x))(2.0) == 12


def test_bdims_at_front_and_unmap_avals():
    axis = _axis_data(lambda axis: axis)
    x = jnp.arange(6.0).reshape(2, 3)
    moved = hj.bdims_at_front(axis, {"a": x, "b": 1.0}, {"a": 1, "b": None})
    np.testing.assert_array_equal(moved["a"], np.asarray(x).T)
    np.testing.assert_array_equal(moved["b"], np.ones(3))
    avals = hj.unmap_avals(axis, (jax.typeof(1.0), jax.typeof(x)), (0, None))
    assert [a.shape for a in avals] == [(3,), (2, 3)]


def _axis_data(look):
    """Return the axis that a batch rule is given for 3 elements."""
    found = []

    class Look(Bare):
        def batch(self, axis_data, args, dims):
            found.append(axis_data)
            return args[0] * 2, dims[0]

    jax.vmap(lambda x: Look(jax.typeof(x))(x))(jnp.ones(3))
    return look(found[0])


def test_older_spelling():
    class Old(hj.VJPHiPrimitive):
        vjp_bwd_retval_logs = True

        def __init__(self, t):
            self.in_avals, self.out_aval, self.params = (t,), t, {}
            super().__init__()

        def expand(self, x):
            return x * 3

        def vjp_fwd(self, nzs_in, x):
            return self(x), None

        def vjp_bwd_retval(self, res, ct):
            return (ct * 3,), {"ct": ct}

        def batch_dim_rule(self, axis_data, in_dims):
            return in_dims[0]

        def dce(self, used_outs):
            return True, used_outs, self

    def old(x):
        return Old(jax.typeof(x))(x)

    assert jax.grad(old)(1.0) == 3
    np.testing.assert_array_equal(jax.vmap(old)(jnp.arange(3.0)), [0, 3, 6])
    assert Old(jax.typeof(1.0)).dce(True, (True,))[1] is True
    _, f_vjp = jax.vjp(old, 1.0)
    assert f_vjp.with_logs(2.0) == ((6,), {"ct": 2})


# ---- refs ---------------------------------------------------------------------------------------


class Read(hj.HiPrim):
    """x[i]; its backward rule adds to a part where the accumulator is a ref."""

    kinds: ClassVar[list[str]] = []

    def __init__(self, x, i):
        self.in_avals, self.out_aval, self.params = (x, i), x.update(shape=x.shape[1:]), {}
        super().__init__()

    def expand(self, x, i):
        return x[i]

    def vjp_fwd(self, nzs_in, x, i):
        return self(x, i), i

    def vjp_bwd(self, i, g, accum, _):
        self.kinds.append(accum.kind)
        if isinstance(accum, hj.RefAccum):
            accum.ref[i] += g
        elif isinstance(accum, hj.ValAccum):
            accum.accum(jnp.zeros(self.in_avals[0].shape).at[i].set(g))


def read(x, i):
    i = jnp.int32(i)
    return Read(jax.typeof(x), jax.typeof(i))(x, i)


def test_adding_to_a_part_of_a_ref():  # H17
    x = jnp.arange(4.0)
    _, f_vjp = jax.vjp(lambda x: read(x, 1), x)
    total = jax.new_ref(jnp.zeros(4))
    f_vjp.with_refs(total)(5.0)
    np.testing.assert_array_equal(total[...], [0, 5, 0, 0])
    gradient = jax.grad(lambda x: read(x, 2) * read(x, 2))(x)
    np.testing.assert_array_equal(gradient, [0, 0, 4, 0])


def test_cotangent_that_nobody_wants():  # H18
    Read.kinds.clear()
    _, f_vjp = jax.vjp(lambda x: read(x, 1), jnp.arange(4.0))
    assert f_vjp.with_refs(DontWant())(5.0) == (DidntWant(),)
    assert Read.kinds == ["null"]


class Increment(hj.HiPrim):
    def __init__(self, ref):
        self.in_avals, self.out_aval, self.params = (ref,), (), {}
        self.effects = {ReadEffect(0), WriteEffect(0)}
        super().__init__()

    def expand(self, ref):
        ref[...] = ref[...] + 1
        return ()


def test_writing_to_a_ref():  # H24
    def increment(ref):
        Increment(jax.typeof(ref))(ref)

    ref = jax.new_ref(jnp.float32(1))
    for step, apply in enumerate([increment, jax.jit(increment)]):
        apply(ref)
        assert ref[...] == step + 2
    jax.jit(lambda: increment(ref))()
    assert ref[...] == 4
