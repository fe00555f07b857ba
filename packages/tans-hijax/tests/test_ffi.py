"""Foreign functions: the vectors F1 to F14 of the specification, on kernels built for the tests."""

import ctypes
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tans as jax
import tans.numpy as jnp
from tans import ffi

HERE = Path(__file__).parent
EXAMPLE = HERE.parent / "examples" / "rms_norm"
sys.path.insert(0, str(EXAMPLE))

import build  # noqa: E402
import rms_norm as rms  # noqa: E402

rms_norm = rms.rms_norm


@pytest.fixture(scope="module", autouse=True)
def norm_library(tmp_path_factory):
    rms.load(build.build(tmp_path_factory.mktemp("rms_norm")))


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    compiler = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
    assert compiler, "no C++ compiler; expected c++, g++ or clang++. Run: apt-get install g++"
    path = tmp_path_factory.mktemp("kernels") / "libkernels.so"
    flags = ["-std=c++17", "-O2", "-shared", "-fPIC", f"-I{ffi.include_dir()}"]
    subprocess.run([compiler, *flags, str(HERE / "kernels/kernels.cc"), "-o", path], check=True)
    loaded = ctypes.cdll.LoadLibrary(str(path))
    for name in ("KAttributes", "KAddInPlace", "KCopy", "KFail"):
        ffi.register_ffi_target(f"test_{name}", ffi.pycapsule(getattr(loaded, name)))
    return loaded


def reference(x):
    return x / jnp.sqrt((x * x).mean(-1, keepdims=True) + 1e-5)


def cubed(f):
    return lambda x: (f(x) ** 3).sum()


@pytest.fixture
def rows():
    return jnp.asarray(np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32))


@pytest.fixture
def sharded():
    mesh = jax.make_mesh((4,), ("b",), devices=jax.devices()[:4])
    with jax.set_mesh(mesh):
        x = np.random.default_rng(1).normal(size=(8, 4)).astype(np.float32)
        yield jax.reshard(jnp.asarray(x), jax.P("b"))


def struct(x):
    return jax.ShapeDtypeStruct(x.shape, x.dtype)


def collectives(f, *args):
    text = f.lower(*args).compile().as_text()
    return [
        k for k in ("all-gather", "all-reduce", "all-to-all", "collective-permute") if k in text
    ]


def test_forward():  # F1
    np.testing.assert_allclose(rms_norm(jnp.array([3.0, 4.0])), [0.8485278, 1.1313704], rtol=1e-6)


def test_jit_grad_jvp(rows):  # F2
    np.testing.assert_allclose(jax.jit(rms_norm)(rows), reference(rows), atol=1e-6)
    np.testing.assert_allclose(
        jax.grad(cubed(rms_norm))(rows), jax.grad(cubed(reference))(rows), atol=1e-5
    )
    pairs = zip(
        jax.jvp(rms_norm, (rows,), (rows + 1,)),
        jax.jvp(reference, (rows,), (rows + 1,)),
        strict=True,
    )
    for got, wanted in pairs:
        np.testing.assert_allclose(got, wanted, atol=1e-6)


def test_vmap(rows):  # F3
    mapped = jax.vmap(rms_norm, in_axes=1, out_axes=1)(rows)
    np.testing.assert_allclose(mapped, jax.vmap(reference, 1, 1)(rows), atol=1e-5)
    mapped = jax.vmap(jax.grad(cubed(rms_norm)))(rows)
    np.testing.assert_allclose(mapped, jax.grad(cubed(reference))(rows), atol=1e-5)


def test_jacobians(rows):  # F4
    for jacobian in (jax.jacfwd, jax.jacrev):
        np.testing.assert_allclose(
            jacobian(rms_norm)(rows[0]), jacobian(reference)(rows[0]), atol=1e-6
        )


def test_second_order_names_the_missing_rule(rows):  # F5
    with pytest.raises(NotImplementedError, match=r"Forward.*`vjp_fwd`"):
        jax.grad(lambda x: jax.grad(cubed(rms_norm))(x).sum())(rows)


def raw(x, **options):
    results = (struct(x), jax.ShapeDtypeStruct(x.shape[:-1], x.dtype))
    return ffi.ffi_call("rms_norm_forward", results, **options)(x, eps=np.float32(1e-5))


def test_raw_call_has_no_rules(rows):  # F6
    with pytest.raises(NotImplementedError, match=r"vmap.*rms_norm_forward.*'sequential'"):
        jax.vmap(raw)(rows)
    with pytest.raises(ValueError, match=r"rms_norm_forward.*differentiation"):
        jax.grad(lambda x: raw(x)[0].sum())(rows)


@pytest.mark.parametrize(
    "method",
    ["sequential", "sequential_unrolled", "expand_dims", "broadcast_all", "legacy_vectorized"],
)
def test_vmap_methods(method, rows):
    y, k = jax.vmap(lambda x: raw(x, vmap_method=method), in_axes=1, out_axes=(1, 0))(rows)
    np.testing.assert_allclose(y, reference(rows.T).T, atol=1e-6)
    assert k.shape == (4,)


def test_sharded_rows_stay_where_they_are(sharded):  # F7
    f = jax.jit(rms_norm)
    assert jax.typeof(f(sharded)).str_short(False) == "float32[8@b,4]"
    np.testing.assert_allclose(f(sharded), reference(sharded), atol=1e-6)
    assert collectives(f, sharded) == []


def test_gradient_of_sharded_rows(sharded):  # F8
    f = jax.jit(jax.grad(cubed(rms_norm)))
    assert jax.typeof(f(sharded)).str_short(False) == "float32[8@b,4]"
    np.testing.assert_allclose(f(sharded), jax.grad(cubed(reference))(sharded), atol=1e-5)
    assert collectives(f, sharded) == []


