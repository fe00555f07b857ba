"""VJP objects and what they save: the vectors A40 to A42, V1 to V25 and L1 to L7, by number.

V10 to V12, V17, V18 and V23 are integration tests; V19, V20 and A37 stand in files of their own.
"""

import collections
import pickle

import numpy as np
import pytest

import tans_lax as lax
from tans_autodiff import (
    VJP,
    NotNeeded,
    NotSaveable,
    checkpoint,
    checkpoint_name,
    checkpoint_policies,
    fwd_and_bwd,
    grad,
    jvp,
    vjp,
)
from tans_core import dtypes, tree
from tans_xla import device_put, jit, make_jaxpr

f32 = np.float32
Point = collections.namedtuple("Point", "x y")


def one(value):
    return device_put(f32(value))


@pytest.fixture
def w(matrix):
    return matrix


@pytest.fixture
def x(batch):
    return batch


def layer(w, x):
    return lax.tanh(lax.dot(x, w))


def net(w, x):
    h = checkpoint_name(lax.tanh(lax.dot(x, w)), "a")
    return lax.tanh(lax.dot(h, w))


def shapes(f_vjp):
    return sorted(r.shape for r in f_vjp.opaque_residuals)


def saved(policy, w, x):
    return vjp(checkpoint(net, policy=policy), w, x)[1]


def test_A40_values_saved_by_name(w, x):
    f_vjp = saved(checkpoint_policies.save_only_these_names("a"), w, x)
    (a,) = f_vjp.opaque_residuals
    np.testing.assert_allclose(a, layer(w, x), rtol=1e-6)


def test_A41_products_saved(w, x):
    assert shapes(saved(checkpoint_policies.dots_saveable, w, x)) == [(2, 3), (2, 3)]


def test_A42_default_policy_saves_arguments_only(w, x):
    f_vjp = saved(None, w, x)
    assert f_vjp.opaque_residuals == []
    assert f_vjp.args_res[0] is w


def test_V1_saved_arguments_and_one_opaque_value(w, x):
    _, f_vjp = vjp(layer, w, x)
    assert f_vjp.args_res[0] is w
    assert f_vjp.args_res[1] is x
    assert shapes(f_vjp) == [(2, 3)]
    assert len(tree.leaves(f_vjp)) == 3


def test_V2_V3_values_left_out_and_restored(w, x):
    y, whole = vjp(layer, w, x)
    _, f_vjp = vjp(layer, w, x, saveable_args=(False, True))
    assert f_vjp.args_res[0] == NotSaveable()
    assert len(tree.leaves(f_vjp)) == 2
    with pytest.raises(ValueError, match=r"args\[0\]"):
        f_vjp(y)
    replaced = f_vjp.replace(args_res=[w, f_vjp.args_res[1]])
    f_vjp.args_res[0] = w
    for restored in (f_vjp, replaced):
        tree.map(np.testing.assert_array_equal, restored(y), whole(y))


def test_V4_what_is_not_needed_is_not_to_be_restored():
    f_vjp = vjp(lax.add, one(1), one(2), saveable_args=False)[1]
    assert f_vjp.args_res == [NotNeeded(), NotNeeded()]


def test_V5_one_object_at_two_positions(w):
    _, f_vjp = vjp(lax.mul, w, w)
    assert all(r is w for r in f_vjp.args_res)
    assert f_vjp.opaque_residuals == []


def test_V6_an_output_is_an_opaque_residual(w):
    _, f_vjp = vjp(lax.exp, w)
    assert f_vjp.args_res == [NotNeeded()]
    np.testing.assert_array_equal(f_vjp.opaque_residuals[0], lax.exp(w))


def test_V7_python_numbers_are_opaque():
    _, f_vjp = vjp(lambda t: lax.mul(t[0], t[1]["a"]), (2.0, {"a": 3.0}))
    assert f_vjp.args_res == [(NotNeeded(), {"a": NotNeeded()})]


def test_V8_a_namedtuple_is_mirrored_by_a_tuple(w):
    _, f_vjp = vjp(lambda p: lax.mul(p.x, p.y), Point(w, w))
    assert type(f_vjp.args_res[0]) is tuple


def test_V9_V14_compiled_apart(w, x):
    fwd, bwd = fwd_and_bwd(layer, (0, 1))
    y1, v1 = fwd(w, x)
    y2, v2 = fwd(w, y1)
    d2, d1 = bwd(v2, y2)
    d0, _ = bwd(v1, d1)
    assert fwd._cache_size() == bwd._cache_size() == 1

    def loss(w1, w2):
        return lax.mul(0.5, lax.reduce_sum(lax.square(layer(w2, layer(w1, x))), (0, 1)))

    expected = grad(loss, (0, 1))(w, w)
    np.testing.assert_allclose(d0, expected[0], rtol=1e-5)
    np.testing.assert_allclose(d2, expected[1], rtol=1e-5)


def test_V13_one_cotangent(w, x):
    y, f_vjp = vjp(layer, w, x)
    with pytest.raises(TypeError, match="2 arguments"):
        f_vjp(y, y)


def test_V14_selected_arguments(w, x):
    fwd, bwd = fwd_and_bwd(layer, argnums=0)
    y, f_vjp = fwd(w, x)
    assert f_vjp.args_res == [NotNeeded()]
    assert shapes(f_vjp) == [(2, 3), (2, 3)]
    np.testing.assert_allclose(bwd(f_vjp, y), vjp(layer, w, x)[1](y)[0], rtol=1e-6)


