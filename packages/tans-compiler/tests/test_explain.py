"""The report of `explain`: figures against the program's own analyses, and where they come from."""

import inspect
import json

import numpy as np
import pytest

import tans
import tans.numpy as jnp
from tans.sharding import NamedSharding
from tans.sharding import PartitionSpec as P
from tans_compiler import explain

X = np.ones((64, 64), np.float32)


def network(x):
    for _ in range(2):
        x = jnp.tanh(x @ x)
    return x.sum()


def test_phases_have_times_and_the_second_report_says_hit():
    f = tans.jit(lambda x: network(x) * 2)
    first, second = explain(f, X), explain(f, X)
    for phase in ("trace", "lower", "compile", "first run", "run"):
        assert first.seconds(phase) > 0
    assert first.caches == {"trace": "miss", "compile": "miss"}
    assert second.caches == {"trace": "hit", "compile": "in this process"}
    assert second.seconds("compile") == first.seconds("compile")
    assert first.not_run is None


def test_the_function_itself_finds_what_explain_compiled():
    calls = []

    @tans.jit
    def f(x):
        calls.append(1)
        return x + 1

    explain(f, X)
    f(X)
    assert len(calls) == 1


def test_figures_are_those_of_the_stages():
    f = tans.jit(network)
    found, compiled = explain(f, X), f.lower(X).compile()
    memory, cost = compiled.memory_analysis(), compiled.cost_analysis()
    assert found.memory["arguments"] == memory.argument_size_in_bytes == X.nbytes
    assert found.memory["temporaries"] == memory.temp_size_in_bytes
    assert found.flops == cost["flops"] > 2 * 2 * 64**3 - 1
    assert found.bytes_accessed == cost["bytes accessed"]
    assert found.equations == {"dot_general": 2, "tanh": 2, "reduce_sum": 1}


def test_equations_of_bodies_count_once():
    def f(x):
        return tans.lax.scan(lambda c, _: (jnp.sin(c), None), x, None, length=7)[0]

    found = explain(f, X, run=False).equations
    assert found["scan"] == 1
    assert found["sin"] == 1


def test_buffers_and_slow_lines_name_the_users_line():
    def f(x):
        y = tans.lax.sort(x.reshape(-1))
        return y * 2

    source, start = inspect.getsourcelines(f)
    at = start + next(i for i, text in enumerate(source) if "sort" in text)
    found = explain(f, np.random.default_rng(0).standard_normal((256, 256)).astype(np.float32))
    assert found.buffers[0].bytes >= 256 * 256 * 4
    assert any(b.source == f"{__file__}:{at}" for b in found.buffers)
    assert sum(line.share for line in found.slowest_lines) == pytest.approx(1)
    assert f"{__file__}:{at}" in {line.source for line in found.slowest_lines}


def test_captured_constants_count_as_memory():
    big = jnp.ones((128, 128))
    assert explain(lambda x: x + big[0, 0], 1.0).memory["captured constants"] == big.nbytes


def test_types_are_explained_without_running():
    found = explain(network, tans.ShapeDtypeStruct((64, 64), np.float32))
    assert found.not_run == "arguments are types, not arrays"
    assert found.seconds("run") is None
    assert found.slowest_lines is None
    assert "not measured" in str(found)


@pytest.mark.parametrize("run", [True, False])
def test_effects_and_donations_prevent_the_runs(run):
    printed = []

    def talking(x):
        tans.debug.callback(lambda v: printed.append(1), x)
        return x

    assert explain(talking, 1.0, run=run).not_run == (
        "the program has effects or calls Python functions" if run else "run=False"
    )
    assert printed == []
    x = jnp.ones(3)
    donating = tans.jit(lambda x: x + 1, donate_argnums=0)
    assert explain(donating, x).not_run == "arguments are donated"
    assert not x.is_deleted()


def test_collectives_are_in_the_report():
    mesh = tans.make_mesh((4,), ("d",))
    x = tans.device_put(jnp.ones((8, 4)), NamedSharding(mesh, P("d", None)))
    found = explain(lambda a: a.sum(), x)
    assert found.device_count == 4
    assert len(found.communication) == 1
    assert "all-reduce over d" in str(found)


def test_static_and_keyword_arguments():
    f = tans.jit(lambda n, x, *, y: x * n + y, static_argnums=0)
    assert explain(f, 3, X, y=X).not_run is None


def test_compiled_explains_itself_and_runs_when_given_arguments():
    compiled = tans.jit(network).lower(X).compile()
    assert compiled.explain().not_run == "no arguments were given"
    assert compiled.explain(X).seconds("run") > 0


def test_a_program_found_on_disk_says_so(cache_dir):
    def make():
        return tans.jit(lambda x: jnp.cos(x) * 41)

    assert explain(make(), X).caches["compile"] == "miss"
    assert explain(make(), X).caches["compile"] == "on disk"


def test_text_fits_a_screen_and_json_has_everything():
    found = explain(network, X)
    lines = str(found).splitlines()
    assert len(lines) <= 30
    assert max(map(len, lines)) <= 100
    data = json.loads(found.to_json())
    assert data["phases"]["run"] == found.seconds("run")
    assert data["memory"] == found.memory
    assert data["buffers"][0]["bytes"] == found.buffers[0].bytes
    assert data["communication"]["collectives"] == []


@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3, 5)], ids=str)
def test_any_shape_can_be_explained(shape):
    found = explain(lambda x: jnp.sin(x) * 2, np.ones(shape, np.float32))
    assert found.memory["arguments"] == 4 * int(np.prod(shape))


def test_lines_are_not_measured_inside_of_another_profile():
    with tans.profiler.trace() as session:
        assert explain(network, X).slowest_lines is None
    assert session.profile_data is not None


@pytest.mark.parametrize("stage", ["trace", "lower", "compile"])
@pytest.mark.parametrize("run", [True, False])
def test_stages_are_explained(stage, run):
    given = tans.jit(network).trace(X)
    for step in {"trace": (), "lower": ("lower",), "compile": ("lower", "compile")}[stage]:
        given = getattr(given, step)()
    found = explain(given, X, run=run)
    assert found.equations == {"dot_general": 2, "tanh": 2, "reduce_sum": 1}
    assert found.not_run == (None if run else "run=False")
    assert explain(given).not_run == "no arguments were given"


def test_a_program_without_arguments_runs():
    found = tans.jit(lambda: jnp.ones(3)).lower().compile().explain()
    assert found.not_run is None
    assert found.seconds("run") > 0


def test_a_loaded_program_says_what_it_does_not_know():
    from tans.experimental.serialize_executable import deserialize_and_load, serialize

    loaded = deserialize_and_load(*serialize(tans.jit(network).lower(X).compile()))
    found = loaded.explain(X)
    assert found.seconds("run") > 0
    assert found.seconds("trace") is found.seconds("compile") is found.equations is None
    assert json.loads(found.to_json())["equations"] is None
    assert "equations   not known" in str(found)


@pytest.mark.parametrize("given", [None, 3, "f"])
def test_what_is_no_function(given):
    with pytest.raises(TypeError, match=r"explain: given .*expected a function.*without calling"):
        explain(given)


def test_phases_that_do_not_exist():
    with pytest.raises(KeyError, match=r"given 'ran', expected one of 'trace', .*seconds\('run'\)"):
        explain(lambda x: x + 1, 1.0).seconds("ran")


def test_a_program_without_equations():
    assert "equations   none" in str(explain(lambda x: x, 1.0))
