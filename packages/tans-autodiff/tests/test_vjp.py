"""vjp: cotangents, and the VJP object as a pytree."""

import collections

import numpy as np
import pytest

import tans_lax as lax
from tans_autodiff import NotNeeded, NotSaveable, fwd_and_bwd, grad, vjp
from tans_batching import vmap
from tans_core import dtypes, tree
from tans_xla import device_put, eval_shape, jit

f32 = np.float32


def layer(w, x):
    return lax.tanh(lax.dot(x, w))


def same(x, y):
    return isinstance(x, NotNeeded | NotSaveable) and x == y


def test_residuals_that_are_arguments_are_kept_as_arguments(matrix, batch):
    _y, f_vjp = vjp(layer, matrix, batch)
    assert f_vjp.args_res[0] is matrix
    assert f_vjp.args_res[1] is batch
    assert [r.shape for r in f_vjp.opaque_residuals] == [(2, 3)]
    assert len(tree.leaves(f_vjp)) == 3


def test_unsaveable_arguments_are_left_out_and_restored(matrix, batch):
    y, whole = vjp(layer, matrix, batch)
    _, f_vjp = vjp(layer, matrix, batch, saveable_args=(False, True))
    assert f_vjp.args_res[0] == NotSaveable()
    assert len(tree.leaves(f_vjp)) == 2
    with pytest.raises(ValueError, match=r"args\[0\]"):
        f_vjp(y)
    replaced = f_vjp.replace(args_res=[matrix, f_vjp.args_res[1]])
    f_vjp.args_res[0] = matrix
    for restored in (f_vjp, replaced):
        for a, b in zip(restored(y), whole(y), strict=True):
            np.testing.assert_array_equal(a, b)


def test_arguments_that_are_not_needed_stay_out():
    _, f_vjp = vjp(lax.add, device_put(f32(1)), device_put(f32(2)), saveable_args=False)
    assert f_vjp.args_res == [NotNeeded(), NotNeeded()]


def test_the_same_object_twice_fills_both_positions(matrix):
    _, f_vjp = vjp(lax.mul, matrix, matrix)
    assert f_vjp.args_res[0] is matrix
    assert f_vjp.args_res[1] is matrix
    assert f_vjp.opaque_residuals == []


def test_residual_that_equals_an_output_is_opaque(matrix):
    _, f_vjp = vjp(lax.exp, matrix)
    assert f_vjp.args_res == [NotNeeded()]
    np.testing.assert_array_equal(f_vjp.opaque_residuals[0], lax.exp(matrix))


def test_python_numbers_are_opaque_and_containers_are_mirrored():
    _, f_vjp = vjp(lambda t: lax.mul(t[0], t[1]["a"]), (2.0, {"a": 3.0}))
    assert f_vjp.args_res == [(NotNeeded(), {"a": NotNeeded()})]
    (cts,) = f_vjp(1.0)
    assert (float(cts[0]), float(cts[1]["a"])) == (3.0, 2.0)


def test_namedtuples_are_mirrored_as_tuples(matrix):
    point = collections.namedtuple("point", "x y")
    _, f_vjp = vjp(lambda p: lax.mul(p.x, p.y), point(matrix, matrix))
    assert type(f_vjp.args_res[0]) is tuple


def test_cotangents_have_the_structure_and_dtype_of_the_arguments():
    _, f_vjp = vjp(lambda x: lax.convert_element_type(x, "float32"), np.float16(1))
    (ct,) = f_vjp(f32(2))
    assert ct.dtype == np.float16
    _, f_vjp = vjp(lambda x, n: lax.mul(x, lax.convert_element_type(n, "float32")), 2.0, 3)
    cts = f_vjp(1.0)
    assert float(cts[0]) == 3.0
    assert cts[1].dtype == dtypes.float0


def test_aux_and_repeated_calls():
    _y, f_vjp, aux = vjp(lambda x: (lax.square(x), x), 3.0, has_aux=True)
    assert [float(f_vjp(c)[0]) for c in (1.0, 2.0)] == [6.0, 12.0]
    assert float(aux) == 3.0


def test_in_nzs_switches_inputs_off():
    def f(x, y):
        return (x, y, lax.mul(x, y))

    _, f_vjp = vjp(f, 2.0, 3.0, in_nzs=(True, False))
    assert f_vjp.out_nzs == (True, False, True)
    assert list(map(float, f_vjp((1.0, 1.0, 1.0)))) == [4.0, 0.0]


def test_complex_cotangents_are_not_conjugated():
    _, f_vjp = vjp(lambda z: lax.mul(z, np.complex64(2 + 1j)), 0j)
    assert complex(f_vjp(1j)[0]) == -1 + 2j
    _, f_vjp = vjp(lax.conj, 0j)
    assert complex(f_vjp(1j)[0]) == -1j


def test_passes_through_jit_in_and_out_and_compiles_once_each(matrix, batch):
    traced = []

    def forward(w, x):
        traced.append("forward")
        return vjp(layer, w, x)

    def backward(f_vjp, ct):
        traced.append("backward")
        return f_vjp(ct)

    fwd, bwd = jit(forward), jit(backward)
    y1, v1 = fwd(matrix, batch)
    y2, v2 = fwd(matrix, y1)
    cts2 = bwd(v2, y2)
    cts1 = bwd(v1, cts2[1])
    assert traced == ["forward", "backward"]

    def loss(w1, w2):
        out = layer(w2, layer(w1, batch))
        return lax.mul(0.5, lax.reduce_sum(lax.square(out), (0, 1)))

    expected = grad(loss, (0, 1))(matrix, matrix)
    np.testing.assert_allclose(cts1[0], expected[0], rtol=1e-5)
    np.testing.assert_allclose(cts2[0], expected[1], rtol=1e-5)


