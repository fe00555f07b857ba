"""Vectors 46 to 51, 53 to 55 of the compiler specification: names, callbacks, flags, debugging."""

import os
import re
import subprocess
import sys
import warnings

import numpy as np
import pytest

import tans
import tans.lax as lax
import tans.numpy as jnp
from tans_compiler import xla_flags
from tans_compiler._jaxlib import debug_options_text
from tans_core.errors import JaxRuntimeError


def python(code, **environment):
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_v47_print(capfd):
    tans.debug.print("{:.2f} {x!r}", np.float32(1.2345), x=jnp.arange(2))
    tans.effects_barrier()
    # Callbacks get NumPy arrays, where JAX gives its own.
    assert capfd.readouterr().out == "1.23 array([0, 1], dtype=int32)\n"


def test_v48_print_under_vmap(capfd):
    tans.vmap(lambda v: tans.debug.print("v {}", v))(jnp.arange(3))
    tans.effects_barrier()
    assert sorted(capfd.readouterr().out.splitlines()) == ["v 0", "v 1", "v 2"]


def test_v49_nans():
    with tans.debug_nans(True), pytest.raises(FloatingPointError, match=r"nan.*log"):
        tans.jit(lambda x: jnp.log(x) * 2)(-1.0)


def test_v50_without_jit():
    seen = []
    with tans.disable_jit():
        f = tans.jit(lambda x: x**2)
        assert float(tans.grad(f)(3.0)) == 6.0
        lax.cond(True, lambda: seen.append(1) or 1.0, lambda: seen.append(2) or 2.0)
    assert seen == [1]


def test_v51_transfer_guard():
    x = np.ones(2, np.float32)
    with tans.transfer_guard("disallow"):
        with pytest.raises(JaxRuntimeError, match="host-to-device"):
            jnp.sin(x)
        tans.device_put(x)
    with tans.transfer_guard("disallow_explicit"), pytest.raises(JaxRuntimeError):
        tans.device_put(x)


def test_v53_unknown_flags_are_an_error():
    # JAX ends the process here.
    for flags, expected in (
        ("--bogus=1", "unknown to XLA: --bogus"),
        ("--xla_cpu_enable_fast_mth=true", "did you mean 'xla_cpu_enable_fast_math'"),
        ("--xla_tpu_scoped_vmem_limit_kib=1", "LIBTPU_INIT_ARGS"),
        ("--xla_gpu_autotune_level=zz", "Couldn't interpret value zz"),
        ("--XLA_CPU_ENABLE_FAST_MATH=true", "did you mean 'xla_cpu_enable_fast_math'"),
        ("xla_cpu_enable_fast_math=true", "the name of a file of flags"),
        ("-xla_cpu_enable_fast_math=true", "(has one dash)"),
        ("   ", "or unset the variable"),
        ("'--xla_cpu_enable_fast_math=true'", "without quotes around it"),
        ("--xla_backend_optimization_level 3", "(has no = and value behind it)"),
        ("--xla_force_host_platform_device_count=0", "expected at least 1"),
        ("--xla_force_host_platform_device_count=-2", "expected at least 1"),
    ):
        done = python("import tans; tans.devices()", XLA_FLAGS=flags)
        assert done.returncode == 1, done.stderr
        last = done.stderr.strip().splitlines()[-1]
        assert last.startswith("RuntimeError: ")
        assert expected in last
        assert flags in last


@pytest.mark.parametrize(
    "flags",
    [
        "",
        "--xla_cpu_enable_fast_math=true --xla_gpu_autotune_level=2",
        "--xla_cpu_enable_fast_math",
        "--xla_dump_to=/nowhere --xla_force_host_platform_device_count=4",
    ],
)
def test_flags_that_are_certain_cost_no_process(flags, monkeypatch):
    from tans_compiler import flag_trial

    monkeypatch.setattr(flag_trial, "report_of", lambda text: pytest.fail(text))
    xla_flags.check(flags)


def test_words_that_xla_ignores_are_named():
    with pytest.warns(RuntimeWarning, match=r"words xla_gpu_ftz=true, which XLA ignores.*Put --"):
        xla_flags.check("--xla_cpu_enable_fast_math=true xla_gpu_ftz=true")


@pytest.mark.parametrize("report", [None, "no word about it"])
def test_only_what_xla_refuses_is_an_error(report, monkeypatch):
    from tans_compiler import flag_trial

    monkeypatch.setattr(flag_trial, "report_of", lambda text: report)
    if report is None:
        xla_flags.check("--xla_new_flag=1")
    else:
        with pytest.raises(RuntimeError, match="--xla_new_flag"):
            xla_flags.check("--xla_new_flag=1")


