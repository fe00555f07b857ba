"""Programs compiled for TPUs: vectors 1 to 10, 16 and 20 to 25, precision 46."""

import os
import re
import subprocess
import sys

import numpy as np
import programs
import pytest
from programs import BF16, F32, P, Struct

import tans
import tans.numpy as jnp
from tans.errors import JaxRuntimeError
from tans.experimental import serialize_executable
from tans.sharding import AxisType, Mesh, NamedSharding
from tans_compiler import surviving_tags, topologies


@pytest.fixture(scope="module")
def mesh(tpu):
    return topologies.make_mesh(tpu, (2, 2), ("x", "y"))


def on(device, *shape, dtype=F32):
    sharding = tans.sharding.make_single_device_sharding(device)
    return Struct(shape, dtype, sharding=sharding)


def compiled(fun, *args, **options):
    return tans.jit(fun, **options).lower(*args).compile()


def test_v1_a_topology_has_devices(tpu):
    assert len(tpu.devices) == 4
    assert {(d.platform, d.device_kind) for d in tpu.devices} == {("tpu", "TPU v5 lite")}


@pytest.mark.parametrize(
    ("name", "count", "kind", "processes"),
    [
        ("v5e:4x4", 16, "TPU v5 lite", 4),
        ("v4:2x2x1", 8, "TPU v4", 1),
        ("v6e:2x2", 4, "TPU v6 lite", 1),
    ],
)
def test_v2_v3_other_topologies(name, count, kind, processes):
    devices = topologies.get_topology_desc(name).devices
    assert len(devices) == count
    assert {d.device_kind for d in devices} == {kind}
    assert len({d.process_index for d in devices}) == processes


def test_v4_v5_unknown_names():
    with pytest.raises(JaxRuntimeError, match="Invalid TPU external name: TPU bogus"):
        topologies.get_topology_desc("bogus:2x2")
    with pytest.raises(JaxRuntimeError, match=r"INVALID_ARGUMENT.*2x2x1"):
        topologies.get_topology_desc("v5e:3x3")


def test_v6_the_client_only_compiles(tpu, gpu):
    for topology in (tpu, gpu):
        assert topology.devices[0].client.runtime_type == "compile_only_runtime"


def test_v7_cost_and_memory(tpu):
    a = on(tpu.devices[0], 256, 256)
    found = compiled(lambda a, b: jnp.tanh(a @ b), a, a)
    assert found.cost_analysis()["flops"] == pytest.approx(33554432.0, rel=0.01)
    memory = found.memory_analysis()
    assert memory.argument_size_in_bytes == 524288
    assert memory.output_size_in_bytes == 262144
    assert memory.generated_code_size_in_bytes > 0


def test_v8_a_step_has_one_all_reduce_and_reuses_the_weights(mesh):
    fun, (w, x) = programs.on_four(mesh)["step"]
    w, x = w.update(dtype=BF16), x.update(dtype=BF16)
    w = Struct(w.shape, BF16, sharding=w.sharding)
    x = Struct(x.shape, BF16, sharding=x.sharding)
    found = compiled(fun, w, x, donate_argnums=0)
    reduces = [c for c in found.communication() if c.kind == "all-reduce"]
    assert len(reduces) == 1
    assert reduces[0].axes == ("x",)
    assert reduces[0].groups == ((0, 2), (1, 3))
    assert (
        re.search(r"bf16\[256,512\]\S* all-reduce", found.as_text()) or reduces[0].bytes == 262144
    )
    assert found.memory_analysis().alias_size_in_bytes == 262144
    assert found.memory_analysis().argument_size_in_bytes == 786432


def test_v9_an_unreduced_product_is_reduced_where_it_is_resharded(tpu):
    kinds = (AxisType.Explicit,) * 2
    mesh = Mesh(np.array(tpu.devices, object).reshape(2, 2), ("x", "y"), axis_types=kinds)

    def fun(a, b):
        product = jnp.einsum("bij,jk->bik", a, b, out_sharding=P(None, None, None, unreduced={"x"}))
        return tans.reshard(product, P(None, None, None))

    a = Struct((2, 8, 16), F32, sharding=NamedSharding(mesh, P(None, None, "x")))
    b = Struct((16, 4), F32, sharding=NamedSharding(mesh, P("x", None)))
    with tans.set_mesh(mesh):
        found = compiled(fun, a, b)
    (reduce,) = [c for c in found.communication() if c.kind == "all-reduce"]
    assert reduce.groups == ((0, 2), (1, 3))


@pytest.mark.parametrize(
    ("precision", "text"),
    [("highest", "{highest,highest}"), ("BF16_BF16_F32_X3", "{high,high}"),
     ("BF16_BF16_F32_X6", "{highest,highest}")],
)  # fmt: skip
def test_v10_p46_precision_reaches_the_product(tpu, precision, text):
    a = on(tpu.devices[0], 256, 256)
    found = compiled(lambda a: jnp.matmul(a, a, precision=precision), a).as_text()
    assert f"operand_precision={text}" in found