def test_V15_stacked_and_applied_by_scan():
    xs = np.arange(3, dtype=f32)
    _, stacked = lax.scan(lambda c, x: (c, vjp(lax.sin, x)[1]), 0.0, xs)
    _, cts = lax.scan(lambda c, v: (c, v(f32(1))[0]), 0.0, stacked)
    np.testing.assert_allclose(cts, [1, 0.5403023, -0.41614684], rtol=1e-6)


def test_V16_inputs_without_tangents():
    _, f_vjp = vjp(lambda x, y: (x, y, lax.mul(x, y)), 2.0, 3.0, in_nzs=(True, False))
    assert f_vjp.out_nzs == (True, False, True)
    assert list(map(float, f_vjp((1.0, 1.0, 1.0)))) == [4.0, 0.0]


def test_V21_no_logs():
    (ct,), logs = vjp(lax.sin, 0.0)[1].with_logs(1.0)
    assert (float(ct), logs) == (1.0, {})


def test_V22_derivative_with_respect_to_residuals():
    result = grad(lambda v: v(1.0)[0])(vjp(lax.sin, 1.0)[1])
    assert type(result) is VJP
    assert float(result.opaque_residuals[0]) == 1.0


def test_V24_pickling_is_refused(x):
    with pytest.raises(pickle.PicklingError, match="leaves"):
        pickle.dumps(vjp(lax.sin, x)[1])


def steps(body):
    return lambda w, xs: lax.scan(lambda c, x: (body(c, w, x),) * 2, np.zeros(3, f32), xs)[1]


def rnn(w, xs):
    return steps(lambda c, w, x: lax.tanh(lax.add(lax.dot(c, w), x)))(w, xs)


def test_L1_scan_keeps_its_weights_once(w):
    xs = device_put(np.ones((5, 3), f32))
    _, f_vjp = vjp(rnn, w, xs)
    assert f_vjp.args_res[0] is w
    assert f_vjp.args_res[1] == NotNeeded()
    assert shapes(f_vjp) == [(5, 3), (5, 3)]


def test_L2_what_does_not_change_is_not_stacked():
    def loop(w, xs):
        return lax.scan(lambda c, x: (lax.add(lax.mul(c, lax.sin(w)), x), None), 1.0, xs)[0]

    _, f_vjp = vjp(loop, one(0.5), device_put(np.ones(5, f32)))
    assert shapes(f_vjp) == [(), (), (5,)]


def test_L3_branches_share_slots(x):
    def first(x):
        return lax.mul(
            lax.reduce_sum(lax.sin(x), (0, 1)), lax.reduce_sum(lax.slice(x, (0, 0), (1, 1)), (0, 1))
        )

    def second(x):
        return lax.reduce_sum(lax.dot(x, lax.transpose(x, (1, 0))), (0, 1))

    f_vjp = jit(lambda p, x: vjp(lambda x: lax.cond(p, first, second, x), x)[1])(True, x)
    np.testing.assert_array_equal(f_vjp.args_res[0], x)
    index, *floats = sorted(f_vjp.opaque_residuals, key=lambda r: r.dtype.kind != "i")
    assert index.dtype == np.int32
    assert sum(r.size for r in floats) <= 2 * 6 + 2


def test_L4_one_slot_for_all_branches(x):
    branches = [lax.sin, lax.cos, lambda x: lax.mul(2.0, x), lax.exp]
    f_vjp = jit(lambda i, x: vjp(lambda x: lax.switch(i, branches, x), x)[1])(1, x)
    assert sorted((r.dtype.name, r.shape) for r in f_vjp.opaque_residuals) == [
        ("float32", (2, 3)),
        ("int32", ()),
    ]


def test_L5_forward_mode_of_a_while_loop_is_one_loop(primitives):
    def loop(x):
        return lax.while_loop(lambda c: lax.lt(c, 10.0), lambda c: lax.mul(c, x), x)

    closed = make_jaxpr(lambda x, t: jvp(loop, (x,), (t,)))(2.0, 1.0)
    assert primitives(closed) == {"while": 1}
    (eqn,) = closed.eqns
    assert len(eqn.outvars) == 2
    assert [e.primitive.name for e in eqn.params["cond_jaxpr"].eqns] == ["lt"]


@pytest.mark.parametrize(("prevent_cse", "barriers"), [(True, 1), (False, 0)])
def test_L6_L7_one_recomputation(primitives, prevent_cse, barriers):
    f = grad(checkpoint(lambda x: lax.sin(lax.sin(x)), prevent_cse=prevent_cse))
    closed = make_jaxpr(f)(1.0)
    assert primitives(closed) == {"sin": 2, "remat2": 1}
    remat = closed.eqns[-1]
    assert remat.params["differentiated"] is True
    assert primitives(remat.params["jaxpr"]) == {"sin": 1, "cos": 2, "mul": 2}
    assert jit(f).lower(1.0).as_text().count("optimization_barrier") == barriers


def test_integer_arguments_have_float0_cotangents():
    cts = vjp(lambda x, n: x, one(1), device_put(np.int32(2)))[1](f32(1))
    assert cts[1].dtype == dtypes.float0
