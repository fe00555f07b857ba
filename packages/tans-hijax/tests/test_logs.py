"""Data out of a backward pass: the vectors B1 to B23 of the specification."""

import numpy as np
import pytest
from diagnostics import first_bad_layer, tap, warn_nan

import tans as jax
import tans.lax as lax
import tans.numpy as jnp
from tans.experimental import hijax as hj
from tans.sharding import AxisType
from tans_autodiff.ref_entries import GradRef


def logs_of(f, *args, ct=None):
    out, f_vjp = jax.vjp(f, *args)
    return f_vjp.with_logs(jnp.ones_like(out) if ct is None else ct)


def net(ws, x):
    return lax.scan(lambda c, w: (tap(jnp.tanh(c @ w), "layer"), None), x, ws)[0].sum()


WS = jnp.stack([jnp.eye(3) * k for k in (1.0, 2.0, 3.0)])
X = jnp.full((3,), 0.1)
NORMS = [7.183353, 3.7362914, 1.7320508]


def test_logs_beside_the_cotangents():  # B1
    cts, logs = logs_of(lambda x: tap(x, "a") ** 2, 3.0)
    assert cts == (6,)
    assert logs == {"a": 6}


def test_dropped_by_default():  # B2
    _, f_vjp = jax.vjp(lambda x: tap(x, "a") ** 2, 3.0)
    assert f_vjp(1.0) == (6,)


@pytest.mark.parametrize("logged", [False, True])
def test_keys_are_unique(logged):  # B3
    _, f_vjp = jax.vjp(lambda x: tap(tap(x, "a"), "a"), 3.0)
    with pytest.raises(ValueError, match=r"'a'.*duplicate"):
        (f_vjp.with_logs if logged else f_vjp)(1.0)


def test_layers_of_a_scan():  # B4
    _, logs = logs_of(lambda ws: net(ws, X), WS)
    np.testing.assert_allclose(logs["layer"], NORMS, rtol=1e-6)
    _, logs = jax.jit(lambda ws: logs_of(lambda w: net(w, X), ws))(WS)
    np.testing.assert_allclose(logs["layer"], NORMS, rtol=1e-6)


def branches(true, false):
    return lambda x: lax.cond(x > 0, true, false, x)


def test_branches():  # B5
    f = branches(lambda x: tap(x * 2, "pos"), lambda x: tap(x * 3, "neg"))
    _, logs = logs_of(f, 3.0, ct=2.0)
    assert (logs["pos"].index, logs["pos"].branches) == (1, [None, 2])
    assert (logs["neg"].index, logs["neg"].branches) == (1, [0, None])


def test_key_of_one_branch():  # B6
    _, logs = logs_of(branches(lambda x: tap(x, "k"), lambda x: x * 2), -3.0)
    assert (logs["k"].index, logs["k"].branches) == (0, [None, 0])


def test_nested_branches():  # B7
    inner = branches(lambda x: tap(x, "k"), lambda x: x)
    _, logs = logs_of(branches(inner, lambda x: x), 3.0)
    outer = logs["k"]
    assert outer.index == 1
    assert outer.branches[0] is None
    assert (outer.branches[1].index, outer.branches[1].branches) == (1, [None, 1])


def test_shard_map():  # B8
    mesh = jax.make_mesh((4,), ("i",), (AxisType.Auto,), devices=jax.devices()[:4])
    f = jax.shard_map(lambda x: tap(x, "s"), mesh=mesh, in_specs=jax.P("i"), out_specs=jax.P("i"))
    ct = jnp.arange(8.0)
    _, logs = logs_of(f, jnp.ones(8), ct=ct)
    np.testing.assert_allclose(logs["s"], [1, 3.6055512, 6.4031243, 9.219544], rtol=1e-6)


def test_jit():  # B9
    assert logs_of(jax.jit(lambda x: tap(x, "j") * 2), 1.0)[1] == {"j": 2}


