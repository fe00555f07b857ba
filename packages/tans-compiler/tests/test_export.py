"""Programs that are exported, written, read and called again (vectors 57, 58; platforms 19)."""

import subprocess
import sys
from typing import NamedTuple

import numpy as np
import pytest

import tans
import tans.numpy as jnp
from tans import export

A = np.linspace(-1, 1, 32, dtype=np.float32).reshape(4, 8)
B = np.linspace(-2, 2, 16, dtype=np.float32).reshape(8, 2)


def layer(a, b):
    return jnp.tanh(a @ b)


@pytest.fixture
def exported():
    return export.export(tans.jit(layer))(A, B)


def reloaded(made, **options):
    return export.deserialize(made.serialize(**options))


def test_v57_wrong_shapes_and_dtypes(exported):
    with pytest.raises(ValueError, match="Shape mismatch for args") as caught:
        exported.call(np.ones((5, 8), np.float32), B)
    for fact in ("args[0].shape[0]", "(4, 8)", "(5, 8)"):
        assert fact in str(caught.value)
    with pytest.raises(ValueError, match="Dtype mismatch for args") as caught:
        exported.call(np.ones((4, 8), np.int32), B)
    for fact in ("args[0]", "float32", "int32"):
        assert fact in str(caught.value)
    with pytest.raises(ValueError, match="Rank mismatch"):
        exported.call(np.ones(8, np.float32), B)
    with pytest.raises(ValueError, match="given arguments of structure"):
        exported.call(A)


def test_v58_callbacks_can_not_be_exported():
    with pytest.raises(NotImplementedError, match="calls Python functions"):
        export.export(tans.jit(lambda x: tans.debug.print("{}", x)))(1.0)


def test_fields(exported):
    assert exported.fun_name == "layer"
    assert str(exported.in_tree) == "PyTreeDef(((*, *), {}))"
    assert [a.str_short() for a in exported.in_avals] == ["f32[4,8]", "f32[8,2]"]
    assert [a.str_short() for a in exported.out_avals] == ["f32[4,2]"]
    assert exported.platforms == ("cpu",) == (export.default_export_platform(),)
    assert exported.nr_devices == 1
    assert exported.calling_convention_version == 10
    assert (
        exported.calling_convention_version <= export.maximum_supported_calling_convention_version
    )
    assert export.minimum_supported_calling_convention_version == 9
    assert exported.module_kept_var_idx == (0, 1)
    assert not exported.uses_global_constants
    assert "stablehlo.dot_general" in exported.mlir_module()
    assert exported.in_shardings_hlo == (None, None)
    assert exported.ordered_effects == exported.unordered_effects == ()


def test_c19_three_platforms_written_and_read():
    made = export.export(tans.jit(layer), platforms=("cpu", "cuda", "tpu"))(A, B)
    again = reloaded(made)
    assert again.platforms == ("cpu", "cuda", "tpu")
    assert again.uses_global_constants
    out = again.call(A, B)
    assert out.shape == (4, 2)
    np.testing.assert_allclose(out, np.tanh(A.astype(np.float64) @ B), rtol=1e-5)


def test_platforms_whose_programs_differ_have_a_branch_each():
    made = export.export(tans.jit(jnp.linalg.cholesky), platforms=("cpu", "cuda", "tpu"))(
        np.eye(3, dtype=np.float32)
    )
    text = made.mlir_module()
    assert text.count("stablehlo.case") == 1
    for target in ("lapack_spotrf_ffi", "cusolver_potrf_ffi", "stablehlo.cholesky"):
        assert target in text
    np.testing.assert_array_equal(
        reloaded(made).call(np.eye(3, dtype=np.float32) * 4), np.eye(3) * 2
    )


def test_platforms_that_share_programs_share_branches():
    made = export.export(tans.jit(jnp.linalg.cholesky), platforms=("tpu", "cpu", "cuda"))(
        np.eye(2, dtype=np.float32)
    )
    np.testing.assert_array_equal(made.call(np.eye(2, dtype=np.float32)), np.eye(2))
    same = export.export(tans.jit(jnp.sin), platforms=("cpu", "cuda"))(1.0)
    assert "stablehlo.case" not in same.mlir_module()


def test_other_platforms_are_refused_and_can_be_allowed():
    made = export.export(tans.jit(layer), platforms=("tpu",))(A, B)
    with pytest.raises(ValueError, match="exported for tpu, but it is called on cpu"):
        made.call(A, B)
    allowed = export.export(
        tans.jit(layer),
        platforms=("tpu",),
        disabled_checks=[export.DisabledSafetyCheck.platform()],
    )(A, B)
    np.testing.assert_allclose(reloaded(allowed).call(A, B), layer(A, B), rtol=1e-6)


