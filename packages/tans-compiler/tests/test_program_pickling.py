"""VJP objects that are pickled in one process and applied in another."""

import hashlib
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

import tans
import tans.numpy as jnp
from tans.core import Primitive
from tans_compiler import program_pickling
from tans_compiler.program_pickling import FORMAT, load_program
from tans_core import rules


def pulled_elsewhere(f_vjp, ct, tmp_path):
    """Apply a VJP object in a new process; return the flat cotangents as NumPy arrays."""
    (tmp_path / "vjp").write_bytes(pickle.dumps((f_vjp, tans.tree.map(np.asarray, ct))))
    code = (
        "import pickle, sys, numpy as np, tans\n"
        "f_vjp, ct = pickle.load(open(sys.argv[1], 'rb'))\n"
        "found = [np.asarray(x) for x in tans.tree.leaves(f_vjp(ct))]\n"
        "pickle.dump(found, open(sys.argv[2], 'wb'))\n"
    )
    paths = [str(tmp_path / "vjp"), str(tmp_path / "found")]
    subprocess.run([sys.executable, "-c", code, *paths], check=True, timeout=120)
    return pickle.loads((tmp_path / "found").read_bytes())


@tans.custom_vjp
def clipped(x):
    return jnp.sin(x)


clipped.defvjp(lambda x: (jnp.sin(x), x), lambda x, ct: (ct * jnp.clip(jnp.cos(x), -0.5, 0.5),))


def network(params, x):
    hidden = tans.nn.relu(clipped(x @ params["a"]))
    step = tans.checkpoint(lambda c: jnp.tanh(c @ params["b"]))
    hidden, _ = tans.lax.scan(lambda c, _: (step(c), None), hidden, None, length=3)
    hidden = tans.lax.cond(hidden.sum() > 0, jnp.sin, jnp.cos, hidden)
    return (hidden**2).mean(), jnp.linalg.norm(hidden)


def test_a_network_is_pulled_back_in_a_new_process(tmp_path):
    rng = np.random.default_rng(0)
    params = {"a": rng.normal(size=(3, 4)), "b": rng.normal(size=(4, 4))}
    params = tans.tree.map(lambda x: jnp.asarray(x, jnp.float32), params)
    out, f_vjp = tans.vjp(network, params, jnp.asarray(rng.normal(size=(2, 3)), jnp.float32))
    here = tans.tree.leaves(f_vjp(out))
    there = pulled_elsewhere(f_vjp, out, tmp_path)
    for mine, other in zip(here, there, strict=True):
        np.testing.assert_array_equal(mine, other)
    assert np.abs(there[0]).max() > 0


@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3, 5)], ids=str)
@pytest.mark.parametrize(
    "dtype", [np.float32, jnp.bfloat16, np.complex64], ids=lambda d: d.__name__
)
def test_any_type_survives(shape, dtype):
    x = jnp.full(shape, 0.5, dtype)
    out, f_vjp = tans.vjp(lambda x: jnp.sin(x) * x, x)
    loaded = pickle.loads(pickle.dumps(f_vjp))
    (mine,), (other,) = f_vjp(out), loaded(out)
    assert mine.dtype == other.dtype
    np.testing.assert_array_equal(np.asarray(mine), np.asarray(other))


def test_it_keeps_its_table_its_structure_and_its_checks():
    x = jnp.arange(4.0)
    out, f_vjp = tans.vjp(lambda d: {"y": jnp.exp(d["x"])}, {"x": x})
    loaded = pickle.loads(pickle.dumps(f_vjp))
    assert loaded.nbytes == f_vjp.nbytes == 16
    assert len(str(loaded.residual_table).splitlines()) == 3
    assert loaded.in_tree == f_vjp.in_tree
    assert str(loaded.jaxpr) == str(f_vjp.jaxpr)
    with pytest.raises(ValueError, match="the structure of the output"):
        loaded(out["y"])


def test_it_differentiates_and_jits_after_loading():
    out, f_vjp = tans.vjp(lambda x: jnp.sin(x) * x, 2.0)
    loaded = pickle.loads(pickle.dumps(f_vjp))
    np.testing.assert_allclose(tans.jit(loaded)(out)[0], f_vjp(out)[0], rtol=2e-6)
    np.testing.assert_array_equal(
        tans.grad(lambda ct: loaded(ct)[0])(3.0), tans.grad(lambda ct: f_vjp(ct)[0])(3.0)
    )


def test_a_custom_rule_is_recorded_and_can_be_written_again():
    bwd_calls = []

    @tans.custom_vjp
    def f(x, n):
        return x * n

    def bwd(res, ct):
        bwd_calls.append(1)
        return ct * res, None

    f.defvjp(lambda x, n: (x * n, n), bwd)
    out, f_vjp = tans.vjp(lambda x: f(x, 3.0), 2.0)
    data = pickle.dumps(f_vjp)
    recorded = len(bwd_calls)
    again = pickle.loads(pickle.dumps(pickle.loads(data)))
    assert float(again(out)[0]) == float(f_vjp(out)[0]) == 18.0
    assert recorded == 1


def test_gradients_can_go_to_refs_after_loading():
    out, f_vjp = tans.vjp(lambda x: x * x, 3.0)
    loaded = pickle.loads(pickle.dumps(f_vjp))
    total = tans.new_ref(jnp.float32(1.0))
    loaded.with_refs(total)(jnp.ones_like(out))
    assert float(total[...]) == 7.0


def test_python_functions_without_a_name_are_named_in_the_error():
    @tans.custom_vjp
    def f(x):
        return x

    def bwd(_, ct):
        return (tans.pure_callback(lambda v: v * 2, ct, ct),)

    f.defvjp(lambda x: (x, None), bwd)
    _, f_vjp = tans.vjp(f, 2.0)
    with pytest.raises(pickle.PicklingError) as caught:
        pickle.dumps(f_vjp)
    assert "pure_callback" in str(caught.value)
    assert "Define the function in a module" in str(caught.value)