def test_stacked_by_scan_and_applied_in_a_scan():
    xs = np.arange(3, dtype=f32)
    _, stacked = lax.scan(lambda c, x: (c, vjp(lax.sin, x)[1]), 0.0, xs)
    _, cts = lax.scan(lambda c, v: (c, v(f32(1))[0]), 0.0, stacked)
    np.testing.assert_allclose(cts, np.cos(xs), rtol=1e-6)


def test_mapped_by_vmap_and_seen_by_eval_shape(matrix):
    f_vjp = vmap(lambda x: vjp(lax.sin, x)[1])(matrix)
    cts = vmap(lambda v, ct: v(ct)[0])(f_vjp, matrix)
    np.testing.assert_allclose(cts, np.asarray(matrix) * np.cos(np.asarray(matrix)), rtol=1e-6)
    shapes = eval_shape(lambda x: vjp(lax.sin, x)[1], matrix)
    assert [s.shape for s in tree.leaves(shapes)] == [(3, 3)]


def test_leaves_may_be_numpy_arrays(matrix, batch):
    y, f_vjp = vjp(layer, matrix, batch)
    moved = tree.map(np.asarray, f_vjp)
    assert type(moved) is type(f_vjp)
    for a, b in zip(moved(y), f_vjp(y), strict=True):
        np.testing.assert_array_equal(a, b)


def test_second_order():
    assert float(grad(lambda x: vjp(lax.sin, x)[1](1.0)[0])(1.0)) == pytest.approx(-np.sin(1.0))
    _, f_vjp = vjp(lax.sin, 1.0)
    result = grad(lambda v: v(1.0)[0])(f_vjp)
    assert float(result.opaque_residuals[0]) == 1.0


def test_fwd_and_bwd(matrix, batch):
    fwd, bwd = fwd_and_bwd(layer, argnums=0)
    y, f_vjp = fwd(matrix, batch)
    assert f_vjp.args_res == [NotNeeded()]
    assert [r.shape for r in f_vjp.opaque_residuals] == [(2, 3), (2, 3)]
    expected = vjp(layer, matrix, batch)[1](y)[0]
    np.testing.assert_allclose(bwd(f_vjp, y), expected, rtol=1e-6)


def test_residuals_of_a_scan(matrix):
    xs = device_put(np.ones((5, 3), f32))

    def rnn(w, xs):
        def step(c, x):
            h = lax.tanh(lax.add(lax.dot(c, w), x))
            return h, h

        return lax.scan(step, np.zeros(3, f32), xs)[1]

    _, f_vjp = vjp(rnn, matrix, xs)
    assert f_vjp.args_res[0] is matrix
    assert f_vjp.args_res[1] == NotNeeded()
    assert sorted(r.shape for r in f_vjp.opaque_residuals) == [(5, 3), (5, 3)]


@pytest.mark.parametrize(
    ("ct", "facts"),
    [
        (1, ["int32[]", "float32[]"]),
        ((1.0,), ["structure"]),
        (np.ones(2, f32), ["float32[2]", "float32[]"]),
    ],
)
def test_wrong_cotangents(ct, facts):
    _, f_vjp = vjp(lax.sin, 1.0)
    with pytest.raises(ValueError, match="VJP function") as caught:
        f_vjp(ct)
    for fact in facts:
        assert fact in str(caught.value)


def test_two_arguments_are_refused():
    _, f_vjp = vjp(lax.mul, 1.0, 2.0)
    with pytest.raises(TypeError, match="2 arguments"):
        f_vjp(1.0, 2.0)


def test_a_wide_numpy_scalar_is_a_float32_cotangent():
    assert float(vjp(lax.sin, 0.0)[1](np.float64(2))[0]) == 2.0


@pytest.mark.parametrize(
    ("flags", "fact"),
    [
        ((False,), "1 flags for 2 parts"),
        (None, "0 flags"),
        (((True,), True), "a container of flags for a single array"),
        ((1, True), "is 1 of type int"),
    ],
)
def test_flags_that_do_not_fit(flags, fact):
    with pytest.raises(ValueError, match=fact):
        vjp(lax.mul, 1.0, 2.0, saveable_args=flags)


def test_flags_are_a_loose_prefix(matrix):
    d = {"hi": matrix, "bye": lax.add(matrix, 1.0)}

    def f(d):
        return lax.mul(d["hi"], d["bye"])

    for flags in (((True, False),), ({"hi": False, "bye": True},)):
        _, f_vjp = vjp(f, d, saveable_args=flags)
        assert f_vjp.args_res[0]["hi"] == NotSaveable()
        assert f_vjp.args_res[0]["bye"] is d["bye"]
    with pytest.raises(ValueError, match="hix"):
        vjp(f, d, saveable_args=({"hix": False, "bye": True},))


def test_unknown_field_is_refused():
    _, f_vjp = vjp(lax.sin, 1.0)
    with pytest.raises(TypeError):
        f_vjp.replace(nonsense=1)
    assert f_vjp != f_vjp.replace()


def test_with_logs_returns_an_empty_dict_when_no_rule_logs():
    _, f_vjp = vjp(lax.sin, 0.0)
    (ct,), logs = f_vjp.with_logs(1.0)
    assert (float(ct), logs) == (1.0, {})
