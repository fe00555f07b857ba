"""Vectors 1 to 16 and 62 of the compiler specification: compiler options."""

import re

import pytest

import tans
import tans.lax as lax
import tans.numpy as jnp
from tans import CompilerEffortLevel
from tans_core.errors import JaxRuntimeError

FLAG = "xla_embed_ir_in_executable"


def f(x):
    return jnp.sqrt(x**2) + 1


def run(options):
    return float(tans.jit(lambda x: f(x), compiler_options=options)(1.0))


def test_v1_options_are_accepted():
    assert run({FLAG: True, "xla_gpu_auto_spmd_partitioning_memory_budget_ratio": 0.5}) == 2.0


def test_v2_unknown_option_fails_at_compile_time():
    def layer(x):
        return f(x)

    jitted = tans.jit(layer, compiler_options={"xla_cpu_enable_fast_maths": 1})
    lowered = jitted.lower(1.0)
    for compile_it in (lambda: jitted(1.0), lowered.compile):
        with pytest.raises(JaxRuntimeError) as caught:
            compile_it()
        text = str(caught.value)
        assert "INVALID_ARGUMENT: No such compile option: 'xla_cpu_enable_fast_maths'" in text
        assert "of layer" in text
        assert "did you mean 'xla_cpu_enable_fast_math'" in text


@pytest.mark.parametrize(
    ("name", "value", "kind", "expected"),
    [
        pytest.param(FLAG, "maybe", "bool", "True or False", id="V3"),
        pytest.param(FLAG, "true", "bool", "True or False", id="V4"),
        pytest.param("xla_backend_optimization_level", 1.5, "int32", "an int", id="V5"),
        pytest.param(
            "xla_gpu_auto_spmd_partitioning_memory_budget_ratio", 1, "float", "a float", id="V6"
        ),
        pytest.param("xla_dump_to", 3, "string", "a str", id="V7"),
        pytest.param("xla_step_marker_location", "ZZZ", "enum", "name of one of", id="V8"),
        pytest.param("xla_backend_extra_options", "a=b", "message", "a structure", id="message"),
    ],
)
def test_values_of_the_wrong_kind(name, value, kind, expected):
    with pytest.raises(JaxRuntimeError) as caught:
        run({name: value})
    text = str(caught.value)
    assert f"While setting option {name}, '{value}" in text
    assert f"is not a valid {kind} value" in text
    assert expected in text
    assert "<lambda>" in text


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({FLAG: "True"}, id="V4"),
        pytest.param({"xla_backend_optimization_level": 0}, id="V5 int"),
        pytest.param({"xla_backend_optimization_level": "0"}, id="V5 str"),
        pytest.param({"xla_step_marker_location": "STEP_MARK_AT_ENTRY"}, id="V8"),
        *(
            pytest.param({"optimization_level": level}, id=f"V9 {level}")
            for level in (CompilerEffortLevel.O3, "O2", 29, "UNKNOWN")
        ),
        pytest.param({"memory_fitting_level": CompilerEffortLevel.O1}, id="memory"),
    ],
)
def test_values_of_the_right_kind(options):
    assert run(options) == 2.0


@pytest.mark.parametrize("value", ["O9", 3, True, 29.5])
def test_v9_no_such_effort(value):
    with pytest.raises(ValueError, match=r"not a valid CompilerEffortLevel; expected one of"):
        run({"optimization_level": value})


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        pytest.param("exec_time_optimization_effort", "Correct the name", id="V10"),
        pytest.param("xla_tpu_scoped_vmem_limit_kib", "for TPUs only", id="V16"),
        pytest.param("--xla_dump_to", "write 'xla_dump_to'", id="dashes"),
    ],
)
def test_unknown_options_with_a_reason(name, hint):
    with pytest.raises(JaxRuntimeError, match=re.escape(f"No such compile option: '{name}'")) as e:
        run({name: "x"})
    assert hint in str(e.value)


@pytest.mark.parametrize("given", [["a"], {1: 2}, {FLAG: None}, {FLAG: [1]}])
def test_options_that_are_no_dict_of_values(given):
    with pytest.raises(TypeError, match=r"compiler_options.*expected"):
        tans.jit(f, compiler_options=given)


@pytest.mark.parametrize(
    "outer",
    [
        pytest.param(lambda inner: tans.jit(lambda x: inner(x))(1.0), id="V11"),
        pytest.param(lambda inner: tans.make_jaxpr(inner)(1.0), id="V12 make_jaxpr"),
        pytest.param(
            lambda inner: lax.scan(lambda c, _: (inner(c), None), 1.0, None, 2), id="V12 scan"
        ),
        pytest.param(lambda inner: tans.jit(tans.grad(inner))(1.0), id="V12 grad"),
        pytest.param(lambda inner: tans.jit(tans.vmap(inner))(jnp.ones(2)), id="V12 vmap"),
    ],
)
@pytest.mark.parametrize("inline", [False, True])
def test_nested_options_are_refused(outer, inline):
    def layer(x):
        return f(x)

    inner = tans.jit(layer, compiler_options={FLAG: True}, inline=inline)
    with pytest.raises(ValueError, match="compiler_options") as caught:
        outer(inner)
    text = str(caught.value)
    assert str({FLAG: True}) in text
    assert "layer" in text
    assert "test_vectors_options.py" in text
    assert "outer jit" in text
    assert float(inner(1.0)) == 2.0


def test_v13_transformations_outside():
    inner = tans.jit(f, compiler_options={FLAG: True})
    assert float(tans.grad(inner)(1.0)) == 1.0
    assert tans.vmap(inner)(jnp.ones(3)).tolist() == [2.0, 2.0, 2.0]


def test_eager_transformations_use_the_options():
    inner = tans.jit(lambda x: f(x), compiler_options={"not_an_option": 1})
    with pytest.raises(JaxRuntimeError, match="No such compile option: 'not_an_option'"):
        tans.vmap(inner)(jnp.ones(3))


def test_v14_options_of_compile_win():
    jitted = tans.jit(f, compiler_options={"xla_backend_optimization_level": "abc"})
    lowered = jitted.lower(1.0)
    assert float(lowered.compile({"xla_backend_optimization_level": 0})(1.0)) == 2.0
    with pytest.raises(JaxRuntimeError, match="'abc' is not a valid int32 value"):
        lowered.compile({FLAG: True})


@pytest.mark.parametrize("order", [(1, True), (True, 1), (1.0, True), ("True", 1)])
def test_v15_values_of_different_types_share_nothing(order):
    # JAX finds the one in the cache under the key of the other.
    jitted = {type(v): tans.jit(f, compiler_options={FLAG: v}) for v in order}
    for value in order * 2:
        if value is True or value == "True":
            assert float(jitted[type(value)](1.0)) == 2.0
        else:
            with pytest.raises(JaxRuntimeError, match="not a valid bool value"):
                jitted[type(value)](1.0)


def test_v62_a_changed_effort_compiles_again():
    # JAX goes on with the program of the old level.
    jitted = tans.jit(lambda x: f(x))
    (program,) = _programs(jitted, 1.0)
    assert len(program.executables) == 1
    tans.config.update("jax_optimization_level", "O3")
    try:
        jitted(1.0)
        assert len(program.executables) == 2
    finally:
        tans.config.update("jax_optimization_level", "UNKNOWN")
    jitted(1.0)
    assert len(program.executables) == 2
    assert len(_programs(jitted, 1.0)) == 1


def _programs(jitted, x):
    jitted(x)
    return list(jitted._jitted.table.values())