def test_rules_with_logs_can_not_be_written():
    @tans.custom_vjp
    def f(x):
        return x

    f.defvjp_with_logs(lambda x: (x, None), lambda _, ct: ((ct,), {"norm": ct}))
    _, f_vjp = tans.vjp(f, 2.0)
    with pytest.raises(pickle.PicklingError, match="whose backward rule gives logs"):
        pickle.dumps(f_vjp)


def test_results_without_tangents_can_not_be_written():
    @tans.custom_vjp
    def f(x):
        return x, jnp.int32(1)

    f.defvjp(lambda x: (f(x), None), lambda _, ct: (ct[0],))
    _, f_vjp = tans.vjp(f, 2.0)
    with pytest.raises(pickle.PicklingError, match="results that have no tangents"):
        pickle.dumps(f_vjp)


def test_primitives_without_a_name_can_not_be_written():
    hidden = Primitive("hidden", family=__name__)
    rules.types[hidden] = lambda x: x
    rules.linearize[hidden] = lambda primals, tangents: (primals[0], hidden.bind(tangents[0]))
    rules.lowering[hidden] = lambda ctx, x: x
    _, f_vjp = tans.vjp(lambda x: hidden.bind(x), 2.0)
    with pytest.raises(pickle.PicklingError, match="holds under no name"):
        pickle.dumps(f_vjp)


def test_other_forms_and_missing_packages_are_refused():
    with pytest.raises(pickle.UnpicklingError, match=f"expected form {FORMAT}"):
        load_program(FORMAT - 1, b"")  # as the first form was written
    _, f_vjp = tans.vjp(jnp.sin, 2.0)
    load, (form, data, _) = program_pickling._reduce_program(f_vjp.fun)
    data = data.replace(b"tans_lax.arithmetic", b"tans_lax.arithmetix")
    data = data.replace(b"tans_lax.elementwise", b"tans_lax.elementwisx")
    with pytest.raises(pickle.UnpicklingError, match="not installed here"):
        load(form, data, hashlib.sha256(data).digest())


def sharded(names=("x",), sizes=(4,), kind=tans.sharding.AxisType.Explicit):
    mesh = tans.make_mesh(sizes, names, axis_types=(kind,) * len(names))
    x = np.arange(8, dtype=np.float32)
    return tans.device_put(x, tans.NamedSharding(mesh, tans.P(names[0])))


def product(x):
    return jnp.sin(x) * x


def total_of_parts(x):
    summed = lambda v: tans.lax.psum(jnp.sin(v), "x")  # noqa: E731
    return tans.shard_map(summed, mesh=MESH, in_specs=tans.P("x"), out_specs=tans.P())(x)


MESH = tans.make_mesh((4,), ("x",), axis_types=(tans.sharding.AxisType.Auto,))


@pytest.mark.parametrize(
    ("fun", "kind"), [(product, "Explicit"), (product, "Auto"), (total_of_parts, "Auto")]
)
def test_sharded_values_find_their_devices(fun, kind):
    x = sharded(kind=tans.sharding.AxisType[kind])
    out, f_vjp = tans.vjp(fun, x)
    loaded = pickle.loads(pickle.dumps(f_vjp))
    (mine,), (other,) = f_vjp(out), loaded(out)
    assert tans.typeof(mine) == tans.typeof(other)
    np.testing.assert_array_equal(mine, other)
    if kind == "Explicit":
        assert other.sharding == x.sharding


_ELSEWHERE = """
import pickle, sys, numpy as np, tans
f_vjp = pickle.load(open(sys.argv[1], "rb"))
(residual,) = tans.tree.leaves(f_vjp)
(found,) = f_vjp(tans.device_put(np.ones(8, np.float32), residual.sharding))
print(len(found.sharding.device_set), float(np.asarray(found).sum()))
"""


@pytest.mark.parametrize("count", ["8", "4", "2"])
def test_where_devices_are_fewer_the_error_says_how_many(tmp_path, count, monkeypatch):
    x = sharded()
    (tmp_path / "vjp").write_bytes(pickle.dumps(tans.vjp(jnp.sin, x)[1]))
    done = subprocess.run(
        [sys.executable, "-c", _ELSEWHERE, str(tmp_path / "vjp")],
        env=os.environ | {"TANS_NUM_CPU_DEVICES": count},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    if count == "2":
        assert "given a program over 4 cpu devices; expected at most 2" in done.stderr
    else:
        devices, total = done.stdout.split()
        assert devices == "4"
        assert float(total) == pytest.approx(np.cos(np.arange(8)).sum(), rel=1e-5)


@pytest.mark.parametrize("wrap", [tans.jit, tans.grad], ids=["jit", "grad"])
def test_traced_values_can_not_be_written(wrap):
    def f(x):
        pickle.dumps(tans.vjp(jnp.sin, x)[1])
        return x

    with pytest.raises(pickle.PicklingError, match=r"VJP object of sin: given a traced value.*jit"):
        wrap(f)(1.0)


def test_damaged_bytes_are_refused():
    data = pickle.dumps(tans.vjp(jnp.sin, 1.0)[1])
    at = len(data) // 2
    with pytest.raises(pickle.UnpicklingError, match="bytes that are damaged"):
        pickle.loads(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_every_protocol_will_do(protocol):
    loaded = pickle.loads(pickle.dumps(tans.vjp(jnp.sin, 1.0)[1], protocol))
    assert float(loaded(1.0)[0]) == pytest.approx(np.cos(1.0))
