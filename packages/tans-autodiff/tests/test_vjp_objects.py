"""VJP objects as values: edited, measured, moved and applied elsewhere."""

import numpy as np
import pytest

import tans_lax as lax
from tans_autodiff import NotNeeded, NotSaveable, fwd_and_bwd, grad, vjp
from tans_batching import vmap
from tans_core import tree
from tans_xla import device_put, jit

f32 = np.float32


def layer(p, x):
    return lax.tanh(lax.add(lax.dot(x, p["w"]), lax.broadcast_in_dim(p["b"], (2, 3), (1,))))


@pytest.fixture
def parameters(matrix):
    return {"w": matrix, "b": device_put(np.ones(3, f32))}


def without_weights(p, x):
    return vjp(layer, p, x, saveable_args=({"w": False, "b": True}, True))


def test_values_inside_containers_are_restored_in_place(parameters, batch):
    y, f_vjp = without_weights(parameters, batch)
    assert f_vjp.args_res[0] == {"w": NotSaveable(), "b": NotNeeded()}
    f_vjp.args_res[0]["w"] = parameters["w"]
    expected = vjp(layer, parameters, batch)[1](y)
    tree.map(np.testing.assert_array_equal, f_vjp(y), expected)


@pytest.mark.parametrize(
    "passage",
    [
        jit(lambda v: v),
        device_put,
        lambda v: tree.map(np.asarray, v),
        lambda v: lax.scan(lambda c, _: (c, None), v, None, length=2)[0],
        lambda v: lax.cond(True, lambda v: v, lambda v: v, v),
    ],
    ids=["jit", "device_put", "numpy", "scan", "cond"],
)
def test_restored_after_a_passage(parameters, batch, passage):
    y, f_vjp = without_weights(parameters, batch)
    f_vjp = passage(f_vjp)
    f_vjp.args_res[0]["w"] = parameters["w"]
    expected = vjp(layer, parameters, batch)[1](y)
    for a, b in zip(tree.leaves(f_vjp(y)), tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)


def test_mapped_objects_are_restored_with_unmapped_weights(parameters, batch):
    xs = np.stack([np.asarray(batch)] * 2)
    ys, f_vjp = vmap(without_weights, (None, 0))(parameters, xs)
    f_vjp.args_res[0]["w"] = np.stack([np.asarray(parameters["w"])] * 2)
    cts = vmap(lambda v, ct: v(ct))(f_vjp, ys)
    expected = vjp(layer, parameters, batch)[1](np.asarray(ys)[0])
    for a, b in zip(tree.leaves(cts), tree.leaves(expected), strict=True):
        np.testing.assert_allclose(np.asarray(a)[0], b, rtol=1e-6)


def test_the_error_names_each_value_to_restore(parameters, batch):
    def product(p, x):
        return lax.mul(lax.mul(p["w"], p["b"]), lax.mul(x[0], x[1]))

    m = parameters["w"]
    _, f_vjp = vjp(
        product, {"w": m, "b": lax.neg(m)}, (lax.exp(m), lax.sin(m)), saveable_args=False
    )
    with pytest.raises(ValueError, match="missing") as caught:
        f_vjp(m)
    for path in ("args[0]['b']", "args[0]['w']", "args[1][0]", "args[1][1]"):
        assert path in str(caught.value)
    assert "product" in str(caught.value)
    assert "test_vjp_objects.py:" in str(caught.value)


def test_a_residual_of_the_wrong_type_is_named(parameters, batch):
    y, f_vjp = without_weights(parameters, batch)
    f_vjp.args_res[0]["w"] = np.ones((3, 2), f32)
    with pytest.raises(ValueError, match=r"args_res\[0\]\['w'\].*float32\[3,2\].*float32\[3,3\]"):
        f_vjp(y)
    f_vjp.args_res[0]["w"] = "weights"
    with pytest.raises(ValueError, match="'weights' of type str"):
        f_vjp(y)
    f_vjp.args_res[0]["w"] = parameters["w"]
    f_vjp.opaque_residuals[0] = np.float16(1)
    with pytest.raises(ValueError, match=r"opaque_residuals\[0\].*float16"):
        f_vjp(y)


def test_residuals_of_another_number_are_refused(matrix):
    _, f_vjp = vjp(lax.sin, matrix)
    with pytest.raises(ValueError, match="args_res with 2"):
        f_vjp.replace(args_res=[NotNeeded(), NotNeeded()])(matrix)
    with pytest.raises(ValueError, match="opaque_residuals with 0 values"):
        f_vjp.replace(opaque_residuals=[])(matrix)


def test_bytes_count_each_value_once(matrix):
    assert vjp(lax.mul, matrix, matrix)[1].nbytes == 36
    assert vjp(lax.add, matrix, matrix)[1].nbytes == 0
    assert vjp(lax.sin, np.float64(1))[1].nbytes == 4


def test_bytes_are_known_while_tracing(matrix):
    sizes = []

    @jit
    def forward(x):
        y, f_vjp = vjp(lax.sin, x)
        sizes.append(f_vjp.nbytes)
        return y

    forward(matrix)
    assert sizes == [36]


def test_table_of_residuals(parameters, batch):
    _, f_vjp = vjp(layer, parameters, batch)
    table = f_vjp.residual_table
    rows = {row.origin: row for row in table}
    assert rows["args[0]['w']"][1:] == ("f32[3,3]", 36, "dot_general")
    assert rows["args[1]"].nbytes == 24
    (computed,) = [row for origin, row in rows.items() if not origin.startswith("args")]
    assert "test_vjp_objects.py:" in computed.origin
    assert table.nbytes == f_vjp.nbytes
    lines = str(table).splitlines()
    assert lines[0].split() == ["bytes", "type", "value", "read", "by"]
    assert lines[1].split() == ["36", "f32[3,3]", "args[0]['w']", "dot_general"]
    assert lines[-1].split() == [str(f_vjp.nbytes), "total"]


def test_forward_and_backward_compile_once_each_in_any_order(parameters, batch):
    fwd, bwd = fwd_and_bwd(layer, (0, 1), saveable_args=({"w": False, "b": True}, True))
    y1, v1 = fwd(parameters, batch)
    y2, v2 = fwd(parameters, y1)
    y3, v3 = fwd(parameters, y2)
    ct = y3
    for v in (v3, v2, v1):
        v.args_res[0]["w"] = parameters["w"]
        _, ct = bwd(v, ct)
    assert fwd._cache_size() == 1
    assert bwd._cache_size() == 1

    def loss(x):
        out = layer(parameters, layer(parameters, layer(parameters, x)))
        return lax.mul(0.5, lax.reduce_sum(lax.square(out), (0, 1)))

    np.testing.assert_allclose(ct, grad(loss)(batch), rtol=1e-5)