def test_arguments_of_export_are_checked():
    with pytest.raises(ValueError, match="expected a function that jit returned"):
        export.export(layer)
    with pytest.raises(ValueError, match="given platforms"):
        export.export(tans.jit(layer), platforms=("toaster",))
    with pytest.raises(NotImplementedError, match="refs"):
        export.export(tans.jit(lambda r: r[...]))(tans.new_ref(1.0))


def test_custom_calls_without_a_guarantee():
    call = tans.ffi.ffi_call("my_cc", tans.ShapeDtypeStruct((), np.float32))
    with pytest.raises(ValueError, match=r"'my_cc'.*compatibility guarantee"):
        export.export(tans.jit(lambda x: call(x)))(1.0)
    check = export.DisabledSafetyCheck.custom_call("my_cc")
    assert check.is_custom_call() == "my_cc"
    assert check == export.DisabledSafetyCheck.custom_call("my_cc")
    assert export.DisabledSafetyCheck.platform().is_custom_call() is None
    made = export.export(tans.jit(lambda x: call(x)), disabled_checks=[check])(1.0)
    assert reloaded(made).disabled_safety_checks == (check,)


def test_gradients_need_a_backward_pass_and_are_those_of_the_function(exported):
    expected = tans.grad(lambda a: layer(a, B).sum())(A)
    found = tans.grad(lambda a: exported.call(a, B).sum())(A)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    without, with_one = reloaded(exported), reloaded(exported, vjp_order=1)
    assert not without.has_vjp()
    assert with_one.has_vjp()
    with pytest.raises(ValueError, match="No VJP is available"):
        tans.grad(lambda a: without.call(a, B).sum())(A)
    found = tans.grad(lambda a: with_one.call(a, B).sum())(A)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_second_derivatives_need_two_backward_passes():
    made = export.export(tans.jit(jnp.sin))(1.0)
    twice = reloaded(made, vjp_order=2).call
    np.testing.assert_allclose(tans.grad(tans.grad(twice))(0.7), -np.sin(0.7), rtol=1e-5)
    once = reloaded(made, vjp_order=1).call
    with pytest.raises(ValueError, match="No VJP is available"):
        tans.grad(tans.grad(once))(0.7)


def test_integers_take_part_in_gradients():
    made = export.export(tans.jit(lambda n, x: (x * n, n + 1)))(np.int32(3), 2.0)
    slope, count = tans.grad(
        lambda x: reloaded(made, vjp_order=1).call(np.int32(3), x), has_aux=True
    )(2.0)
    assert (float(slope), int(count)) == (3.0, 4)


def test_calls_are_put_into_other_programs(exported):
    once = tans.jit(lambda a: exported.call(a, B) + exported.call(2 * a, B))
    np.testing.assert_allclose(once(A), layer(A, B) + layer(2 * A, B), rtol=1e-6)
    text = once.lower(A).as_text()
    assert text.count("func.func private @call_exported_layer") == 1
    carried = tans.lax.scan(
        lambda c, _: (exported.call(c, B) @ B.T, None), jnp.asarray(A), None, length=2
    )[0]
    np.testing.assert_allclose(carried, layer(layer(A, B) @ B.T, B) @ B.T, rtol=1e-5)


def test_an_exported_call_can_be_exported(exported):
    outer = export.export(tans.jit(lambda a: exported.call(a, B) * 2))(A)
    np.testing.assert_allclose(reloaded(outer).call(A), layer(A, B) * 2, rtol=1e-6)


def test_captured_constants_and_unused_arguments():
    table = jnp.arange(5.0)
    made = export.export(tans.jit(lambda x, unused: table * x))(2.0, 3.0)
    assert made.module_kept_var_idx == (0,)
    np.testing.assert_array_equal(reloaded(made).call(2.0, 3.0), np.arange(5.0) * 2)


class Point(NamedTuple):
    x: object
    y: object


class Box:
    def __init__(self, value, label):
        self.value, self.label = value, label


tans.tree_util.register_pytree_node(
    Box, lambda b: ((b.value,), b.label), lambda label, children: Box(*children, label)
)