def test_raw_call_gathers(sharded):  # F9
    f = jax.jit(lambda x: raw(x)[0])
    assert jax.typeof(f(sharded)).str_short(False) == "float32[8,4]"
    assert "all-gather" in collectives(f, sharded)


def test_sharded_features_are_refused(sharded):  # F10
    x = jax.reshard(sharded, jax.P(None, "b"))
    with pytest.raises(ValueError, match="out_specs"):
        jax.jit(rms_norm)(x)


def test_attributes(library):  # F11
    with jax.enable_x64(True):
        found = ffi.ffi_call("test_KAttributes", jax.ShapeDtypeStruct((7,), np.float64))(
            f=np.float32(1.5), d=2.5, i=3, i32=np.int32(4), b=True, s="hello", a=np.arange(3.0)
        )
        np.testing.assert_array_equal(found, [1.5, 2.5, 3, 4, 1, 5, 3])


def test_aliases(library):  # F12
    x = jnp.ones(3)
    call = ffi.ffi_call("test_KAddInPlace", struct(x))
    aliased = ffi.ffi_call("test_KAddInPlace", struct(x), input_output_aliases={0: 0})
    np.testing.assert_array_equal(jax.jit(call)(x), [2, 2, 2])
    np.testing.assert_array_equal(jax.jit(aliased)(x), [101, 101, 101])
    np.testing.assert_array_equal(x, [1, 1, 1])
    assert "output_operand_alias" in jax.jit(aliased).lower(x).as_text()


def test_printed_form(rows):  # F13
    text = str(jax.make_jaxpr(jax.grad(lambda x: rms_norm(x).sum()))(rows))
    assert "Forward[eps=1e-05]" in text
    assert " = Backward " in text
    assert "ffi_call" not in text


def test_python_float_is_a_double(rows):  # F14
    call = ffi.ffi_call("rms_norm_forward", (struct(rows), jax.ShapeDtypeStruct((3,), np.float32)))
    with pytest.raises(jax.errors.JaxRuntimeError, match="F32 but got F64"):
        jax.block_until_ready(call(rows, eps=1e-5))


def test_layouts(library):
    x = jnp.arange(6.0).reshape(2, 3)
    by_input = ffi.ffi_call("test_KCopy", struct(x), input_layouts=[(1, 0)])(x)
    np.testing.assert_array_equal(by_input, [[0, 3, 1], [4, 2, 5]])
    by_output = ffi.ffi_call("test_KCopy", struct(x), output_layouts=(1, 0))(x)
    np.testing.assert_array_equal(by_output, [[0, 2, 4], [1, 3, 5]])


@pytest.mark.parametrize("kept", [False, True])
def test_side_effects_keep_the_call(kept, library):
    def unused(x):
        ffi.ffi_call("test_KCopy", struct(x), has_side_effect=kept)(x)
        return x + 1

    before = library.CopyCalls()
    jax.block_until_ready(jax.jit(unused)(jnp.ones(2)))
    assert library.CopyCalls() - before == int(kept)
    assert bool(jax.make_jaxpr(unused)(jnp.ones(2)).effects) is kept


def test_errors_of_handlers(library):
    x = jnp.ones(2)
    with pytest.raises(jax.errors.JaxRuntimeError, match="nope"):
        jax.block_until_ready(ffi.ffi_call("test_KFail", struct(x))(x))
    with pytest.raises(jax.errors.JaxRuntimeError, match="unregistered"):
        jax.block_until_ready(ffi.ffi_call("unregistered", struct(x))(x))


X2 = jax.ShapeDtypeStruct((2,), np.float32)


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"input_layouts": [None, None]}, ValueError, "1 inputs and 2 input layouts"),
        ({"input_layouts": [(1, 0)]}, ValueError, "order of its 1 dimensions"),
        ({"input_output_aliases": {1: 0}}, ValueError, "input index 1, outside range"),
        ({"input_output_aliases": {0: 1}}, ValueError, "output index 1, outside range"),
        ({"vmap_method": "loop"}, ValueError, "vmap_method='loop'.*'sequential'"),
        ({"legacy_backend_config": "x"}, ValueError, "legacy_backend_config"),
    ],
)
def test_wrong_options(options, error, text):
    with pytest.raises(error, match=text):
        ffi.ffi_call("target", X2, **options)(jnp.ones(2))


def test_wrong_results_and_attributes():
    with pytest.raises(ValueError, match="at position 1"):
        ffi.ffi_call("target", (X2, 1))
    wrong = jax.ShapeDtypeStruct((2,), np.int32)
    with pytest.raises(ValueError, match=r"float32.*int32"):
        ffi.ffi_call("target", wrong, input_output_aliases={0: 0})(jnp.ones(2))
    for value in ([1], (1,), jnp.ones(2), None, 1j, jnp.bfloat16(1)):
        with pytest.raises(TypeError, match=r"ffi_call of 'target': given the attribute a="):
            ffi.ffi_call("target", X2)(jnp.ones(2), a=value)
    with pytest.raises(ValueError, match="untyped handlers take none"):
        ffi.ffi_call("target", X2, custom_call_api_version=2)(jnp.ones(2), a=1)


def test_registration_errors():
    with pytest.raises(TypeError, match="PyCapsule"):
        ffi.register_ffi_target("name", 1)
    with pytest.raises(TypeError, match="ctypes"):
        ffi.pycapsule("name")
    with pytest.raises(ValueError, match="register_ffi_type"):
        ffi.register_ffi_type_id("name", None)


def test_a_missing_compiler_is_an_error(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(build.BuildError, match=r"cmake.*pip install cmake"):
        build.build(tmp_path / "out")
