"""vjp: cotangents, and the VJP object as a pytree."""

import numpy as np
import pytest

import tans_lax as lax
from tans_autodiff import NotNeeded, NotSaveable, grad, vjp
from tans_batching import vmap
from tans_core import dtypes, tree
from tans_xla import eval_shape

f32 = np.float32


def layer(w, x):
    return lax.tanh(lax.dot(x, w))


def same(x, y):
    return isinstance(x, NotNeeded | NotSaveable) and x == y


def test_python_numbers_are_opaque_and_containers_are_mirrored():
    _, f_vjp = vjp(lambda t: lax.mul(t[0], t[1]["a"]), (2.0, {"a": 3.0}))
    assert f_vjp.args_res == [(NotNeeded(), {"a": NotNeeded()})]
    (cts,) = f_vjp(1.0)
    assert (float(cts[0]), float(cts[1]["a"])) == (3.0, 2.0)


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


def test_complex_cotangents_are_not_conjugated():
    _, f_vjp = vjp(lambda z: lax.mul(z, np.complex64(2 + 1j)), 0j)
    assert complex(f_vjp(1j)[0]) == -1 + 2j
    _, f_vjp = vjp(lax.conj, 0j)
    assert complex(f_vjp(1j)[0]) == -1j


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