def test_checkpoint():  # B10, B11: the reverse rules are used, whatever the flag says
    assert logs_of(jax.checkpoint(lambda x: tap(x, "r") * 2), 1.0) == ((2,), {"r": 2})


def test_custom_vjp_under_checkpoint():  # B12
    @jax.custom_vjp
    def logging(x):
        return x

    logging.defvjp_with_logs(lambda x: (x, None), lambda _, g: ((g,), {"g": g}))
    assert logs_of(jax.checkpoint(lambda x: logging(x) * 2), 1.0)[1] == {"g": 2}


def test_vmap_of_logs():  # B13
    def one(x):
        return jax.vjp(lambda x: tap(x, "a") ** 2, x)[1].with_logs(1.0)[1]

    np.testing.assert_array_equal(jax.vmap(one)(jnp.arange(3.0))["a"], [0, 2, 4])


def test_logs_of_vmap():  # B14
    _, logs = logs_of(jax.vmap(lambda x: tap(x, "a") ** 2), jnp.arange(3.0))
    np.testing.assert_allclose(logs["a"], 4.472136, rtol=1e-6)


class Logging(hj.HiPrim):
    returned = None

    def __init__(self, t):
        self.in_avals, self.out_aval, self.params = (t,), t, {}
        super().__init__()

    def expand(self, x):
        return x

    def vjp_fwd(self, nzs_in, x):
        return self(x), None


def apply(cls):
    return lambda x: cls(jax.typeof(x))(x)


def test_logs_returned_with_cotangents():  # B15
    class Returned(Logging):
        def vjp_bwd_retval_logs(self, res, g):
            return (g,), {"rl": g}

    assert logs_of(apply(Returned), 1.0, ct=5.0)[1] == {"rl": 5}


def test_logs_must_be_a_dict():  # B16
    class Listing(Logging):
        def vjp_bwd(self, res, g, accum):
            return [g]

    with pytest.raises(TypeError, match=r"Listing\.vjp_bwd.*list.*dict"):
        logs_of(apply(Listing), 1.0)


def test_unread_logs_cost_nothing():  # B17
    def f(x):
        return tap(x, "a") ** 2

    assert "sqrt" not in jax.jit(jax.grad(f)).lower(3.0).as_text()
    logged = jax.jit(lambda x: logs_of(f, x))
    assert "sqrt" in logged.lower(3.0).as_text()


def test_copies_keep_the_wish_for_logs():  # B19
    _, f_vjp = jax.vjp(lambda x: tap(x, "a"), 3.0)
    assert jax.tree.map(lambda x: x, f_vjp.with_logs).want_logs


@pytest.mark.parametrize("under", [lambda f: f, jax.jit])
def test_printing(under, capfd):  # B20
    class Printing(Logging):
        def vjp_bwd_retval(self, res, g):
            jax.debug.print("{}", g)
            return (g,)

    under(jax.grad(lambda x: apply(Printing)(x) ** 2))(3.0)
    jax.effects_barrier()
    assert capfd.readouterr().out == "6.0\n"

    @jax.custom_vjp
    def printing(x):
        return x

    def bwd(_, g):
        jax.debug.print("{}", g)
        return (g,)

    printing.defvjp(lambda x: (x, None), bwd)
    under(jax.grad(lambda x: printing(x) ** 2))(3.0)
    jax.effects_barrier()
    assert capfd.readouterr().out == "6.0\n"


def test_static_loop():  # B23
    _, logs = logs_of(lambda x: lax.fori_loop(0, 2, lambda i, x: tap(x, "w"), x), 1.0)
    np.testing.assert_array_equal(logs["w"], [1, 1])


