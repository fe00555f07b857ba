"""Values of user types where vmap meets loops, branches and refs."""

import numpy as np
import pytest
from pairs import Pair, PairPspec, first, pair, second, swap
from quantised import Quantised, Rows, dequantise, quantise

import tans as jax
import tans.numpy as jnp
from tans import lax
from tans.experimental import hijax as hj
from tans_lax.user_types import Stacked, rearranged

RNG = np.random.default_rng(0)
GRID = RNG.standard_normal((3, 2)).astype(np.float32)
MATRICES = RNG.standard_normal((3, 2, 4, 5)).astype(np.float32)


def twice(f, *args):
    """Compare vmap of vmap with two Python loops."""
    expected = [[f(*(a[i, j] for a in args)) for j in range(2)] for i in range(3)]
    for g in (f, jax.jit(f)):
        np.testing.assert_allclose(jax.vmap(jax.vmap(g))(*args), expected, rtol=1e-5, atol=1e-6)
    swapped = [jnp.swapaxes(a, 0, 1) for a in args]
    by_columns = jax.vmap(jax.vmap(f, in_axes=0), in_axes=1)(*swapped)
    np.testing.assert_allclose(by_columns, expected, rtol=1e-5, atol=1e-6)


def both_branches(x, y):
    p = lax.cond(x > y, lambda x, y: pair(x * y, 2 * y), lambda x, y: pair(3 * x, x * x + y), x, y)
    return first(p) * second(p)


def one_part_mapped(x, y):
    return first(lax.cond(x > y, lambda x: pair(x, 1.0), lambda x: pair(2.0, x), x))


def quantised_branches(x):
    q = lax.cond(x.sum() > 0, lambda x: quantise(2 * x), lambda x: quantise(-3 * x), x)
    return dequantise(q).sum()


@pytest.mark.parametrize("f", [both_branches, one_part_mapped])
def test_cond_with_a_mapped_predicate(f):
    y = 0.5 * GRID[::-1]
    twice(f, GRID, y)
    twice(jax.grad(f), GRID, y)
    twice(jax.grad(jax.grad(f)), GRID, y)


def test_gradient_of_a_cond_with_a_mapped_predicate():
    y = 0.5 * GRID[::-1]
    whole = jax.grad(lambda x: jax.vmap(jax.vmap(both_branches))(x, y).sum())(GRID)
    by_lane = jax.vmap(jax.vmap(jax.grad(both_branches)))(GRID, y)
    np.testing.assert_allclose(whole, by_lane, rtol=1e-5)
    with pytest.raises(NotImplementedError, match="cotangents would have to be summed"):
        jax.grad(lambda x: jax.vmap(jax.vmap(one_part_mapped))(x, y).sum())(GRID)


def test_cond_of_quantised_values_with_a_mapped_predicate():
    twice(quantised_branches, MATRICES)
    twice(jax.grad(quantised_branches), MATRICES)


def test_switch_with_a_mapped_index():
    branches = [lambda x: pair(x, 2 * x), lambda x: pair(3 * x, x), lambda x: pair(x, 5 * x)]

    def f(i, x):
        return second(lax.switch(i, branches, x))

    assert jax.vmap(f)(jnp.arange(3), jnp.ones(3)).tolist() == [2, 1, 5]


@pytest.mark.parametrize("start", [lambda x: pair(x, x * 0), lambda x: pair(x, 0.0)])
def test_while_with_a_mapped_condition(start):
    def f(x):
        def step(p):
            return pair(first(p) * 2, second(p) + 1)

        p = lax.while_loop(lambda p: first(p) < 10, step, start(x))
        return first(p) + 100 * second(p)

    x = jnp.array([1.0, 3.0, 20.0])
    expected = [416.0, 212.0, 20.0]
    assert [float(f(v)) for v in x] == expected
    assert jax.vmap(f)(x).tolist() == jax.jit(jax.vmap(f))(x).tolist() == expected


def scanned(xs):
    def step(c, p):
        return (c + first(p) * second(p), pair(second(p), c))

    total, ys = lax.scan(step, 0.0, pair(xs, 2 * xs), length=xs.shape[0])
    return total + (first(ys) * second(ys)).sum()


@pytest.mark.parametrize("axis", [0, 1])
def test_scan_over_stacked_values_that_vmap_maps(axis):
    rows = [GRID[i] for i in range(3)]
    arg = jnp.moveaxis(GRID, 0, axis)
    for f in (scanned, jax.grad(scanned)):
        expected = np.stack([f(r) for r in rows])
        np.testing.assert_allclose(jax.vmap(f, in_axes=axis)(arg), expected, rtol=1e-5)