def test_the_list_of_flags_is_that_of_jaxlib():
    text = debug_options_text()
    booleans = re.findall(r"^(xla_\w+): (?:true|false)$", text, re.MULTILINE)
    assert len(booleans) > 100
    wrong = [n for n in booleans if xla_flags.known().get(n) not in ("bool", "other", None)]
    assert wrong == []
    assert len(set(booleans) - set(xla_flags.known())) <= len(booleans) // 10


def test_v54_flags_are_read_at_the_first_device():
    code = """
import os, warnings, tans
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=5"
assert len(tans.devices()) == 5
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=7"
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    tans.jit(lambda x: x + 1)(1.0)
    tans.jit(lambda x: x + 2)(1.0)
assert len(tans.devices()) == 5
(warning,) = [w for w in caught if "XLA_FLAGS" in str(w.message)]
assert issubclass(warning.category, RuntimeWarning)
assert "device_count=7" in str(warning.message) and "device_count=5" in str(warning.message)
"""
    done = python(code)
    assert done.returncode == 0, done.stderr


def test_a_change_back_is_no_change(monkeypatch):
    monkeypatch.setattr(xla_flags, "_read", {"read": "", "warned": ""})
    monkeypatch.setenv("XLA_FLAGS", "--xla_a=1")
    with pytest.warns(RuntimeWarning, match="once"):
        xla_flags.check_environment(True)
    monkeypatch.delenv("XLA_FLAGS")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        xla_flags.check_environment(True)


def test_v55_unknown_config():
    with pytest.raises(AttributeError, match="'jax_nope'"):
        tans.config.update("jax_nope", 1)


def scopes(x):
    with tans.named_scope("outer"):
        y = jnp.sin(x)
        with tans.named_scope("in ner"):
            z = jnp.cos(y)
    return tans.named_call(lambda v: v * 2, name="nc")(z)


def op_names(fun, *args):
    text = tans.jit(fun).lower(*args).as_text("hlo", debug_info=True)
    return {name for names in re.findall(r'op_name="([^"]*)"', text) for name in names.split(";")}


@pytest.mark.parametrize(
    ("transform", "argument", "expected"),
    [
        pytest.param(lambda f: f, 1.0, {"outer/sin", "outer/in ner/cos", "nc/mul"}, id="V46 jit"),
        pytest.param(
            tans.grad,
            1.0,
            {
                "jvp(outer)/sin",
                "jvp(outer)/in ner/sin",
                "jvp(outer)/in ner/neg",
                "jvp(outer)/cos",
                "transpose(jvp(nc))/mul",
                "transpose(jvp(outer))/in ner/mul",
                "transpose(jvp(outer))/mul",
            },
            id="V46 grad",
        ),
        pytest.param(
            tans.vmap,
            np.ones(3, np.float32),
            {"vmap(outer)/sin", "vmap(outer)/in ner/cos", "vmap(nc)/mul"},
            id="vmap",
        ),
        pytest.param(
            lambda f: tans.vmap(tans.grad(lambda x: f(x))),
            np.ones(3, np.float32),
            {"vmap(transpose(jvp(outer)))/mul", "vmap(jvp(outer))/cos"},
            id="vmap of grad",
        ),
        pytest.param(
            lambda f: lambda x: tans.jvp(f, (x,), (x,)),
            1.0,
            {"jvp(outer)/sin", "jvp(outer)/in ner/cos", "jvp(nc)/mul"},
            id="jvp",
        ),
    ],
)
def test_v46_names(transform, argument, expected):
    def nm(x):
        return transform(scopes)(x)

    assert {f"jit(nm)/{name}" for name in expected} <= op_names(nm, argument)


def test_names_around_a_transformation_and_of_unnamed_operations():
    def nm(x):
        with tans.named_scope("step"):
            return tans.grad(lambda x: jnp.sin(x) * 2)(x)

    assert op_names(nm, 1.0) >= {"jit(nm)/step/jvp()/cos", "jit(nm)/step/transpose(jvp())/mul"}
    nested = op_names(lambda x: tans.jit(scopes)(x), 1.0)
    assert nested >= {"jit(<lambda>)/jit(scopes)", "outer/sin", "outer/in ner/cos", "nc/mul"}
    with pytest.raises(TypeError, match=r"named_scope: given 3 of type int"), tans.named_scope(3):
        pass