def test_containers_are_written_by_name():
    make = export.export(tans.jit(lambda p, d: {"z": [p.x + d["w"], None], "b": Box(p.y, "k")}))
    made = make(Point(1.0, 2.0), {"w": 3.0})
    with pytest.raises(ValueError, match="expected tuples, lists, dicts"):
        made.serialize()
    export.register_namedtuple_serialization(Point, serialized_name="tests.Point")
    export.register_pytree_node_serialization(
        Box,
        serialized_name="tests.Box",
        serialize_auxdata=str.encode,
        deserialize_auxdata=bytes.decode,
    )
    found = reloaded(made).call(Point(1.0, 2.0), {"w": 3.0})
    assert found["z"][1] is None
    assert (float(found["z"][0]), float(found["b"].value), found["b"].label) == (4.0, 2.0, "k")
    with pytest.raises(ValueError, match="not registered yet"):
        export.register_namedtuple_serialization(Point, serialized_name="tests.Point")
    with pytest.raises(ValueError, match="made by NamedTuple"):
        export.register_namedtuple_serialization(Box, serialized_name="tests.Other")


def test_damaged_and_foreign_bytes_are_refused(exported):
    data = exported.serialize()
    for cut in (len(data) - 1, len(data) // 2, 12):
        with pytest.raises(ValueError, match="cut short or was changed"):
            export.deserialize(data[:cut])
    data[len(data) // 2] ^= 1
    with pytest.raises(ValueError, match="cut short or was changed"):
        export.deserialize(data)
    with pytest.raises(ValueError, match="expected an exported program of Tans"):
        export.deserialize(b"something else altogether")


def test_unregistered_containers_of_a_file_are_named():
    from tans_compiler.exporting import trees

    with pytest.raises(ValueError, match="written as 'nobody'"):
        trees.from_json(["node", "nobody", "", "*"])
    with pytest.raises(ValueError, match="expected one that can be read"):
        trees.from_json(["what"])


@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3, 5)], ids=str)
@pytest.mark.parametrize("dtype", [np.float32, jnp.bfloat16, np.complex64, np.int8, np.bool_])
def test_any_type_is_exported(shape, dtype):
    x = np.ones(shape, dtype)
    found = reloaded(export.export(tans.jit(lambda x: (x, x)))(x)).call(x)[1]
    assert found.dtype == x.dtype
    np.testing.assert_array_equal(np.asarray(found), x)


def test_a_new_process_calls_it(exported, tmp_path):
    (tmp_path / "program").write_bytes(exported.serialize())
    np.savez(tmp_path / "in", a=A, b=B)
    code = (
        "import sys, numpy as np; from tans import export\n"
        "program = export.deserialize(open(sys.argv[1] + '/program', 'rb').read())\n"
        "given = np.load(sys.argv[1] + '/in.npz')\n"
        "np.save(sys.argv[1] + '/out', program.call(given['a'], given['b']))\n"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True, timeout=120)
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), exported.call(A, B))


def test_sharded_programs_run_on_as_many_devices():
    mesh = tans.make_mesh((4,), ("d",), axis_types=(tans.sharding.AxisType.Auto,))
    split = tans.sharding.NamedSharding(mesh, tans.P("d", None))
    x = tans.device_put(np.arange(32, dtype=np.float32).reshape(8, 4), split)
    made = reloaded(export.export(tans.jit(lambda x: x.sum(0) * 2))(x), vjp_order=0)
    assert made.nr_devices == 4
    assert made.in_shardings_jax(mesh)[0].spec == tans.P("d", None)
    np.testing.assert_array_equal(tans.jit(made.call)(x), np.asarray(x).sum(0) * 2)
    with pytest.raises(ValueError, match="exported for 4 devices"):
        made.call(np.asarray(x))


@pytest.mark.parametrize(
    ("order", "error"), [(-1, ValueError), ("a", TypeError), (True, TypeError)]
)
def test_orders_that_mean_nothing_are_refused(order, error):
    exported = export.export(tans.jit(jnp.sin))(1.0)
    with pytest.raises(error, match=f"vjp_order={order!r}.*vjp_order=1"):
        exported.serialize(vjp_order=order)


@pytest.mark.parametrize("blob", ["abc", None, 3])
def test_what_is_no_bytes_is_refused(blob):
    with pytest.raises(TypeError, match=r"deserialize: given .* expected the bytes"):
        export.deserialize(blob)


@pytest.mark.parametrize("checks", [["a"], 3, "ab"])
def test_checks_that_are_none_are_refused(checks):
    with pytest.raises(TypeError, match="export: given disabled_checks="):
        export.export(tans.jit(jnp.sin), disabled_checks=checks)


# ---- transformations of calls ------------------------------------------------------------------


@pytest.fixture
def cosine():
    return reloaded(export.export(tans.jit(jnp.cos))(np.float32(1)), vjp_order=2)