@pytest.mark.parametrize("precision", ["TF32_TF32_F32", "F32_F32_F32"])
def test_v10_p46_precision_that_tpus_lack_is_our_error(tpu, precision):
    a = on(tpu.devices[0], 256, 256)
    with pytest.raises((JaxRuntimeError, NotImplementedError)) as caught:
        compiled(lambda a: jnp.matmul(a, a, precision=precision), a)
    assert precision in str(caught.value)
    assert "TPU" in str(caught.value) or "tpu" in str(caught.value)


def test_every_program_compiles(tpu, mesh):
    for name, (fun, args) in programs.on_one(tpu.devices[0]).items():
        options = {} if args else {"device": tpu.devices[0]}
        text = compiled(fun, *args, **options).as_text()
        assert "ENTRY" in text, name
    assert "while(" in compiled(*_flat(programs.on_one(tpu.devices[0])["scan"])).as_text()
    for name, (fun, args) in programs.on_four(mesh).items():
        reduces = [c for c in compiled(fun, *args).communication() if c.kind == "all-reduce"]
        assert reduces, name
        assert all(c.axes == ("x",) for c in reduces)


def _flat(case):
    return case[0], *case[1]


def test_callbacks_are_refused_before_the_compiler(tpu):
    x = on(tpu.devices[0])
    with pytest.raises(NotImplementedError, match=r"given the platforms tpu"):
        compiled(lambda x: tans.debug.print("{}", x), x)


def test_v16_options_of_the_platform(tpu):
    x = on(tpu.devices[0], 8)
    own = {"xla_tpu_scoped_vmem_limit_kib": 16384}
    tans.jit(jnp.sin, compiler_options=own).lower(x).compile()
    with pytest.raises(JaxRuntimeError, match="No such compile option"):
        tans.jit(jnp.sin, compiler_options=own).lower(1.0).compile()
    tans.jit(jnp.sin).lower(x).compile({"optimization_level": "O3"})


def test_v20_v21_nothing_runs(tpu):
    found = compiled(jnp.sin, on(tpu.devices[0], 4))
    with pytest.raises(RuntimeError, match=r"compile-only topology \(1 x TPU v5 lite\)"):
        found(np.ones(4, F32))
    with pytest.raises(JaxRuntimeError, match="UNIMPLEMENTED"):
        tans.device_put(np.ones(4, F32), tpu.devices[0])


def test_v22_tags_survive(tpu):
    fun, args = programs.on_one(tpu.devices[0])["metadata"]
    opcodes = {op.opcode for op in surviving_tags(compiled(fun, *args)).carrying("tag", "block")}
    assert {"multiply", "fusion"} <= opcodes  # the call's result, and the fusion that makes it


def test_v23_two_processes_at_once():
    code = (
        "from tans_compiler import topologies\n"
        "import time; topologies.get_topology_desc('v5e:2x2'); time.sleep(2)"
    )
    environment = {k: v for k, v in os.environ.items() if k != "ALLOW_MULTIPLE_LIBTPU_LOAD"}
    running = [
        subprocess.Popen([sys.executable, "-c", code], env=environment, stderr=subprocess.PIPE)
        for _ in range(2)
    ]
    for process in running:
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors.decode()[-2000:]


def test_v24_topologies_are_written_and_read(tpu):
    again = topologies.TopologyDescription.deserialize(tpu.serialize())
    assert list(map(repr, again.devices)) == list(map(repr, tpu.devices))


def test_v25_a_sharded_product(mesh):
    a = Struct((256, 256), F32, sharding=NamedSharding(mesh, P("x", None)))
    b = Struct((256, 256), F32, sharding=NamedSharding(mesh, P(None, "y")))
    out = NamedSharding(mesh, P("x", "y"))
    found = compiled(lambda a, b: a @ b, a, b, out_shardings=out)
    assert found.cost_analysis()["flops"] == 8388608
    assert found.memory_analysis().argument_size_in_bytes == 262144
    assert found.memory_analysis().output_size_in_bytes == 65536


def test_executables_are_written_for_machines_that_have_the_chip(tpu):
    found = compiled(jnp.sin, on(tpu.devices[0], 4))
    data, in_tree, out_tree = serialize_executable.serialize(found)
    assert len(data) > 10_000
    assert in_tree == found.in_tree
    assert out_tree == found.out_tree


def test_reports_of_absent_hardware(tpu, mesh):
    fun, args = programs.on_four(mesh)["step"]
    found = tans.explain(fun, *args)
    assert found.platform == "tpu"
    assert found.device_count == 4
    assert found.not_run is not None
    assert found.flops > 0
    assert found.buffers[0].bytes > 0
    assert "all-reduce over x" in str(found)
