"""VJP objects that are pickled in one process and applied in another."""

import pickle
import subprocess
import sys

import numpy as np
import pytest

import tans
import tans.numpy as jnp
from tans.core import Primitive
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
        load_program(FORMAT + 1, b"")
    _, f_vjp = tans.vjp(jnp.sin, 2.0)
    data = pickle.dumps(f_vjp).replace(b"tans_lax.arithmetic", b"tans_lax.arithmetix")
    with pytest.raises(pickle.UnpicklingError, match="not installed here"):
        pickle.loads(data.replace(b"tans_lax.elementwise", b"tans_lax.elementwisx"))
