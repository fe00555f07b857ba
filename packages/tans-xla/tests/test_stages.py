"""The stages: `trace`, `lower`, `compile`, and what each of them tells."""

import numpy as np
import pytest

from tans_core.mesh import Mesh
from tans_core.partition_spec import PartitionSpec as P
from tans_core.sharding import named_sharding
from tans_xla import ShapeDtypeStruct, device_put, devices, jit

X = np.ones((4, 2), np.float32)
STRUCT = ShapeDtypeStruct((4, 2), np.float32)


@pytest.fixture
def f(toys):
    return jit(lambda x, y: {"sum": toys.add(x, y["b"])}, donate_argnums=0)


def test_traced(f):
    traced = f.trace(X, {"b": X})
    assert (
        str(traced.jaxpr) == "{ lambda ; a:f32[4,2] b:f32[4,2]. let c:f32[4,2] = add a b in (c,) }"
    )
    assert traced.fun_name == "<lambda>"
    assert traced.out_avals == {"sum": STRUCT.aval}
    assert traced.effects == frozenset()


def test_all_stages_tell_types_and_donation(f):
    traced = f.trace(X, {"b": X})
    lowered = traced.lower()
    for stage in (traced, lowered, lowered.compile()):
        assert stage.in_avals == ((STRUCT.aval, {"b": STRUCT.aval}), {})
        (out,) = stage.out_info.values()
        assert (out.shape, out.dtype) == ((4, 2), np.float32)
        (x, y), kwargs = stage.args_info
        assert (x.shape, x.dtype, x.donated) == ((4, 2), np.float32, True)
        assert (y["b"].donated, kwargs) == (False, {})
        assert stage.donate_argnums == (0,)


def test_structs_stand_for_arrays_and_nothing_runs(f):
    compiled = f.lower(STRUCT, {"b": STRUCT}).compile()
    np.testing.assert_array_equal(compiled(X, {"b": X})["sum"], 2 * X)


def test_a_jaxpr_shows_captured_constants_as_constants(toys):
    c = device_put(X)
    traced = jit(lambda x: toys.add(x, c)).trace(X)
    assert traced.jaxpr.consts == [c] or traced.jaxpr.consts[0] is c
    assert traced.in_avals == ((STRUCT.aval,), {})


def test_lowered(f):
    lowered = f.lower(X, {"b": X})
    assert "stablehlo.add" in lowered.as_text()
    assert "tf.aliasing_output" in lowered.as_text()
    assert lowered.as_text("hlo").startswith("HloModule jit__lambda_")
    assert 'loc("jit(<lambda>)/add"' in lowered.as_text(debug_info=True)
    assert str(lowered.compiler_ir()) == lowered.as_text()
    assert lowered.cost_analysis()["flops"] == 8.0
    with pytest.raises(ValueError, match="'foo'"):
        lowered.as_text("foo")
    assert lowered.compiler_ir("hlo").as_hlo_text() == lowered.as_text("hlo")
    with pytest.raises(ValueError, match=r"'mhlo'.*'stablehlo' or 'hlo'. Leave it out"):
        lowered.compiler_ir("mhlo")


def test_compiled(f):
    compiled = f.lower(X, {"b": X}).compile()
    assert compiled.as_text().startswith("HloModule jit__lambda_")
    assert compiled.cost_analysis()["bytes accessed"] == 96.0
    assert compiled.memory_analysis().argument_size_in_bytes == 64
    assert compiled.input_shardings == (
        (devices_sharding(), {"b": devices_sharding()}),
        {},
    )
    assert compiled.output_shardings == {"sum": devices_sharding()}
    assert compiled.runtime_executable() is not None


def devices_sharding():
    return device_put(1.0).sharding


def test_static_arguments_are_left_out_of_compiled_calls(toys):
    compiled = jit(lambda x, n: toys.mul(x, float(n)), static_argnums=1).lower(X, 3).compile()
    np.testing.assert_array_equal(compiled(X), 3 * X)