def test_nan_sentinel_reports_layer_and_step(capfd):
    """A NaN that arises in layer 1 is reported with its place; the gradient is unchanged."""
    layers = jnp.arange(3)

    def loss(ws, step, watch):
        def layer(c, args):
            w, i = args
            y = jnp.sqrt(c * w)
            return (warn_nan(y, i, step) if watch else y), None

        return lax.scan(layer, jnp.ones(2), (ws, layers))[0].sum()

    ws = jnp.array([[1.0, 1.0], [1.0, -1.0], [1.0, 1.0]])
    good = jnp.ones((3, 2))
    for step, values in enumerate([good, ws]):
        _, logs = logs_of(lambda w, s=step: loss(w, s, True), values)
        jax.effects_barrier()
        printed = capfd.readouterr().out
        if step == 0:
            assert first_bad_layer(logs["nan"]) is None
            assert not printed
        else:
            assert first_bad_layer(logs["nan"]) == 1
            assert "NaN in the cotangent of layer 1 at step 1" in printed
    watched = jax.grad(lambda w: loss(w, 0, True))(good)
    np.testing.assert_array_equal(watched, jax.grad(lambda w: loss(w, 0, False))(good))


# ---- refs ---------------------------------------------------------------------------------------


def test_logs_with_gradients_in_refs():  # B18
    _, f_vjp = jax.vjp(lambda x: (tap(x, "z") ** 2).sum(), jnp.array([3.0, 4.0]))
    total = jax.new_ref(jnp.zeros(2))
    cts, logs = f_vjp.with_logs.with_refs(total)(1.0)
    assert cts == (GradRef(),)
    assert logs == {"z": 10}
    np.testing.assert_array_equal(total[...], [6, 8])


def test_custom_vjp_writes_to_a_ref_in_a_scan():  # B21
    @jax.custom_vjp
    def tapped(x, ref, i):
        return x

    def bwd(res, g):
        ref, i = res
        ref[i] = jnp.sqrt((g * g).sum())
        return g, None, None

    tapped.defvjp(lambda x, ref, i: (x, (ref, i)), bwd)

    def loss(ws, ref):
        def layer(c, args):
            w, i = args
            return tapped(jnp.tanh(c @ w), ref, i), None

        return lax.scan(layer, X, (ws, jnp.arange(3)))[0].sum()

    norms = jax.new_ref(jnp.zeros(3))
    jax.grad(loss)(WS, norms)
    np.testing.assert_allclose(norms[...], NORMS, rtol=1e-6)


def test_ref_among_the_arguments():  # B22
    class Summed(hj.HiPrim):
        def __init__(self, x, ref):
            self.in_avals, self.out_aval, self.params = (x, ref), x, {}
            super().__init__()

        def expand(self, x, ref):
            return x

        def vjp_fwd(self, nzs_in, x, ref):
            return self(x, ref), ref

        def vjp_bwd(self, ref, g, accum, _):
            accum.accum(g)
            ref[...] += (g * g).sum()

    total = jax.new_ref(jnp.float32(0))

    def loss(x, ref):
        return (Summed(jax.typeof(x), jax.typeof(ref))(x, ref) ** 2).sum()

    np.testing.assert_array_equal(jax.grad(loss)(jnp.arange(3.0), total), [0, 2, 4])
    assert total[...] == 20


class TwoOutputs(hj.HiPrim):
    """Logs the cotangents of both outputs, of which one is symbolically zero."""

    def __init__(self, t):
        self.in_avals, self.out_aval, self.params = (t,), (t, t), {}
        super().__init__()

    def expand(self, x):
        return x, x

    def vjp_fwd(self, nzs_in, x):
        return self(x), None

    def vjp_bwd(self, res, ct, accum):
        accum.accum(ct[0])
        return {"cts": ct}


@pytest.mark.parametrize("call", [jax.jit, lambda f: lambda x: lax.cond(True, f, jnp.sin, x)])
def test_symbolic_zeros_are_logged_as_arrays_by_calls(call):
    f = call(lambda x: TwoOutputs(jax.typeof(x))(x)[0])
    _, logs = jax.vjp(f, 2.0)[1].with_logs(3.0)
    assert [float(x) for x in jax.tree.leaves(logs)][-2:] == [3, 0]
