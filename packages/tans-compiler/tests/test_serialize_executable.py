"""Compiled programs that are written and loaded (vector 56)."""

import pickle
import subprocess
import sys

import numpy as np
import pytest

import tans
import tans.numpy as jnp
from tans.experimental.serialize_executable import deserialize_and_load, serialize
from tans.sharding import NamedSharding
from tans_compiler import serialize_executable

X = np.arange(3, dtype=np.float32)


def compiled(fun, *args, **options):
    return tans.jit(fun, **options).lower(*args).compile()


def test_v56_written_and_loaded_on_one_of_four_devices():
    written = serialize(compiled(lambda x: x * 2, X))
    for options in ({"execution_devices": tans.devices()[:1]}, {}):
        np.testing.assert_array_equal(deserialize_and_load(*written, **options)(X), [0, 2, 4])


def test_another_device_of_the_kind():
    loaded = deserialize_and_load(
        *serialize(compiled(lambda x: x + 1, X)), execution_devices=tans.devices()[2:3]
    )
    assert loaded(X).devices() == {tans.devices()[2]}


def test_trees_constants_unused_arguments_and_checks():
    table = jnp.arange(3.0)

    def f(p, *, unused, scale):
        return {"out": (p["w"] * scale + table, None)}

    program = tans.jit(f).lower({"w": X}, unused=1.0, scale=2.0).compile()
    loaded = deserialize_and_load(*serialize(program))
    np.testing.assert_array_equal(
        loaded({"w": X}, unused=1.0, scale=3.0)["out"][0], X * 3 + np.arange(3)
    )
    np.testing.assert_array_equal(loaded({"w": X}, unused=5.0, scale=1.0)["out"][0], X * 2)
    with pytest.raises(TypeError, match=r"p\['w'\] has type float32\[2\].*float32\[3\]"):
        loaded({"w": X[:2]}, unused=1.0, scale=3.0)
    with pytest.raises(TypeError, match="given arguments of another structure"):
        loaded(X)
    with pytest.raises(TypeError, match="traced value"):
        tans.jit(lambda w: loaded({"w": w}, unused=1.0, scale=3.0))(X)


def test_what_is_loaded_can_be_looked_at_and_written_again():
    loaded = deserialize_and_load(*serialize(compiled(lambda x: jnp.sin(x) @ x, X)))
    assert "ENTRY" in loaded.as_text()
    assert loaded.memory_analysis().argument_size_in_bytes == 12
    assert loaded.out_info.shape == ()
    again = deserialize_and_load(*serialize(loaded))
    np.testing.assert_allclose(again(X), np.sin(X) @ X, rtol=1e-6)


def test_sharded_programs():
    mesh = tans.make_mesh((4,), ("d",), axis_types=(tans.sharding.AxisType.Auto,))
    split = NamedSharding(mesh, tans.P("d"))
    x = tans.device_put(np.arange(8, dtype=np.float32), split)
    loaded = deserialize_and_load(*serialize(compiled(lambda x: x * 2, x, out_shardings=split)))
    out = loaded(x)
    np.testing.assert_array_equal(out, np.arange(8) * 2)
    assert out.sharding.spec == tans.P("d")


def test_a_new_process_runs_it(tmp_path):
    big = np.ones((16, 16), np.float32)
    (tmp_path / "p").write_bytes(pickle.dumps(serialize(compiled(lambda x: jnp.tanh(x @ x), big))))
    code = (
        "import pickle, sys, numpy as np\n"
        "from tans.experimental.serialize_executable import deserialize_and_load\n"
        "f = deserialize_and_load(*pickle.load(open(sys.argv[1], 'rb')))\n"
        "print(float(f(np.ones((16, 16), np.float32))[0, 0]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "p")],
        check=True,
        timeout=120,
        capture_output=True,
        text=True,
    )
    assert float(done.stdout) == pytest.approx(1.0)


@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3, 5)], ids=str)
@pytest.mark.parametrize("dtype", [np.float32, jnp.bfloat16, np.complex64, np.int8, np.bool_])
def test_any_type(shape, dtype):
    x = np.ones(shape, dtype)
    found = deserialize_and_load(*serialize(compiled(lambda x: (x, x), x)))(x)[1]
    assert found.dtype == x.dtype
    np.testing.assert_array_equal(np.asarray(found), x)


def test_effects_are_refused():
    with pytest.raises(ValueError, match="calls Python functions"):
        serialize(compiled(lambda x: tans.debug.print("{}", x), 1.0))


def test_wrong_numbers_and_versions_are_refused():
    data, ins, outs = serialize(compiled(lambda x: x * 2, X))
    with pytest.raises(ValueError, match="given 2 devices for <lambda>, expected 1"):
        deserialize_and_load(data, ins, outs, execution_devices=tans.devices()[:2])
    parts = serialize_executable._unpacked(data)
    for other, text in (
        ({"jaxlib": "0.0.1"}, r"compiled with jaxlib 0\.0\.1"),
        ({"platform": "tpu"}, "a program for tpu, expected one for cpu"),
        ({"form": 99}, "in form 99, expected form 1"),
    ):
        with pytest.raises(ValueError, match=text):
            deserialize_and_load(serialize_executable._packed(parts._replace(**other)), ins, outs)


DAMAGES = {
    "empty": lambda data: b"",
    "cut": lambda data: data[: len(data) // 2],
    "longer": lambda data: data + b"x",
    "one bit": lambda data: data[:-200] + bytes([data[-200] ^ 1]) + data[-199:],
    "noise": lambda data: b"\x80" * 500,
    "pickle": lambda data: pickle.dumps({"a": 1}),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_damaged_bytes_are_refused_before_they_are_read(damage, monkeypatch):
    data, ins, outs = serialize(compiled(lambda x: x * 2, X))
    monkeypatch.setattr(pickle, "loads", lambda data: pytest.fail("read"))
    with pytest.raises(ValueError, match=r"damaged or hold no program, expected .*Write"):
        deserialize_and_load(damage(data), ins, outs)


@pytest.mark.parametrize("given", [None, 3, tans.jit(lambda x: x), tans.jit(lambda x: x).lower(X)])
def test_only_compiled_programs_are_written(given):
    with pytest.raises(TypeError, match=r"serialize: given .*expected a compiled program"):
        serialize(given)


def test_arguments_of_other_kinds():
    data, ins, outs = serialize(compiled(lambda x: (x, x), X))
    with pytest.raises(TypeError, match="expected the bytes"):
        deserialize_and_load((data, ins, outs), ins, outs)
    for trees in ((None, outs), (ins, None), (outs, ins), ("x", "y")):
        with pytest.raises(ValueError, match="Pass what serialize returned"):
            deserialize_and_load(data, *trees)
    for devices in (3, ["cpu"], tans.devices()[0]):
        with pytest.raises(TypeError, match="expected a sequence of devices"):
            deserialize_and_load(data, ins, outs, execution_devices=devices)


def test_one_device_does_not_stand_for_several():
    mesh = tans.make_mesh((2,), ("x",))
    x = tans.device_put(jnp.arange(4.0), NamedSharding(mesh, tans.P("x")))
    written = serialize(compiled(lambda x: x * 2, x))
    with pytest.raises(ValueError, match="given 1 devices for <lambda>, expected 2"):
        deserialize_and_load(*written, execution_devices=tans.devices()[:1] * 2)