@pytest.mark.parametrize("start", [lambda x: pair(1.0, 2.0), lambda x: pair(x[0], 2.0)])
def test_a_scan_maps_the_value_it_carries(start):
    def f(x):
        step = lambda p, v: (pair(second(p) + v, first(p) * v), None)  # noqa: E731
        p, _ = lax.scan(step, start(x), x)
        return first(p) + 10 * second(p)

    expected = [f(row) for row in GRID]
    for g in (f, jax.jit(f)):
        np.testing.assert_allclose(jax.vmap(g)(GRID), expected, rtol=1e-5)


def test_scan_over_stacked_quantised_values_that_vmap_maps():
    def f(x):
        return lax.scan(lambda c, q: (c + dequantise(q).sum(), None), 0.0, quantise(x), 4)[0]

    twice(f, MATRICES)
    twice(jax.grad(f), MATRICES)


def test_gradient_of_a_mapped_scan_over_quantised_values():
    def f(x):
        step = lambda c, q: (c * jnp.cos(dequantise(q)).sum(), None)  # noqa: E731
        return lax.scan(step, 1.0, quantise(x), 4)[0]

    whole = jax.grad(lambda x: jax.vmap(jax.vmap(f))(x).sum())(MATRICES)
    by_lane = [[jax.grad(f)(MATRICES[i, j]) for j in range(2)] for i in range(3)]
    np.testing.assert_allclose(whole, by_lane, rtol=1e-4, atol=1e-6)


def test_gradient_of_quantised_weights_that_are_the_same_in_all_lanes():
    def f(w, p):
        q = lax.cond(p > 0, lambda w: quantise(w), lambda w: quantise(3 * w), w)
        q2 = lax.cond(p > 1, lambda q, w: q, lambda q, w: quantise(w), q, w)
        return p * dequantise(q2).sum()

    p, w = jnp.array([-1.0, 0.5, 2.0]), MATRICES[0, 0]
    whole = jax.grad(lambda w: jax.vmap(f, in_axes=(None, 0))(w, p).sum())(w)
    by_lane = sum(jax.grad(f)(w, v) for v in p)
    np.testing.assert_allclose(whole, by_lane, rtol=1e-5)


class KeepsQuantised(hj.HiPrim):
    """Twice the argument; the residual is a value of a user type that is no tangent type."""

    def __init__(self, t, named):
        self.in_avals, self.out_aval, self.params = (t,), t, {"named": named}
        super().__init__()

    def expand(self, x):
        return x * 2

    def vjp_fwd(self, nzs_in, x):
        if self.named:
            return self(x), None, None, {"q": quantise(x)}
        return self(x), {"q": quantise(x)}

    def vjp_bwd(self, res, *rest):
        saved, ct, accum = rest if self.named else (res, *rest)
        accum.accum(ct * dequantise(saved["q"]))

    def batch(self, axis_data, args, dims):
        return keep(args[0], self.named), dims[0]


def keep(x, named):
    return KeepsQuantised(jax.typeof(x), named)(x)


X = jnp.array([[1.0, -2.0, 4.0]])


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("under", [lambda f: f, jax.jit])
def test_residuals_that_one_branch_makes(named, under):
    def f(x, taken):
        return lax.cond(taken, lambda x: keep(x, named).sum(), lambda x: x.sum(), x)

    expected = dequantise(quantise(X))
    np.testing.assert_array_equal(under(jax.grad(f))(X, True), expected)
    np.testing.assert_array_equal(under(jax.grad(f))(X, False), jnp.ones_like(X))
    both = under(jax.vmap(jax.grad(f), in_axes=(0, None)))(jnp.stack([X, X]), True)
    np.testing.assert_array_equal(both, jnp.stack([expected, expected]))


def test_structured_residuals_of_branches_and_loops_are_values_of_user_types():
    def f(x, taken):
        return lax.cond(taken, lambda x: keep(x, True).sum(), lambda x: x.sum(), x)

    for taken, payload in ((True, [[32, -64, 127]]), (False, [[0, 0, 0]])):
        (found,) = jax.vjp(lambda x, t=taken: f(x, t), X)[1].structured_residuals
        assert found.index == taken
        assert found.branches[1][0]["q"].payload.tolist() == payload

    def loop(x):
        return lax.scan(lambda c, _: (keep(c, True), None), x, None, length=2)[0].sum()

    f_vjp = jax.vjp(loop, X)[1]
    ((saved,),) = f_vjp.structured_residuals
    assert isinstance(saved["q"], Quantised)
    assert saved["q"].payload.shape == (2, 1, 3)
    np.testing.assert_allclose(f_vjp(1.0)[0], 2 * X**2, rtol=0.02)