def test_compiled_checks_its_arguments(f):
    compiled = f.lower(X, {"b": X}).compile()
    with pytest.raises(TypeError, match="structure"):
        compiled(X)
    with pytest.raises(TypeError, match=r"argument y\['b'\] has type float32\[2\].*float32\[4,2\]"):
        compiled(X, {"b": X[0]})
    with pytest.raises(TypeError, match=r"argument y\['b'\] is a traced value"):
        jit(lambda b: compiled(X, {"b": b}))(X)
    gone = device_put(X)
    compiled(gone, {"b": X})
    with pytest.raises(RuntimeError, match=r"argument x .*deleted"):
        compiled(gone, {"b": X})


def test_compiled_accepts_values_of_other_kinds(toys):
    compiled = jit(lambda x: toys.add(x, 1.0)).lower(1.0).compile()
    values = (1.0, np.float32(1), device_put(1.0), device_put(np.float32(1)))
    assert [float(compiled(x)) for x in values] == [2.0] * 4


def test_compiled_refuses_committed_arguments_elsewhere(toys):
    mesh = Mesh(np.array(devices()).reshape(2, 4), ("x", "y"))
    rows, columns = (named_sharding(mesh, P(*s)) for s in (("x",), (None, "x")))
    compiled = jit(lambda x: toys.sin(x), in_shardings=rows).lower(X).compile()
    assert compiled.input_shardings == ((rows,), {})
    with pytest.raises(ValueError, match=r"argument x of type f32\[4,2\]: given .*expected"):
        compiled(device_put(X, columns))
    for _ in range(2):
        np.testing.assert_allclose(compiled(device_put(X)), np.sin(X), rtol=1e-5)
        np.testing.assert_allclose(compiled(device_put(X, rows)), np.sin(X), rtol=1e-5)


def test_a_struct_with_a_sharding_stands_for_a_committed_array(toys):
    mesh = Mesh(np.array(devices()), ("x",))
    rows = named_sharding(mesh, P(None, "x"))
    struct = ShapeDtypeStruct((4, 8), np.float32, sharding=rows)
    compiled = jit(lambda x: toys.sin(x)).lower(struct).compile()
    assert compiled.input_shardings == ((rows,), {})


def test_a_compiled_call_hits_without_python(toys, count_calls):
    compiled = jit(lambda x: toys.sin(x)).lower(X).compile()
    x = device_put(X)
    compiled(x)
    assert len(count_calls(compiled, x)) <= 1  # __call__ itself


@pytest.mark.parametrize("platforms", [("cuda",), ("tpu",), ("rocm",), ("cuda", "tpu", "cpu")])
def test_lowering_needs_no_devices_of_the_platform(toys, platforms):
    lowered = jit(lambda x: toys.sin(x)).trace(STRUCT).lower(lowering_platforms=platforms)
    assert "stablehlo.sine" in lowered.as_text()
    if "cpu" in platforms:
        lowered.compile()(X)
    else:
        with pytest.raises(ValueError, match="platform cpu"):
            lowered.compile()


def test_rules_that_differ_by_platform(toys):
    from tans_core import rules
    from tans_xla.lowering import ByPlatform

    sin_p = toys.primitives["sin"]
    default = rules.lowering[sin_p]
    cosine = lambda ctx, x: rules.lowering[toys.primitives["log"]](ctx, x)  # noqa: E731
    rules.lowering[sin_p] = ByPlatform(default, tpu=cosine)
    traced = jit(lambda x: toys.sin(x)).trace(ShapeDtypeStruct((7,), np.float32))

    def text(*platforms):
        return traced.lower(lowering_platforms=platforms).as_text()

    assert "stablehlo.log" in text("tpu")
    assert "stablehlo.sine" in text("cpu", "cuda")
    with pytest.raises(NotImplementedError, match="sin: given the platforms cpu, tpu"):
        text("cpu", "tpu")


@pytest.mark.parametrize("platforms", ["tpu", ("abacus",)])
def test_platforms_that_do_not_exist(toys, platforms):
    with pytest.raises(ValueError, match="lowering_platforms"):
        jit(lambda x: toys.sin(x)).trace(X).lower(lowering_platforms=platforms)


def test_hlo_text_with_names_and_source_lines(f):
    lowered = f.lower(X, {"b": X})
    assert "op_name" not in lowered.as_text("hlo")
    text = lowered.as_text("hlo", debug_info=True)
    assert 'op_name="jit(<lambda>)/add"' in text
    assert "test_stages.py" in text
