"""Lowering for platforms that are not here, and errors without their plugins (platforms 17, 18)."""

import numpy as np
import pytest

import tans
import tans.numpy as jnp
from tans.errors import JaxRuntimeError
from tans.experimental import topologies
from tans.experimental.xla_metadata import xla_metadata_call
from tans_compiler.backend_errors import explain_refusal
from tans_xla import plugins
from tans_xla.compile import Request

PLATFORMS = ("cpu", "cuda", "tpu")
EYE = np.eye(4, dtype=np.float32)


def lowered(fun, *args, platform):
    text = tans.jit(fun).trace(*args).lower(lowering_platforms=(platform,)).as_text()
    assert "func.func public @main" in text
    return text


@pytest.mark.parametrize(
    ("platform", "operation"),
    [("cpu", "lapack_spotrf_ffi"), ("cuda", "cusolver_potrf_ffi"), ("tpu", "stablehlo.cholesky"),
     ("rocm", "hipsolver_potrf_ffi")],
)  # fmt: skip
def test_c17_each_platform_has_its_cholesky(platform, operation):
    assert operation in lowered(jnp.linalg.cholesky, EYE, platform=platform)


def test_v60_gpu_is_no_platform_to_lower_for():
    with pytest.raises(ValueError, match="given lowering_platforms"):
        lowered(jnp.linalg.cholesky, EYE, platform="gpu")


def test_c18_platform_dependent_keeps_the_platforms_branch():
    def f(x):
        return tans.lax.platform_dependent(
            x, cpu=lambda x: x + 1, tpu=lambda x: x + 2, default=lambda x: x + 3
        )

    assert float(tans.jit(f)(1.0)) == 2.0
    for platform, added in (("cpu", "1"), ("tpu", "2"), ("cuda", "3")):
        text = lowered(f, 1.0, platform=platform)
        assert f"dense<{added}.000000e+00>" in text
        for other in {"1", "2", "3"} - {added}:
            assert f"dense<{other}.000000e+00>" not in text


def mlp(params, x):
    return jnp.sum(jnp.tanh(x @ params["a"]) @ params["b"])


PARAMS = {"a": np.ones((8, 16), np.float32), "b": np.ones((16, 2), np.float32)}
X = np.ones((4, 8), np.float32)
PROGRAMS = {
    "forward": (mlp, (PARAMS, X)),
    "gradient": (tans.grad(mlp), (PARAMS, X)),
    "checkpoint": (tans.grad(tans.checkpoint(mlp)), (PARAMS, X)),
    "scan": (
        lambda x: tans.lax.scan(lambda c, _: (jnp.sin(c), c.sum()), x, None, length=3),
        (X,),
    ),
    "precision": (lambda x: jnp.matmul(x, x.T, precision="BF16_BF16_F32_X3"), (X,)),
    "random": (lambda: tans.random.normal(tans.random.key(0), (8,)), ()),
    "sort": (lambda x: (jnp.sort(x), tans.lax.top_k(x, 2)), (X,)),
    "convolution": (
        lambda x, k: tans.lax.conv(x, k, (1, 1), "SAME"),
        (np.ones((1, 2, 8, 8), np.float32), np.ones((4, 2, 3, 3), np.float32)),
    ),
    "linear algebra": (lambda x: (tuple(jnp.linalg.qr(x)), jnp.linalg.cholesky(x)), (EYE,)),
    "metadata": (xla_metadata_call(jnp.sin, tag="t"), (X,)),
}


@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_lower_for_every_platform(name, platform):
    fun, args = PROGRAMS[name]
    text = lowered(fun, *args, platform=platform)
    if name == "metadata":
        assert 'tag = "t"' in text
    if name == "precision":
        assert "algorithm" in text


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_are_exported_for_three_platforms_and_run_here(name):
    fun, args = PROGRAMS[name]
    data = tans.export.export(tans.jit(fun), platforms=PLATFORMS)(*args).serialize()
    found = tans.export.deserialize(data).call(*args)
    for mine, other in zip(
        tans.tree.leaves(found), tans.tree.leaves(tans.jit(fun)(*args)), strict=True
    ):
        np.testing.assert_allclose(mine, other, rtol=1e-6, atol=1e-6)


def test_callbacks_lower_by_the_name_of_the_platform():
    def talk(x):
        tans.debug.print("{}", x)

    assert "xla_ffi_python_cpu_callback" in lowered(talk, 1.0, platform="cpu")
    assert "xla_ffi_python_gpu_callback" in lowered(talk, 1.0, platform="cuda")
    with pytest.raises(NotImplementedError, match="given the platforms tpu"):
        lowered(talk, 1.0, platform="tpu")


# ---- topologies without their plugins ---------------------------------------------------------


def test_plugins_that_are_missing_are_named(monkeypatch):
    monkeypatch.setattr(plugins, "find_plugins", dict)
    for platform, package in (("tpu", "libtpu"), ("cuda", "jax-cuda13-pjrt")):
        with pytest.raises(ImportError, match=f"pip install --no-deps {package}"):
            topologies.get_topology_desc(platform=platform)


def test_platforms_without_topologies_and_unknown_gpus():
    for platform in ("cpu", "rocm"):
        with pytest.raises(NotImplementedError, match=f"given platform='{platform}'"):
            topologies.get_topology_desc(platform=platform)
    with pytest.raises(ValueError, match=r"given the GPU 'h20'.*did you mean"):
        topologies.get_topology_desc("h20", platform="cuda")


def test_a_mesh_takes_all_devices():
    topology = topologies.TopologyDescription(list(tans.devices()))
    assert topologies.make_mesh(topology, (2, 2), ("x", "y")).shape == {"x": 2, "y": 2}
    with pytest.raises(ValueError, match="for 6 devices, expected 4"):
        topologies.make_mesh(topology, (2, 3), ("x", "y"))


@pytest.mark.parametrize(
    ("said", "remedy"),
    [
        ("UNAVAILABLE: No PTX compilation provider is available.", "nvidia-cuda-nvcc"),
        ("INTERNAL: libdevice not found at ./libdevice.10.bc", "nvidia-nvvm"),
        ("NOT_FOUND: No FFI handler registered for cusolver_x", "jax-cuda13-plugin"),
        ("UNIMPLEMENTED: Dot algorithm ALG_X is not supported.", "Choose another preset"),
        ("RESOURCE_EXHAUSTED: out of memory", "tans.explain"),
    ],
)
def test_c14_refusals_of_compilers_name_the_function_and_a_remedy(said, remedy):
    request = Request(None, "layer", tans.devices(), (), None, ())
    found = explain_refusal(JaxRuntimeError(said), request)
    assert isinstance(found, JaxRuntimeError)
    for fact in (said.partition(".")[0], "layer", remedy):
        assert fact in str(found)
    assert explain_refusal(JaxRuntimeError("INTERNAL: something else"), request) is None
