"""Programs compiled for an H200: vectors 11 to 13, 15, 16, 20 and 22; the wheels do the work."""

import os
import subprocess
import sys

import numpy as np
import programs
import pytest
import shim
from programs import F32, P, Struct

import tans
import tans.numpy as jnp
from tans.errors import JaxRuntimeError
from tans.sharding import NamedSharding
from tans_compiler import surviving_tags, topologies

QUICK = {"xla_gpu_autotune_level": 0}


@pytest.fixture(scope="module")
def mesh(gpu):
    return topologies.make_mesh(gpu, (2, 2), ("x", "y"))


def on(device, *shape, dtype=F32):
    return Struct(shape, dtype, sharding=tans.sharding.make_single_device_sharding(device))


def compiled(fun, *args, **options):
    return tans.jit(fun, **options).lower(*args).compile(QUICK)


def in_new_process(code, **environment):
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


SINES = """
import numpy as np, tans, tans.numpy as jnp
from tans_compiler import topologies
device = topologies.get_topology_desc("h200", platform="cuda").devices[0]
place = tans.sharding.make_single_device_sharding(device)
x = tans.ShapeDtypeStruct((333,), np.float32, sharding=place)
tans.jit(lambda x: jnp.tan(jnp.sin(x) * 1.5)).lower(x).compile()
"""


def test_ptxas_of_the_wheel_is_the_one_that_runs(tmp_path):
    flag, notes = shim.make(tmp_path / "cuda")
    done = in_new_process(SINES, XLA_FLAGS=flag)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "ptxas" in notes.read_text()


def test_libdevice_of_the_wheel_is_the_one_that_is_read(tmp_path):
    flag, _ = shim.make(tmp_path / "cuda", good_libdevice=False)
    assert in_new_process(SINES, XLA_FLAGS=flag).returncode != 0


def test_v11_a_step_on_four_gpus(gpu):
    mesh = topologies.make_mesh(gpu, (4,), ("x",))
    fun, (w, x) = programs.on_four(topologies.make_mesh(gpu, (2, 2), ("x", "y")))["step"]
    w = Struct(w.shape, jnp.bfloat16, sharding=NamedSharding(mesh, P()))
    x = Struct(x.shape, jnp.bfloat16, sharding=NamedSharding(mesh, P("x", None)))
    found = compiled(fun, w, x)
    (reduce,) = found.communication()
    assert reduce.kind == "all-reduce"
    assert reduce.axes == ("x",)
    assert reduce.groups == ((0, 1, 2, 3),)


def test_v12_v13_topologies_that_are_refused():
    with pytest.raises(JaxRuntimeError, match="No visible GPU devices"):
        topologies.get_topology_desc(platform="cuda")
    with pytest.raises(JaxRuntimeError, match="num-partitions"):
        topologies.get_topology_desc("h200", platform="cuda", topology="2x2")
    with pytest.raises(JaxRuntimeError, match="GpuTargetConfigProto"):
        topologies.get_topology_desc(platform="cuda", target_config="junk", topology="1x1x1")


def test_v15_library_functions_need_their_handlers():
    code = (
        "from tans_xla import _jaxlib\n"
        "_jaxlib.import_from_plugin = lambda *_: None\n"
        + SINES.rpartition("tans.jit")[0]
        + "x = x.update(shape=(8, 8))\n"
        "x = tans.ShapeDtypeStruct((8, 8), np.float32, sharding=place)\n"
        "tans.jit(jnp.linalg.cholesky).lower(x).compile()\n"
    )
    done = in_new_process(code)
    assert "No FFI handler registered for cusolver_potrf_ffi" in done.stderr
    assert "pip install --no-deps jax-cuda13-plugin" in done.stderr


def test_v16_options_of_other_platforms(gpu):
    x = on(gpu.devices[0], 8)
    options = {"xla_tpu_scoped_vmem_limit_kib": 16384}
    with pytest.raises(JaxRuntimeError, match="No such compile option"):
        tans.jit(jnp.sin).lower(x).compile(options)
    tans.jit(jnp.sin).lower(x).compile({"optimization_level": "O3"})


def test_v20_nothing_runs(gpu):
    found = compiled(jnp.sin, on(gpu.devices[0], 4))
    with pytest.raises(RuntimeError, match="compile-only topology"):
        found(np.ones(4, F32))
    assert found.cost_analysis() is None
    assert found.memory_analysis().argument_size_in_bytes == 16


def test_v22_tags_survive(gpu):
    fun, args = programs.on_one(gpu.devices[0])["metadata"]
    opcodes = {op.opcode for op in surviving_tags(compiled(fun, *args)).carrying("tag", "block")}
    assert {"multiply", "fusion"} <= opcodes  # the call's result, and the fusion that makes it


def test_every_program_compiles(gpu, mesh):
    expected = {
        "convolution": "__cudnn$conv",
        "linear algebra": "cusolver_potrf_ffi",
        "scan": "while(",
        "sort and top_k": "sort(",
    }
    for name, (fun, args) in programs.on_one(gpu.devices[0]).items():
        options = {} if args else {"device": gpu.devices[0]}
        text = compiled(fun, *args, **options).as_text()
        assert expected.get(name, "ENTRY") in text, name
    for name, (fun, args) in programs.on_four(mesh).items():
        reduces = [c for c in compiled(fun, *args).communication() if c.kind == "all-reduce"]
        assert reduces, name
        assert all(c.axes == ("x",) for c in reduces)


def test_callbacks_compile(gpu):
    x = on(gpu.devices[0])
    text = compiled(lambda x: tans.debug.print("{}", x), x).as_text()
    assert "xla_ffi_python_gpu_callback" in text


def test_the_product_is_a_library_call_when_asked_for(gpu):
    a = on(gpu.devices[0], 256, 256)
    text = tans.jit(jnp.matmul).lower(a, a).compile({**QUICK, "xla_gpu_enable_triton_gemm": False})
    assert "__cublas$" in text.as_text()


def test_reports_of_absent_hardware(gpu):
    fun, args = programs.on_one(gpu.devices[0])["forward"]
    found = tans.explain(fun, *args)
    assert (found.platform, found.device_kind) == ("gpu", "NVIDIA H200")
    assert found.flops is None
    assert "the backend gives no count" in str(found)