@pytest.mark.parametrize(
    "around",
    [
        lambda f: tans.jit(f),
        lambda f: tans.checkpoint(f),
        lambda f: lambda x: tans.lax.cond(True, f, jnp.sin, x),
        lambda f: lambda x: tans.lax.scan(lambda c, _: (f(c), None), x, None, length=1)[0],
        lambda f: tans.jit(tans.checkpoint(f)),
    ],
    ids=["jit", "checkpoint", "cond", "scan", "jit of checkpoint"],
)
def test_calls_inside_of_transformations_have_values_and_gradients(cosine, around):
    fun = around(cosine.call)
    x = jnp.float32(0.5)
    np.testing.assert_allclose(fun(x), np.cos(0.5), rtol=1e-6)
    np.testing.assert_allclose(tans.grad(fun)(x), -np.sin(0.5), rtol=1e-6)
    np.testing.assert_allclose(tans.grad(tans.grad(fun))(x), -np.cos(0.5), rtol=1e-6)
    assert tans.eval_shape(fun, x).shape == ()


@pytest.mark.parametrize(
    "use",
    [
        lambda f: tans.vmap(f)(np.ones(3, np.float32)),
        lambda f: tans.vmap(tans.jit(f))(np.ones(3, np.float32)),
        lambda f: tans.vmap(tans.grad(f))(np.ones(3, np.float32)),
        lambda f: tans.jacrev(f)(np.float32(1)),
    ],
)
def test_calls_are_not_mapped(cosine, use):
    with pytest.raises(NotImplementedError, match=r"call of exported cos.*under vmap") as caught:
        use(cosine.call)
    for fact in ("mapped along dimension 0", "symbolic size", "lax.map"):
        assert fact in str(caught.value)


def test_calls_that_nothing_maps_are_left_alone_by_vmap(cosine):
    found = tans.vmap(lambda x: x + cosine.call(np.float32(1)))(jnp.arange(3.0))
    np.testing.assert_allclose(found, np.arange(3) + np.cos(1), rtol=1e-6)
    mapped = tans.lax.map(cosine.call, jnp.arange(3.0))
    np.testing.assert_allclose(mapped, np.cos(np.arange(3)), rtol=1e-6)


@pytest.mark.parametrize(
    "use", [tans.jacfwd, tans.hessian, lambda f: lambda x: tans.jvp(f, (x,), (x,))]
)
def test_calls_have_no_forward_derivative(cosine, use):
    with pytest.raises(TypeError, match="exported_cos: given forward-mode differentiation"):
        use(cosine.call)(np.float32(1))


@pytest.mark.parametrize("impl", ["threefry2x32", "rbg", "philox4x32"])
def test_random_keys_as_arguments_and_results(impl):
    key = tans.random.key(3, impl=impl)

    def fun(k, x):
        first, second = tans.random.split(k)
        return first, tans.random.normal(second, (2,)) * x

    made = reloaded(export.export(tans.jit(fun))(key, 2.0), vjp_order=1)
    assert str(made.in_avals[0].dtype) == str(key.dtype) == str(made.out_avals[0].dtype)
    found, expected = made.call(key, 2.0), fun(key, 2.0)
    assert found[0].dtype == key.dtype
    np.testing.assert_array_equal(tans.random.key_data(found[0]), tans.random.key_data(expected[0]))
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-6)
    slope = tans.grad(lambda x: made.call(key, x)[1].sum())(2.0)
    np.testing.assert_allclose(slope, expected[1].sum() / 2, rtol=1e-6)
    other = tans.random.key(0, impl="threefry2x32" if impl == "rbg" else "rbg")
    with pytest.raises(ValueError, match=r"Dtype mismatch for args\[0\]"):
        made.call(other, 2.0)


def test_programs_with_unknown_keys_are_refused(monkeypatch):
    from tans_compiler.exporting import serialization

    blob = export.export(tans.jit(lambda k: k))(tans.random.key(0)).serialize()
    monkeypatch.setattr(tans.random.implementations, "IMPLEMENTATIONS", ())
    monkeypatch.setattr("tans_random.key_array.IMPLEMENTATIONS", ())
    with pytest.raises(ValueError, match="given keys of dtype key<fry>"):
        export.deserialize(blob)

    def missing(name):
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(serialization, "import_module", missing)
    with pytest.raises(ValueError, match="pip install tans-random"):
        export.deserialize(blob)


def test_a_platform_may_be_named_twice():
    made = reloaded(export.export(tans.jit(jnp.sin), platforms=("cpu", "cpu"))(1.0))
    assert made.platforms == ("cpu", "cpu")
    assert made.uses_global_constants
    assert "stablehlo.case" not in made.mlir_module()
    np.testing.assert_allclose(made.call(1.0), np.sin(1.0), rtol=1e-6)