def test_structured_residuals_of_a_branch_in_a_loop():
    def f(x):
        def step(c, i):
            return (lax.cond(i > 0, lambda c: keep(c, True), lambda c: c, c), None)

        return lax.scan(step, x, jnp.arange(2))[0].sum()

    ((found,),) = jax.vjp(f, X)[1].structured_residuals
    assert found.index.tolist() == [0, 1]
    payloads = found.branches[1][0]["q"].payload
    assert payloads.tolist() == [[[0, 0, 0]], [[32, -64, 127]]]


def test_vmap_of_shard_map_over_user_types():
    mesh = jax.make_mesh((4,), ("i",), devices=jax.devices()[:4])
    with jax.set_mesh(mesh):
        x = jax.reshard(jnp.arange(8.0), jax.P("i"))
        spec = PairPspec(jax.P("i"), jax.P("i"))
        outside = jax.shard_map(lambda x: pair(2 * x, x), out_specs=spec)
        inside = jax.shard_map(lambda x: first(pair(2 * x, x)), out_specs=jax.P("i"))
        both = jnp.stack([x, x])
        np.testing.assert_array_equal(jax.vmap(inside)(both), 2 * both)
        with pytest.raises(NotImplementedError, match=r"vmap of shard_map: .*PairPspec"):
            jax.vmap(lambda x: first(outside(x)))(both)


# ---- refs ----------------------------------------------------------------------------------------


def advance(ref):
    p = ref[...]
    ref[...] = pair(first(p) + 1, second(p) * 2)


def test_refs_of_user_types_are_arguments_of_jit():
    ref = jax.new_ref(pair(1.0, 2.0))
    before = ref[...]
    f = jax.jit(advance)
    f(ref)
    f(ref)
    jax.jit(lambda: advance(ref))()
    lax.fori_loop(0, 2, lambda i, c: (advance(ref), c)[1], 0)
    f.lower(ref).compile()(ref)
    p = ref[...]
    assert (float(p.first), float(p.second)) == (7, 128)
    assert (float(before.first), float(before.second)) == (1, 2)  # it was read before


def test_a_value_outlives_the_ref_that_was_made_of_it():
    value = jax.jit(pair)(1.0, 2.0)
    ref = jax.new_ref(value)
    jax.jit(advance)(ref)
    assert (float(value.first), float(value.second)) == (1, 2)


def test_refs_of_arrays_and_of_user_types_in_one_call():
    ref, sums = jax.new_ref(pair(1.0, 2.0)), jax.new_ref(jnp.zeros(2))

    @jax.jit
    def f(sums, ref):
        sums[0] = first(ref[...])
        advance(ref)
        return second(ref[...])

    assert f(sums, ref) == 4
    assert sums[...].tolist() == [1, 0]
    jax.freeze(ref)
    with pytest.raises(ValueError, match=r"Ref\{Pair<float32\[\],float32\[\]>\} that was frozen"):
        f(sums, ref)


def test_refs_of_user_types_are_differentiated():
    def f(x):
        ref = jax.new_ref(pair(x, x * x))
        ref[...] = swap(ref[...])
        p = ref[...]
        return first(p) * 3 + second(jax.freeze(ref)) * x

    assert jax.grad(f)(2.0) == jax.jit(jax.grad(f))(2.0) == jax.jvp(f, (2.0,), (1.0,))[1] == 16
    assert jax.vmap(f)(jnp.arange(3.0)).tolist() == [0, 4, 16]


def test_a_ref_and_what_is_written_are_mapped_alike():
    def f(x):
        ref = jax.new_ref(pair(x, x))
        ref[...] = pair(x, 1.0)

    with pytest.raises(
        NotImplementedError, match=r"mapped along PairSpec\(first=0, second=None\) for a ref"
    ):
        jax.vmap(f)(jnp.arange(3.0))
    assert isinstance(pair(1.0, 2.0), Pair)


def test_rearranged_values_whose_cotangents_are_arrays():
    one = quantise(MATRICES[0, 0])
    element = jax.typeof(one)
    inner, outer = Stacked("inner", 2, Rows()), Stacked("outer", 3, Rows())
    q = quantise(MATRICES)
    exchange = jax.linear_transpose(
        lambda q: rearranged(q, element, [inner, outer], [outer, inner]), q
    )
    repeat = jax.linear_transpose(lambda q: rearranged(q, element, [], [outer]), one)
    ct = RNG.standard_normal((2, 3, 4, 5)).astype(np.float32)
    np.testing.assert_array_equal(exchange(ct)[0], ct.swapaxes(0, 1))
    np.testing.assert_allclose(repeat(ct[0])[0], ct[0].sum(0), rtol=1e-5)
